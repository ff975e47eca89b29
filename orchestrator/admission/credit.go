package admission

import (
	"context"
	"sync"
	"time"
)

// Credit is the right to do one thing. A nil Credit is none.
type Credit struct {
	p    *Pool
	once sync.Once
	stop func() bool // ends the watch over the life

	// The pool's lock guards the rest.
	a          *account
	since      time.Time
	lent, over bool
}

// Release returns the credit, the first time it or Unused is called.
func (c *Credit) Release() { c.returnOnce(true) }

// Unused returns a credit that nothing was done with. How long it was held says nothing
// about how long the next has to wait.
func (c *Credit) Unused() { c.returnOnce(false) }

// returnOnce gives the credit back, the first time it is called.
func (c *Credit) returnOnce(used bool) {
	if c == nil {
		return
	}
	c.once.Do(func() {
		if c.stop != nil {
			c.stop()
		}
		c.p.returnCredit(c, used)
	})
}

// tieToLife ties the credit to a life.
func (c *Credit) tieToLife(life context.Context) (*Credit, error) {
	if life == nil {
		return c, nil
	}
	if err := life.Err(); err != nil {
		c.Release()
		return nil, err
	}
	set := make(chan struct{})
	c.stop = context.AfterFunc(life, func() { <-set; c.Release() })
	close(set)
	return c, nil
}

// Lend gives the credit's place to others while its holder only waits for a
// person. It does nothing to a credit that is lent or returned already.
func (c *Credit) Lend() {
	if c == nil {
		return
	}
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if c.lent || c.over {
		return
	}
	c.lent = true
	c.p.freePlace(c, true)
}

// Reclaim takes back the place of a credit that was lent, also where none is free. The pool
// then holds more than its number, and gives out none until it is below it again. Reclaim
// does nothing to a credit that was not lent.
func (c *Credit) Reclaim() {
	if c == nil {
		return
	}
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if !c.lent || c.over {
		return
	}
	c.lent, c.since = false, time.Now()
	c.a = p.accountOf(c.a.user) // the pool may have forgotten it meanwhile
	p.used++
	c.a.used++
	p.lineUp(c.a)
}
