package orchestrator

import (
	"maps"
	"slices"
	"sync"

	"github.com/vedette-dev/vedette/orchestrator/admission"
)

// openTable holds the credits of the conversations that are open. It outlives
// the router, which watches their ends.
type openTable struct {
	mu   sync.Mutex
	held map[*openCredit]struct{}
}

type openCredit struct {
	id, user string
	credit   *admission.Credit
}

func (o *Orchestrator) openCredit(id, user string) (*openCredit, error) {
	credit, err := o.doors.conversations.Try(admission.Ask{User: user})
	if err != nil {
		return nil, err
	}
	e := &openCredit{id, user, credit}
	o.openings.mu.Lock()
	defer o.openings.mu.Unlock()
	if o.openings.held == nil {
		o.openings.held = map[*openCredit]struct{}{}
	}
	o.openings.held[e] = struct{}{}
	return e, nil
}

func (t *openTable) release(e *openCredit) {
	t.mu.Lock()
	delete(t.held, e)
	t.mu.Unlock()
	e.credit.Release()
}

func (t *openTable) listCredits() []*openCredit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.held))
}
