package limits

import (
	"slices"
	"time"
)

// owner is a conversation with its buckets.
type owner struct {
	buckets map[string]*bucket // by the whole key
	used    time.Duration      // when any of them was last asked for
}

// bucket is a Bucket with its ids, oldest first. Ids are searched one by one:
// there are rarely more than 50, and Config admits no more than 10,000.
type bucket struct {
	key     string
	owner   *owner
	window  time.Duration // 0: lifetime
	used    time.Duration // when it was last asked for
	entries []takenID

	prev, next *bucket // neighbours in its chain
}

type takenID struct {
	at time.Duration
	id string
}

// holds reports whether the bucket has the id.
func (b *bucket) holds(id string) bool {
	for i := range b.entries {
		if b.entries[i].id == id {
			return true
		}
	}
	return false
}

// dropExpired lets go of the entries that have left the window.
func (b *bucket) dropExpired(now time.Duration) {
	if b.window > 0 {
		b.entries = withinWindow(b.entries, now, b.window)
	}
}

// timeUntilRoom returns when a full bucket has room again, 0 for never. Under a Max
// that was lowered meanwhile, more than one entry has to go first.
func (b *bucket) timeUntilRoom(want Bucket, now time.Duration) time.Duration {
	if want.Window == 0 || want.Max <= 0 {
		return 0
	}
	return b.entries[len(b.entries)-want.Max].at + want.Window - now
}

// withinWindow returns the entries not older than window, in the same array.
func withinWindow(entries []takenID, now, window time.Duration) []takenID {
	gone := 0
	for gone < len(entries) && now-entries[gone].at >= window {
		gone++
	}
	return slices.Delete(entries, 0, gone)
}

// chain is a doubly linked list of buckets in the order of their last use.
type chain struct{ first, last *bucket }

// push puts b at the end: it was just used.
func (c *chain) push(b *bucket) {
	b.prev, b.next = c.last, nil
	if c.last == nil {
		c.first = b
	} else {
		c.last.next = b
	}
	c.last = b
}

// remove takes b out of the chain.
func (c *chain) remove(b *bucket) {
	if b.prev == nil {
		c.first = b.next
	} else {
		b.prev.next = b.next
	}
	if b.next == nil {
		c.last = b.prev
	} else {
		b.next.prev = b.prev
	}
	b.prev, b.next = nil, nil
}
