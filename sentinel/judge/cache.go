package judge

import "sync"

// cache keeps what was read of the texts that come with every call of a
// conversation. It is bounded, and forgets everything when it is full.
type cache[K comparable, V any] struct {
	mu sync.RWMutex
	m  map[K]V
}

const (
	maxCached     = 256
	maxCachedText = 16 << 10
)

func (c *cache[K, V]) get(k K, build func() V) V {
	c.mu.RLock()
	v, ok := c.m[k]
	c.mu.RUnlock()
	if ok {
		return v
	}
	v = build()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= maxCached {
		c.m = make(map[K]V)
	}
	c.m[k] = v
	return v
}
