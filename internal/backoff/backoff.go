// Package backoff says how long something that failed waits before it is tried again.
//
// Each pause is twice the one before. Callers keep figures of their own, and what a server
// asked for by Retry-After is theirs to compare. Use no pause from here where the time is
// part of a contract, such as an expiry: a spread pause differs each time.
//
// Restarts of processes have delays of their own, otp.Backoff: they are drawn from zero on,
// and agents/otp imports no package of this module.
package backoff

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// Pauses are the pauses between tries.
type Pauses struct {
	First time.Duration
	// Longest bounds each pause before it is spread. Zero is no bound.
	Longest time.Duration
	// Spread keeps callers that failed together from coming again together.
	Spread Spread
}

// Spread says between which hundredths of a pause the real one is drawn. The zero value
// leaves pauses as they are.
type Spread struct{ Least, Most int }

// farOff bounds what is computed with, so that twice of it fits in a Duration.
const farOff = time.Duration(math.MaxInt64 / 4)

// Pause returns the n-th pause, from 0. A negative n counts as 0.
func (p Pauses) Pause(n int) time.Duration {
	longest := p.Longest
	if longest <= 0 || longest > farOff {
		longest = farOff
	}
	n = max(n, 0)
	if p.First > longest>>n {
		return p.Spread.Draw(longest)
	}
	return p.Spread.Draw(max(p.First, 0) << n)
}

// Draw returns a duration between the hundredths of d, both included.
func (s Spread) Draw(d time.Duration) time.Duration {
	if s == (Spread{}) || d <= 0 {
		return d
	}
	d = min(d, farOff)
	least, most := takeHundredths(d, s.Least), takeHundredths(d, s.Most)
	return least + rand.N(max(most-least, 0)+1) //nolint:gosec // spreads load, guards nothing
}

func takeHundredths(d time.Duration, n int) time.Duration {
	h, ns := int64(n), int64(d) // apart, so that no product is beyond a Duration
	return time.Duration(ns/100*h + ns%100*h/100)
}

// Wait waits for d, and reports whether it was for the whole time. It returns false as soon
// as ctx ends.
func Wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
