package otp

import (
	"context"
	"sync"
)

// gauge counts running goroutines and can be waited for with a deadline.
type gauge struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed and cleared when n returns to zero
}

// add counts one more goroutine.
func (g *gauge) add() {
	g.mu.Lock()
	g.n++
	g.signalZero()
	g.mu.Unlock()
}

// done counts one goroutine less.
func (g *gauge) done() {
	g.mu.Lock()
	g.n--
	g.signalZero()
	g.mu.Unlock()
}

// signalZero wakes those who wait for zero. An abandoned goroutine may return before it
// was counted, so n can pass through -1.
func (g *gauge) signalZero() {
	if g.n == 0 && g.zero != nil {
		close(g.zero)
		g.zero = nil
	}
}

// count returns how many goroutines run.
func (g *gauge) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}

// wait waits until no goroutine runs or ctx is done.
func (g *gauge) wait(ctx context.Context) error {
	g.mu.Lock()
	if g.n == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.zero == nil {
		g.zero = make(chan struct{})
	}
	zero := g.zero
	g.mu.Unlock()
	select {
	case <-zero:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
