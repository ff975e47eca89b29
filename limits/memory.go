package limits

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// MemoryOptions configures a Memory. Zero, or less, means the default.
type MemoryOptions struct {
	// Now is the clock. If nil, time.Now, whose readings don't jump when
	// an operator sets the machine's clock.
	Now func() time.Time
	// MaxKeys bounds the buckets, and likewise the breakers. If zero, 100,000.
	MaxKeys int
	// IdleTTL is how long a lifetime bucket stays that no call uses and no turn's
	// end removes. IdleTTL is a net for turns and agents whose end the caller
	// missed. The count starts again after IdleTTL, so it must be longer than a
	// call may wait for a person's answer. If zero, 24 hours.
	IdleTTL time.Duration
	// EvictIdle is how long a conversation is idle before a full store may evict
	// its lifetime buckets; see Memory. No shorter than the longest time that a
	// skill may run. If zero, 30 minutes.
	EvictIdle time.Duration
}

// Memory is a Store in this process's memory. Memory starts no goroutine: each
// call drops a few idle keys.
//
// A full store evicts the lifetime bucket that has been idle the longest. Only
// conversations that have been idle for EvictIdle lose buckets. Of those
// conversations none is in the middle of a turn, except one that waits for a
// person. A conversation with a more recent question loses no bucket, not even
// that of a silent agent. Otherwise the agent's limit would be lifted within its
// turn. Buckets with a window are never evicted, because they expire. Where the
// store may evict nothing, it answers ErrFull for new keys and counts on for known
// keys. Newcomers wait, so that the limits of agents at work are never lifted.
//
// One mutex guards all of Memory. A call holds the mutex for about a microsecond,
// far less than the commit that follows each decision.
type Memory struct {
	now     func() time.Time
	maxKeys int
	idleTTL time.Duration
	evict   time.Duration

	mu       sync.Mutex
	base     time.Time         // all times below are durations since base
	latest   time.Duration     // the highest reading so far
	owners   map[string]*owner // by a key's first segment
	buckets  int
	windows  chain // buckets with a window, the longest unused first
	lifetime chain // the others, likewise
	breakers map[string]*breaker
	meters   meters
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty Memory.
func NewMemory(o MemoryOptions) *Memory {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxKeys <= 0 {
		o.MaxKeys = 100_000
	}
	if o.IdleTTL <= 0 {
		o.IdleTTL = 24 * time.Hour
	}
	if o.EvictIdle <= 0 {
		o.EvictIdle = 30 * time.Minute
	}
	return &Memory{
		now: o.Now, maxKeys: o.MaxKeys, idleTTL: o.IdleTTL, evict: o.EvictIdle, base: o.Now(),
		owners: map[string]*owner{}, breakers: map[string]*breaker{},
	}
}

// Take implements Store. ErrFull: there would be more than MaxKeys buckets, and
// too few may be evicted.
func (m *Memory) Take(ctx context.Context, id string, buckets []Bucket) (Taken, error) {
	if err := ctx.Err(); err != nil {
		return Taken{Full: -1}, err
	}
	if err := CheckTake(id, buckets); err != nil {
		return Taken{Full: -1}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.readClock()
	m.dropIdleBuckets(now)

	// First look at every bucket, then write: a full one must leave the others alone.
	missing := 0
	for i, want := range buckets {
		b := m.findBucket(want.Key)
		if b == nil {
			m.markOwnerBusy(want.Key, now)
			missing++
			if want.Max <= 0 {
				return Taken{Full: i}, nil
			}
			continue
		}
		m.refreshBucket(b, want.Window, now)
		if !b.holds(id) && len(b.entries) >= want.Max {
			return Taken{Full: i, Used: len(b.entries), RetryAfter: b.timeUntilRoom(want, now)}, nil
		}
	}
	m.evictIdleOwners(missing, now)
	if m.buckets+missing > m.maxKeys {
		return Taken{Full: -1}, fmt.Errorf("%w: %d buckets", ErrFull, m.buckets)
	}
	for _, want := range buckets {
		b := m.findBucket(want.Key)
		if b == nil {
			b = m.createBucket(want, now)
		}
		if !b.holds(id) {
			b.entries = append(b.entries, takenID{at: now, id: id})
		}
	}
	return Taken{OK: true, Full: -1, Used: len(m.findBucket(buckets[0].Key).entries)}, nil
}

// Forget implements Store.
func (m *Memory) Forget(ctx context.Context, prefix string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := CheckForget(prefix); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.meters.forgetUnder(prefix)
	o := m.owners[ownerSegment(prefix)]
	if o == nil {
		return nil
	}
	for key, b := range o.buckets {
		under := key == prefix || strings.HasPrefix(key, prefix) && key[len(prefix)] == '/'
		if under && b.window == 0 {
			m.dropBucket(b)
		}
	}
	return nil
}

// Len returns how many buckets and breakers are held, for metrics.
func (m *Memory) Len() (buckets, breakers int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.buckets, len(m.breakers)
}

// readClock returns the time since base, and never less than it returned before.
// With a clock that is set back, entries would outlive their window. After an hour
// forward and back, what was dropped in that hour would be missing.
func (m *Memory) readClock() time.Duration {
	m.latest = max(m.latest, m.now().Sub(m.base))
	return m.latest
}

// ownerSegment returns a key's first segment.
func ownerSegment(key string) string {
	owner, _, _ := strings.Cut(key, "/")
	return owner
}

// findBucket returns the bucket of that key, or nil.
func (m *Memory) findBucket(key string) *bucket {
	if o := m.owners[ownerSegment(key)]; o != nil {
		return o.buckets[key]
	}
	return nil
}

// createBucket adds an empty bucket to its owner and to its chain.
func (m *Memory) createBucket(want Bucket, now time.Duration) *bucket {
	name := ownerSegment(want.Key)
	o := m.owners[name]
	if o == nil {
		o = &owner{buckets: map[string]*bucket{}}
		m.owners[name] = o
	}
	b := &bucket{key: want.Key, owner: o, window: want.Window, used: now}
	o.buckets[want.Key], o.used = b, now
	m.buckets++
	m.chainOfBucket(b).push(b)
	return b
}

// refreshBucket drops what has left b's window and marks b as just used. The window
// is the asker's: a changed configuration takes effect at once.
func (m *Memory) refreshBucket(b *bucket, window, now time.Duration) {
	m.chainOfBucket(b).remove(b)
	b.window, b.used, b.owner.used = window, now, now
	b.dropExpired(now)
	m.chainOfBucket(b).push(b)
}

// dropBucket removes b, and its owner with the owner's last bucket.
func (m *Memory) dropBucket(b *bucket) {
	m.chainOfBucket(b).remove(b)
	delete(b.owner.buckets, b.key)
	if len(b.owner.buckets) == 0 {
		delete(m.owners, ownerSegment(b.key))
	}
	m.buckets--
}

// chainOfBucket returns the chain that b belongs to, by its window.
func (m *Memory) chainOfBucket(b *bucket) *chain {
	if b.window > 0 {
		return &m.windows
	}
	return &m.lifetime
}

// dropIdleBuckets removes buckets from the unused ends of both chains. Each bucket
// is removed once, so the cost is that of the Take which made it.
func (m *Memory) dropIdleBuckets(now time.Duration) {
	for b := m.windows.first; b != nil && now-b.used >= b.window; b = m.windows.first {
		m.dropBucket(b)
	}
	for b := m.lifetime.first; b != nil && now-b.used >= m.idleTTL; b = m.lifetime.first {
		m.dropBucket(b)
	}
}

// markOwnerBusy marks a conversation as busy when it asks for a bucket that is
// new.
func (m *Memory) markOwnerBusy(key string, now time.Duration) {
	if o := m.owners[ownerSegment(key)]; o != nil {
		o.used = now
	}
}

// evictIdleOwners drops buckets of idle conversations until n more fit, the
// longest unused first. Those that it passes over are silent agents of busy
// conversations, few in any store whose turns are ended.
func (m *Memory) evictIdleOwners(n int, now time.Duration) {
	for b := m.lifetime.first; b != nil && m.buckets+n > m.maxKeys && now-b.used >= m.evict; {
		next := b.next
		if now-b.owner.used >= m.evict {
			m.dropBucket(b)
		}
		b = next
	}
}
