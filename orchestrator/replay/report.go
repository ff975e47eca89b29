package replay

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/sentinel"
)

// Reason says why a call could not be decided again.
type Reason string

// The reasons.
const (
	ReasonGone       Reason = "gone"        // the journal holds not all of it any more
	ReasonSecret     Reason = "secret"      // a secret was part of it, which is kept nowhere
	ReasonReview     Reason = "review"      // no judgement on record fits the question
	ReasonFiles      Reason = "files"       // the answer hangs on the files of then
	ReasonHabits     Reason = "habits"      // approvals of the past counted, and replay knows none
	ReasonFollows    Reason = "follows"     // it followed from another call, whose changes are gone
	ReasonEdited     Reason = "edited"      // a person edited it and rules rewrote that
	ReasonPlace      Reason = "place"       // nothing ran the skill in that place
	ReasonOtherBytes Reason = "other_bytes" // what is kept is not what the record has a digest of
	ReasonUnknown    Reason = "unknown"     // the configuration is the same, and the answer isn't
)

// reasonTexts say each reason in words.
func reasonTexts() map[Reason]string {
	return map[Reason]string{
		ReasonGone:       "the journal no longer holds all of it",
		ReasonSecret:     "a secret was part of it, and secrets are kept nowhere",
		ReasonReview:     "no judgement on record fits: --review asks the model",
		ReasonFiles:      "the answer hangs on the files of that time",
		ReasonHabits:     "approvals of that time counted, and replay knows none",
		ReasonFollows:    "it followed from another call, whose changes are gone",
		ReasonEdited:     "a person edited it, and rules rewrote the edit",
		ReasonPlace:      "nothing ran the skill in that place",
		ReasonOtherBytes: "what is kept isn't what the record has a digest of",
		ReasonUnknown:    "the configuration is the same, and the answer isn't: please report it",
	}
}

// Example is one decision that would change, or could not be decided again.
type Example struct {
	Decision string    `json:"decision"`
	Time     time.Time `json:"time"`
	Skill    string    `json:"skill,omitempty"`
	User     string    `json:"user,omitempty"`
	Was      Verdict   `json:"was"`
	Now      *Verdict  `json:"now,omitempty"`
}

// Change counts the calls of one recorded outcome that would have another.
type Change struct {
	Was   string `json:"was"`
	Now   string `json:"now"`
	Calls int    `json:"calls"`
	// Gates are the gates that lower the outcome: now, or then where it was lower then.
	Gates    map[string]int `json:"gates"`
	Skills   map[string]int `json:"skills"`
	Examples []Example      `json:"examples"`
}

// Unknown counts the calls that could not be decided again for one reason.
type Unknown struct {
	Reason   Reason         `json:"reason"`
	Says     string         `json:"says"`
	Calls    int            `json:"calls"`
	Skills   map[string]int `json:"skills"`
	Examples []Example      `json:"examples"`
}

// Report is what a replay comes to. It holds no value.
type Report struct {
	// Policy is the digest of the configuration, and Recorded how many of the calls were decided under
	// each.
	Policy   string         `json:"policy"`
	Recorded map[string]int `json:"recorded"`
	First    time.Time      `json:"first,omitzero"`
	Last     time.Time      `json:"last,omitzero"`
	// Calls are Same, Changed and Indeterminate together. OtherGate are those of Same that another gate
	// decides alike, or with another code.
	Calls         int `json:"calls"`
	Same          int `json:"same"`
	OtherGate     int `json:"other_gate"`
	Changed       int `json:"changed"`
	Indeterminate int `json:"indeterminate"`
	// Tighter are those of Changed that get less than they got, and Looser those that get more.
	Tighter  int           `json:"tighter"`
	Looser   int           `json:"looser"`
	Changes  []*Change     `json:"changes"`
	Unknowns []*Unknown    `json:"unknowns"`
	Cost     Cost          `json:"reviews"`
	Took     time.Duration `json:"took_ns"`

	examples int
}

func newReport(o Options) *Report {
	return &Report{Recorded: map[string]int{}, Changes: []*Change{}, Unknowns: []*Unknown{}, examples: o.Examples}
}

// maxNames is how many skills are counted apart.
const maxNames = 1000

func countName(counts map[string]int, name string) {
	name = cmp.Or(name, "(unknown)")
	if _, known := counts[name]; !known && len(counts) >= maxNames {
		name = "(others)"
	}
	counts[name]++
}

// add counts a call.
func (r *Report) add(c *call) {
	r.Calls++
	if r.First.IsZero() {
		r.First = c.record.Time
	}
	r.Last = c.record.Time
	if c.body.Policy != "" {
		countName(r.Recorded, c.body.Policy)
	}
	e := Example{Decision: c.record.Decision, Time: c.record.Time, Skill: c.record.Skill, User: c.record.User, Was: c.was}
	switch {
	case c.reason != "":
		r.Indeterminate++
		r.addUnknown(c.reason, e)
	case c.now.Outcome == c.was.Outcome:
		r.Same++
		if c.now.Gate != c.was.Gate || c.now.Code != c.was.Code {
			r.OtherGate++
		}
	default:
		r.Changed++
		e.Now = &c.now
		r.addChange(e)
	}
}

