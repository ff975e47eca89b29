package otp

import (
	"math/rand/v2"
	"time"
)

// Backoff delays restarts. The zero value is no delay, as in OTP. The n-th
// restart inside Period waits a random time up to Base doubled n-1 times, at
// most Cap (full jitter). internal/backoff says how long other things wait. It draws around
// a pause and counts from 0, and this package imports no other of the module.
type Backoff struct {
	Base time.Duration
	// Cap is Base*64 when zero.
	Cap time.Duration
	// jitter returns a duration in [0, limit]. Nil means random; tests set it.
	jitter func(limit time.Duration) time.Duration
}

// drawDelay returns the delay of the n-th restart in the period.
func (b Backoff) drawDelay(nth int) time.Duration {
	if b.Base <= 0 {
		return 0
	}
	top := b.Cap
	if top <= 0 {
		top = b.Base << 6
	}
	limit := top
	if shift := max(nth-1, 0); shift < 32 && b.Base<<shift > 0 {
		limit = min(top, b.Base<<shift)
	}
	if b.jitter != nil {
		return min(max(b.jitter(limit), 0), limit)
	}
	return rand.N(limit + 1)
}
