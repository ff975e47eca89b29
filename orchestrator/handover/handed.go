package handover

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
)

// handedCall is a call whose warrant was made and that has no outcome.
type handedCall struct {
	sentinel.InFlight
	until time.Time // to be reported
}

// handedList are the calls that programs elsewhere may be running, by their ids.
type handedList struct {
	mu    sync.Mutex
	calls map[string]handedCall
}

// add notes a call.
func (l *handedList) add(c handedCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = map[string]handedCall{}
	}
	l.calls[c.CallID] = c
}

// remove forgets a call.
func (l *handedList) remove(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, id)
}

// list returns the calls whose time is not over, the oldest first, and forgets the others.
func (l *handedList) list(now time.Time) []sentinel.InFlight {
	l.mu.Lock()
	maps.DeleteFunc(l.calls, func(_ string, c handedCall) bool { return !now.Before(c.until) })
	out := make([]sentinel.InFlight, 0, len(l.calls))
	for _, c := range l.calls {
		out = append(out, c.InFlight)
	}
	l.mu.Unlock()
	slices.SortFunc(out, func(a, b sentinel.InFlight) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.CallID, b.CallID))
	})
	return out
}

// newHandedCall is a call that is handed over now.
func newHandedCall(handed sentinel.Handed, now time.Time) handedCall {
	g := handed.Call.Grant()
	return handedCall{until: handed.ReportBy, InFlight: sentinel.InFlight{
		CallID: handed.ID, Conversation: g.Conversation(), User: g.User(), Agent: g.Agent(), Skill: handed.Call.Name(), Remote: g.Remote(),
		Phase: sentinel.PhaseHanded, Since: now,
	}}
}
