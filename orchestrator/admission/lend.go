package admission

import "time"

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
	c.p.free(c, true)
}

// Reclaim takes back the place of a credit that was lent, also where none is
// free: the pool then holds more than its number, and gives out none until it
// is below it again. It does nothing to a credit that was not lent.
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
	c.a = p.account(c.a.user) // the pool may have forgotten it meanwhile
	p.used++
	c.a.used++
	p.line(c.a)
}
