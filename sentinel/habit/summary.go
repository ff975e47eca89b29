package habit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/textcut"
	"github.com/vedette-dev/vedette/sentinel"
)

// RecordRevoked is the kind of record that the ledger has of habits that an operator revoked.
const RecordRevoked = "habits_revoked"

// RowKind is the kind of value that the journal keeps an approval as.
const RowKind = "habit"

// Bounds of what an approval says of its recipients.
const (
	maxRecipients = 8
	maxRecipient  = 120 // bytes
)

// Row is one approval as it is kept: whose, under which reference, and what Remember returned.
type Row struct {
	User, Ref string
	Data      []byte
}

// Summary is what is known of the approvals of one kind of call. Skill, To and AtMost are
// values: the journal keeps them sealed, and no log and no ledger may have them.
type Summary struct {
	// ID is the beginning of the reference, enough to tell habits apart.
	ID   string `json:"id"`
	User string `json:"user"`
	// Skill and To are empty where the approvals are of an earlier program.
	Skill string   `json:"skill,omitempty"`
	To    []string `json:"to,omitempty"`
	// ToMore is how many recipients there are beside those of To.
	ToMore int `json:"to_more,omitempty"`
	// Approvals, and on how many days (UTC).
	Approvals int       `json:"approvals"`
	Days      int       `json:"days"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
	// AtMost is the greatest of each number, by the place of its argument.
	AtMost map[string]float64 `json:"at_most,omitempty"`
	// InForce is set where the approvals make a habit now.
	InForce bool `json:"in_force"`

	ref string
}

// Ref is the whole reference, under which the journal keeps the approvals.
func (s *Summary) Ref() string { return s.ref }

// WriteRecipients returns the recipients in one line.
func (s *Summary) WriteRecipients() string {
	to := strings.Join(s.To, ", ")
	if s.ToMore > 0 {
		to += fmt.Sprintf(" and %d more", s.ToMore)
	}
	return to
}

// refHead begins each reference; idLength digits behind it tell habits apart.
const (
	refHead  = "habit/hmac:"
	idLength = 16
)

// Summarize gathers rows by user and reference, the newest approval first. Rows that can't be
// read count as approvals of no day, so that they can be revoked too.
func Summarize(rows []Row, now time.Time) []Summary {
	type place struct{ user, ref string }
	at, days := map[place]int{}, map[place]map[string]bool{}
	var out []Summary
	for _, r := range rows {
		p := place{r.User, r.Ref}
		i, known := at[p]
		if !known {
			id := strings.TrimPrefix(r.Ref, refHead)
			i, at[p], days[p] = len(out), len(out), map[string]bool{}
			out = append(out, Summary{ID: id[:min(len(id), idLength)], User: r.User, ref: r.Ref})
		}
		var a approval
		s := &out[i]
		s.Approvals++
		if json.Unmarshal(r.Data, &a) != nil || a.At.IsZero() {
			continue
		}
		s.addApproval(a)
		if !a.At.After(now) && now.Sub(a.At) < For {
			days[p][dayOf(a.At)] = true
		}
	}
	for i := range out {
		s := &out[i]
		s.Days = len(days[place{s.User, s.ref}])
		s.InForce = s.Days >= Days
	}
	slices.SortStableFunc(out, func(a, b Summary) int {
		return cmp.Or(cmp.Compare(a.User, b.User), b.Last.Compare(a.Last), cmp.Compare(a.ref, b.ref))
	})
	return out
}

func (s *Summary) addApproval(a approval) {
	if s.First.IsZero() || a.At.Before(s.First) {
		s.First = a.At
	}
	if a.At.After(s.Last) {
		s.Last = a.At
	}
	if s.Skill == "" {
		s.Skill, s.To, s.ToMore = a.Skill, a.To, a.ToMore
	}
	for place, n := range a.Numbers {
		if most, ok := s.AtMost[place]; ok && most >= n {
			continue
		}
		if s.AtMost == nil {
			s.AtMost = map[string]float64{}
		}
		s.AtMost[place] = n
	}
}

// listRecipients returns the first recipients of a call, each cut, and how many more it has.
func listRecipients(c sentinel.Call) (list []string, more int) {
	for _, x := range c.Touch().Recipients {
		switch v := textcut.Head(x.Value, maxRecipient); {
		case slices.Contains(list, v):
		case len(list) == maxRecipients:
			more++
		default:
			list = append(list, v)
		}
	}
	return list, more
}
