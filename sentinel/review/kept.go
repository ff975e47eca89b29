package review

import (
	linked "container/list"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
)

// kept are judgements that may be used again: the least recently used is
// dropped when there is no room, and every one after its time.
type kept struct {
	size int
	ttl  time.Duration
	now  func() time.Time

	mu    sync.Mutex
	byKey map[key]*linked.Element
	order *linked.List // of *keptVerdict, the newest first
}

type keptVerdict struct {
	key     key
	v       sentinel.Verdict
	expires time.Time
	// once is a judgement made ahead: it is for the one call that was
	// expected.
	once bool
}

// newKept returns a store for size judgements, nil where nothing is kept.
func newKept(size int, ttl time.Duration, now func() time.Time) *kept {
	if size <= 0 || ttl <= 0 {
		return nil
	}
	return &kept{size: size, ttl: ttl, now: now, byKey: map[key]*linked.Element{}, order: linked.New()}
}

// get returns the judgement under the key. One that was made ahead is taken
// out.
func (k *kept) get(id key) (sentinel.Verdict, bool) {
	if k == nil {
		return sentinel.Verdict{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.byKey[id]
	if e == nil {
		return sentinel.Verdict{}, false
	}
	held := e.Value.(*keptVerdict)
	if held.once || !k.now().Before(held.expires) {
		k.remove(e)
	}
	if !k.now().Before(held.expires) {
		return sentinel.Verdict{}, false
	}
	k.order.MoveToFront(e)
	return held.v, true
}

// put keeps a judgement, in the place of one under the same key.
func (k *kept) put(id key, v sentinel.Verdict, once bool) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.byKey[id]; e != nil {
		k.remove(e)
	}
	for k.order.Len() >= k.size {
		k.remove(k.order.Back())
	}
	k.byKey[id] = k.order.PushFront(&keptVerdict{id, v, k.now().Add(k.ttl), once})
}

func (k *kept) remove(e *linked.Element) {
	delete(k.byKey, e.Value.(*keptVerdict).key)
	k.order.Remove(e)
}
