// Package testclock is a clock that stands still until a test moves it. However slow the
// machine is, no time passes by itself.
//
//	c := testclock.New(time.Date(2026, 3, 29, 1, 59, 0, 0, time.UTC))
//	store := limits.NewMemory(limits.MemoryOptions{Now: c.Now})
//	c.Shift(time.Minute)
//
// Use testing/synctest instead where what is tested takes no clock.
package testclock

import (
	"sync"
	"time"
)

// Clock shows one time until Shift. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// New returns a clock that shows at.
func New(at time.Time) *Clock { return &Clock{now: at} }

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Shift moves the clock by d, backwards where d is negative.
func (c *Clock) Shift(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