func (r *Report) addUnknown(reason Reason, e Example) {
	i := slices.IndexFunc(r.Unknowns, func(u *Unknown) bool { return u.Reason == reason })
	if i < 0 {
		i = len(r.Unknowns)
		r.Unknowns = append(r.Unknowns, &Unknown{Reason: reason, Says: reasonTexts()[reason], Skills: map[string]int{}, Examples: []Example{}})
	}
	u := r.Unknowns[i]
	u.Calls++
	countName(u.Skills, e.Skill)
	if len(u.Examples) < r.examples {
		u.Examples = append(u.Examples, e)
	}
}

func (r *Report) addChange(e Example) {
	i := slices.IndexFunc(r.Changes, func(c *Change) bool { return c.Was == e.Was.Outcome && c.Now == e.Now.Outcome })
	if i < 0 {
		i = len(r.Changes)
		r.Changes = append(r.Changes, &Change{Was: e.Was.Outcome, Now: e.Now.Outcome, Gates: map[string]int{}, Skills: map[string]int{},
			Examples: []Example{}})
	}
	c := r.Changes[i]
	c.Calls++
	countName(c.Skills, e.Skill)
	was, _ := sentinel.ParseOutcome(e.Was.Outcome)
	now, _ := sentinel.ParseOutcome(e.Now.Outcome)
	gate := e.Now.Gate
	if now < was {
		r.Tighter++
	} else {
		r.Looser++
		gate = e.Was.Gate
	}
	countName(c.Gates, gate)
	if len(c.Examples) < r.examples {
		c.Examples = append(c.Examples, e)
	}
}

// sumUp brings the lists into their order, the greatest number first.
func (r *Report) sumUp(took time.Duration) {
	r.Took = took
	slices.SortFunc(r.Changes, func(a, b *Change) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Was+a.Now, b.Was+b.Now))
	})
	slices.SortFunc(r.Unknowns, func(a, b *Unknown) int { return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Reason, b.Reason)) })
}

const timeLayout = "2006-01-02T15:04:05Z"

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer, colour bool) error {
	head := &terminal.Table{Colour: colour}
	span := fmt.Sprint(r.Calls)
	if r.Calls > 0 {
		span += ", " + r.First.UTC().Format(timeLayout) + " to " + r.Last.UTC().Format(timeLayout)
	}
	head.Add("calls decided again", span)
	head.Add("under", r.Policy)
	head.Add("unchanged", fmt.Sprintf("%d; %d of them by another gate or code", r.Same, r.OtherGate))
	head.Add("would change", fmt.Sprintf("%d; %d get less, %d get more", r.Changed, r.Tighter, r.Looser))
	head.Add("indeterminate", fmt.Sprint(r.Indeterminate))
	if err := head.Write(w); err != nil {
		return err
	}
	for _, c := range r.Changes {
		t := &terminal.Table{Colour: colour}
		t.Add("  by gate", ListCounts(c.Gates))
		t.Add("  by skill", ListCounts(c.Skills))
		addExamples(t, c.Examples)
		if err := terminal.WriteSection(w, fmt.Sprintf("%s to %s: %d", c.Was, c.Now, c.Calls), t); err != nil {
			return err
		}
	}
	for _, u := range r.Unknowns {
		t := &terminal.Table{Colour: colour}
		t.Add("  because", u.Says)
		t.Add("  by skill", ListCounts(u.Skills))
		addExamples(t, u.Examples)
		if err := terminal.WriteSection(w, fmt.Sprintf("indeterminate, %s: %d", u.Reason, u.Calls), t); err != nil {
			return err
		}
	}
	return nil
}

func addExamples(t *terminal.Table, list []Example) {
	for _, e := range list {
		says := strings.TrimSpace("was " + e.Was.String())
		if e.Now != nil {
			says += ", now " + e.Now.String()
		}
		t.Add("  "+e.Decision, cmp.Or(e.Skill, "(unknown)")+" "+says)
	}
}

// String writes a verdict as "deny permission.rule".
func (v Verdict) String() string { return strings.TrimSpace(v.Outcome + " " + cmp.Or(v.Code, v.Gate)) }

// maxCounts is how many names a line of counts has.
const maxCounts = 6

// ListCounts writes counts in a line, the greatest first.
func ListCounts(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var words []string
	for i, n := range names {
		if i == maxCounts {
			words = append(words, fmt.Sprintf("%d more", len(names)-i))
			break
		}
		words = append(words, fmt.Sprintf("%s %d", n, counts[n]))
	}
	return strings.Join(words, ", ")
}
