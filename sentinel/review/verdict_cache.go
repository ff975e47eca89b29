package review

import (
	linked "container/list"
	"sync"
	"time"

	"maps"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// verdictCache are judgements that may be used again: the least recently used is
// dropped when there is no room, and every one after its time.
type verdictCache struct {
	size int
	ttl  time.Duration
	now  func() time.Time

	mu    sync.Mutex
	byKey map[key]*linked.Element
	order *linked.List // of *cachedVerdict, the newest first
}

type cachedVerdict struct {
	key     key
	v       sentinel.Verdict
	expires time.Time
	// once is a judgement made ahead: it is for the one call that was
	// expected.
	once bool
}

// newVerdictCache returns a store for size judgements, nil where nothing is kept.
func newVerdictCache(size int, ttl time.Duration, now func() time.Time) *verdictCache {
	if size <= 0 || ttl <= 0 {
		return nil
	}
	return &verdictCache{size: size, ttl: ttl, now: now, byKey: map[key]*linked.Element{}, order: linked.New()}
}

// get returns the judgement under the key. One that was made ahead is taken
// out.
func (c *verdictCache) get(id key) (sentinel.Verdict, bool) {
	if c == nil {
		return sentinel.Verdict{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[id]
	if e == nil {
		return sentinel.Verdict{}, false
	}
	held := e.Value.(*cachedVerdict)
	if held.once || !c.now().Before(held.expires) {
		c.remove(e)
	}
	if !c.now().Before(held.expires) {
		return sentinel.Verdict{}, false
	}
	c.order.MoveToFront(e)
	return held.v, true
}

// put keeps a judgement, in the place of one under the same key.
func (c *verdictCache) put(id key, v sentinel.Verdict, once bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[id]; e != nil {
		c.remove(e)
	}
	for c.order.Len() >= c.size {
		c.remove(c.order.Back())
	}
	c.byKey[id] = c.order.PushFront(&cachedVerdict{id, v, c.now().Add(c.ttl), once})
}

func (c *verdictCache) remove(e *linked.Element) {
	delete(c.byKey, e.Value.(*cachedVerdict).key)
	c.order.Remove(e)
}

// drop forgets everything.
func (c *verdictCache) drop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byKey)
	c.order.Init()
}

// mayKeep reports whether a verdict may be given again to the same call in the
// same situation: a rejection, or the approval of a call that only reads or
// creates something of the user's own, by a skill of which nothing was refused
// in this branch. What follows from a missing judgement,
// from a model that stood in for another, or from two that disagree is not
// kept.
func mayKeep(c sentinel.Call, v sentinel.Verdict) bool {
	if v.State != sentinel.Judged || v.Degraded || !isFirsthand(v) {
		return false
	}
	switch {
	case v.Outcome == sentinel.Deny:
		return true
	case v.Outcome == sentinel.Allow && !c.Trace().RefusedBefore(c.Name()):
		return c.Effect() == skills.Read || c.Effect() == skills.Create && !c.Outward()
	}
	return false
}

// isFirsthand reports whether a verdict is a judgement, and no model stood in for
// another.
func isFirsthand(v sentinel.Verdict) bool {
	return v.Meta["failure"] == "" && v.Meta["failover"] == "" && v.Meta["second_failover"] == ""
}

// copyVerdict marks a verdict that no question of its own brought: it cost nothing this
// time.
func copyVerdict(v sentinel.Verdict, how string) sentinel.Verdict {
	v.Meta = maps.Clone(v.Meta)
	v.Meta["from"] = how
	if how != fromPrejudged { // that one is this call's own, and not paid for yet
		for _, k := range []string{"attempts", "cost", "spent", "waited_us", "repaired"} { // without attempts the rest is stamped again
			delete(v.Meta, k)
		}
	}
	return v
}
