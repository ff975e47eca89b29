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
	pool *admission.Pool
	mu   sync.Mutex
	held map[*openCredit]struct{}
}

type openCredit struct {
	id, user string
	credit   *admission.Credit
}

// openCredit takes a credit for one conversation.
func (t *openTable) openCredit(id, user string) (*openCredit, error) {
	credit, err := t.pool.Try(admission.Ask{User: user})
	if err != nil {
		return nil, err
	}
	e := &openCredit{id, user, credit}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held == nil {
		t.held = map[*openCredit]struct{}{}
	}
	t.held[e] = struct{}{}
	return e, nil
}

// releaseCredit gives the credit of a conversation back.
func (t *openTable) releaseCredit(e *openCredit) {
	t.mu.Lock()
	delete(t.held, e)
	t.mu.Unlock()
	e.credit.Release()
}

// listCredits returns the credits that are held.
func (t *openTable) listCredits() []*openCredit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.held))
}
