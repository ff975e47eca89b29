package sentinel

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
)

// The rate at which proposals that became no Call are recorded one by one, and
// how many conversations are counted at the same time.
const (
	refusedPerMinute = 20
	refusedKeys      = 10_000
)

// CodeSuppressed is the code of a refused record that stands for many proposals:
// so many of the conversation became no Call that they were counted, and not
// recorded one by one.
const CodeSuppressed = "parse.suppressed"

// proposer is whose proposals are counted together: a conversation's.
type proposer struct{ user, conversation string }

// suppressed is how many proposals the ledger has not been told of.
type suppressed struct {
	of proposer
	n  int
}

// refusedLimit bounds what a model can write into the ledger with noise. What
// is left out is counted for each conversation, and told with its next record or
// in one of its own. Its memory is bounded: a conversation that makes room for
// another is told of first.
type refusedLimit struct {
	mu sync.Mutex
	by map[proposer]*refusedCount
	// rest is of conversations whose count found no room and whose record could
	// not be written: how many there were is told, not whose.
	rest int
}

type refusedCount struct {
	since   time.Time
	n       int
	omitted int
}

// take reports whether one more refusal may be recorded, how many of the
// conversation's were left out so far, and of which others the ledger must be
// told now, because they are not counted any more.
func (l *refusedLimit) take(of proposer, now time.Time) (ok bool, omitted int, out suppressed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.by[of]
	if c == nil {
		c, out = l.add(of, now)
	}
	if now.Sub(c.since) >= time.Minute {
		c.since, c.n = now, 0
	}
	if c.n++; c.n > refusedPerMinute {
		c.omitted++
		return false, 0, out
	}
	omitted, c.omitted = c.omitted, 0
	return true, omitted, out
}

// add makes room where there is none: by forgetting what is over and told, else
// what is over, else any. The last starts from zero when it comes again.
func (l *refusedLimit) add(of proposer, now time.Time) (*refusedCount, suppressed) {
	var out suppressed
	if l.by == nil {
		l.by = map[proposer]*refusedCount{}
	}
	if len(l.by) >= refusedKeys {
		out = l.makeRoom(now)
	}
	c := &refusedCount{since: now}
	l.by[of] = c
	return c, out
}

func (l *refusedLimit) makeRoom(now time.Time) suppressed {
	var over, any suppressed
	for k, c := range l.by {
		switch {
		case now.Sub(c.since) < time.Minute:
			any = suppressed{k, c.omitted}
		case c.omitted == 0:
			delete(l.by, k)
		default:
			over = suppressed{k, c.omitted}
		}
	}
	if len(l.by) < refusedKeys {
		return suppressed{}
	}
	out := cmp.Or(over, any)
	delete(l.by, out.of)
	return out
}

// putBack returns a count whose record was not written.
func (l *refusedLimit) putBack(s suppressed, now time.Time) {
	if s.n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.by[s.of]
	if c == nil && len(l.by) >= refusedKeys {
		l.rest += s.n
		return
	}
	if c == nil {
		c, _ = l.add(s.of, now)
		c.n = refusedPerMinute
	}
	c.omitted += s.n
}

// drain takes all counts that the ledger has not been told of.
func (l *refusedLimit) drain() (out []suppressed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, c := range l.by {
		if c.omitted > 0 {
			out = append(out, suppressed{k, c.omitted})
			c.omitted = 0
		}
	}
	if l.rest > 0 {
		out = append(out, suppressed{n: l.rest})
		l.rest = 0
	}
	slices.SortFunc(out, func(a, b suppressed) int {
		return cmp.Or(cmp.Compare(a.of.user, b.of.user), cmp.Compare(a.of.conversation, b.of.conversation))
	})
	return out
}

func suppressedRecord(s suppressed, at time.Time) Record {
	ce := &CallError{Code: CodeSuppressed, Reason: "so many proposals were no calls that these were counted and not recorded one by one"}
	d := Refused("", ce, at)
	b := encodeJSON(refusedBody{V: 1, DecisionID: d.ID, Code: d.Code, Reason: d.Reason, Suppressed: s.n, Gates: recordVerdicts(d.Verdicts)})
	return Record{
		Kind: RecordRefused, ID: ids.New(), At: at, DecisionID: d.ID, Conversation: s.of.conversation, User: s.of.user,
		Outcome: d.Outcome.String(), Gate: d.BlockedBy, Code: d.Code, Body: b,
	}
}
