package alerts

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/notify"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// Rule says what is watched for, and who is told.
type Rule struct {
	// Name names the rule in messages and in the database.
	Name  string
	Watch notify.Watch
	// Count is how many decisions of a rate there must be within Window, and Share their least share of all that
	// the rule looks at, 0 to 1.
	Count  int64
	Share  float64
	Window time.Duration
	// Query chooses the records that the rule looks at, in the words of vedette ledger list. Empty takes all.
	Query string
	// Every is how often the ledger is verified.
	Every time.Duration
	// Throttle is the least time between two alerts of the rule.
	Throttle time.Duration
	// Channels are those that are told; none is every channel.
	Channels []string
}

// Watches are what a rule may watch for.
func Watches() []notify.Watch {
	return []notify.Watch{notify.WatchDenials, notify.WatchDegraded, notify.WatchFirstIrreversible, notify.WatchCanaries,
		notify.WatchVerify}
}

// isRate reports whether the rule counts decisions.
func (r *Rule) isRate() bool {
	return r.Watch == notify.WatchDenials || r.Watch == notify.WatchDegraded
}

// readsLog reports whether the rule looks at records.
func (r *Rule) readsLog() bool { return r.isRate() || r.Watch == notify.WatchFirstIrreversible }

// Check finds mistakes of a rule.
func (r *Rule) Check() error {
	if _, err := query.Parse(r.Query, time.Now()); err != nil {
		return err
	}
	switch {
	case r.Name == "":
		return errors.New("an alert needs a name")
	case r.Query != "" && !r.readsLog():
		return fmt.Errorf("an alert that watches for %s reads no records; remove its query", r.Watch)
	case !slices.Contains(Watches(), r.Watch):
		return fmt.Errorf("an alert can't watch for %q; it can for %v", r.Watch, Watches())
	case r.isRate() && (r.Count < 1 || r.Window < buckets*time.Millisecond || r.Share < 0 || r.Share > 1):
		return errors.New("a rate needs a count, a window, and a share from 0 to 1")
	case r.Watch == notify.WatchVerify && r.Every <= 0:
		return errors.New("an alert for verify needs a time")
	}
	return nil
}

// facts are what rules read of a record's body. What can't be read is as if it weren't there.
type facts struct {
	Degraded bool   `json:"degraded"`
	Effect   string `json:"effect"`
}

// decided reports whether a record is a decision, also of a proposal that became no call.
func decided(r *ledger.Record) bool {
	return r.Kind == sentinel.RecordDecision || r.Kind == sentinel.RecordRefused
}

func readFacts(r *ledger.Record) (f facts) {
	_ = json.Unmarshal(r.Body, &f)
	return f
}

// hits reports whether a decision is one that a rate counts.
func (r *Rule) hits(rec *ledger.Record, f facts) bool {
	if r.Watch == notify.WatchDegraded {
		return f.Degraded
	}
	return rec.Outcome == sentinel.Deny.String()
}

// describeHits is the query of what a rate counted up to a record.
func (r *Rule) describeHits(rec *ledger.Record) string {
	q := "outcome:deny"
	if r.Watch == notify.WatchDegraded {
		q = "degraded:yes"
	}
	q += " since:" + rec.Time.Add(-r.Window).UTC().Format(time.RFC3339)
	if r.Query != "" {
		q += " " + r.Query
	}
	return q
}

// buckets is into how many parts a window is divided: what a rate counts is the window, and at most a part more.
const buckets = 60

// bucket counts the decisions of one part of a window.
type bucket struct{ part, hits, of int64 }

// window counts the decisions of a rate's time.
type window struct{ list [buckets + 1]bucket }

// add counts a decision at its time and returns what the window holds up to then.
func (w *window) add(length time.Duration, at time.Time, hit bool) (hits, of int64) {
	part := at.UnixNano() / int64(length/buckets)
	b := &w.list[part%int64(len(w.list))]
	if b.part > part { // a clock was set back by more than the window, which begins again
		*w = window{}
	}
	if b.part < part {
		*b = bucket{part: part}
	}
	b.of++
	if hit {
		b.hits++
	}
	for _, one := range w.list {
		if one.part > part-int64(len(w.list)) && one.part <= part {
			hits, of = hits+one.hits, of+one.of
		}
	}
	return hits, of
}
