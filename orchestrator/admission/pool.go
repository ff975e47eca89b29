package admission

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// The bounds of RetryAfter, and what a piece of work is taken to last before
// the first has ended.
const (
	minRetry  = 100 * time.Millisecond
	maxRetry  = time.Minute
	firstHold = time.Second
)

// Options are the numbers of a Pool.
type Options struct {
	// What is counted, in the plural, for errors.
	What string
	// Process is how many credits there are, User how many one user may hold.
	// Zero or less means no bound.
	Process, User int
	// Waiting is how many askers may wait, UserWaiting how many of one user. At zero
	// the pool refuses an asker instead of letting it wait.
	Waiting, UserWaiting int
	// Wait is the longest wait; zero means as long as the asker's context.
	Wait time.Duration
}

// Pool gives out credits. It is safe for concurrent use and starts no
// goroutine.
type Pool struct {
	o Options

	mu      sync.Mutex
	used    int
	waiting int
	users   map[string]*account // who holds a credit or waits for one
	ring    list.List           // accounts that wait and may have another, in turn
	hold    time.Duration       // how long a credit is held, lately
	ended   time.Time           // when the latest came back
	refused uint64
}

// account is what one user has.
type account struct {
	user  string
	used  int
	queue list.List     // of *waiter, the longest waiting first
	turn  *list.Element // its place in the ring, nil if it has none
}

// waiter is one who waits. ready is closed with the credit in place.
type waiter struct {
	ready  chan struct{}
	credit *Credit
}

// Ask is a wish for a credit.
type Ask struct {
	// User is whose share it is.
	User string
	// Life, if set, returns the credit when it ends, and ends the wait for it.
	Life context.Context //nolint:containedctx // whose end is waited for, not a call's own
	// Accepted is work that was taken on before and must not be refused: it
	// waits its turn as any other, for as long as its context lasts, and
	// however many wait.
	Accepted bool
}

// New returns a Pool with all its credits.
func New(o Options) *Pool { return &Pool{o: o, users: map[string]*account{}} }

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
func (c *Credit) Release() { c.back(true) }

// Unused returns a credit that nothing was done with: how long it was held says
// nothing about how long the next has to wait.
func (c *Credit) Unused() { c.back(false) }

func (c *Credit) back(used bool) {
	if c == nil {
		return
	}
	c.once.Do(func() {
		if c.stop != nil {
			c.stop()
		}
		c.p.giveBack(c, used)
	})
}

// Try returns a credit if there is one at this moment, and an *OverloadedError
// if not.
func (p *Pool) Try(ask Ask) (*Credit, error) {
	p.mu.Lock()
	c, err := p.take(ask.User)
	if err != nil {
		p.refused++
	}
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return c.bound(ask.Life)
}

// Ready is Try for an asker that goes on to wait where there is none: that is
// no refusal.
func (p *Pool) Ready(ask Ask) (*Credit, error) {
	p.mu.Lock()
	c, err := p.take(ask.User)
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return c.bound(ask.Life)
}

// Acquire returns a credit as soon as it is the asker's turn. An
// *OverloadedError: too many wait already, or it took longer than Options.Wait.
// Any other error is the end of ctx, or of ask.Life.
func (p *Pool) Acquire(ctx context.Context, ask Ask) (*Credit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	c, err := p.take(ask.User)
	if err == nil {
		p.mu.Unlock()
		return c.bound(ask.Life)
	}
	w, place, a, err := p.enqueue(ask)
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return p.wait(ctx, ask, w, func() bool { return p.leave(a, place) })
}

// wait blocks until w has a credit, the pool's waiting time is over, or the asker
// ends.
func (p *Pool) wait(ctx context.Context, ask Ask, w *waiter, leave func() bool) (*Credit, error) {
	var late <-chan time.Time
	if p.o.Wait > 0 && !ask.Accepted {
		t := time.NewTimer(p.o.Wait)
		defer t.Stop()
		late = t.C
	}
	life := ask.Life
	if life == nil {
		life = ctx
	}
	var err error
	select {
	case <-w.ready:
		return w.credit.bound(ask.Life)
	case <-late:
		if !leave() {
			return w.credit.bound(ask.Life) // it came this moment
		}
		return nil, p.Overloaded(ask.User)
	case <-ctx.Done():
		err = ctx.Err()
	case <-life.Done():
		err = life.Err()
	}
	if !leave() {
		w.credit.Release()
	}
	return nil, err
}

// bound ties the credit to a life.
func (c *Credit) bound(life context.Context) (*Credit, error) {
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

func (p *Pool) account(user string) *account {
	a := p.users[user]
	if a == nil {
		a = &account{user: user}
		p.users[user] = a
	}
	return a
}

func (p *Pool) full() bool            { return p.o.Process > 0 && p.used >= p.o.Process }
func (p *Pool) spent(a *account) bool { return p.o.User > 0 && a.used >= p.o.User }

// take gives a credit out. No asker waits while a credit is free for it: the pool
// hands on every credit that comes back.
func (p *Pool) take(user string) (*Credit, error) {
	a := p.account(user)
	if p.full() || p.spent(a) {
		err := p.overloaded(a)
		p.drop(a)
		return nil, err
	}
	return p.give(a), nil
}

func (p *Pool) give(a *account) *Credit {
	p.used++
	a.used++
	return &Credit{p: p, a: a, since: time.Now()}
}

func (p *Pool) enqueue(ask Ask) (*waiter, *list.Element, *account, error) {
	a := p.account(ask.User)
	if !ask.Accepted && (p.waiting >= p.o.Waiting || a.queue.Len() >= p.o.UserWaiting) {
		err := p.overloaded(a)
		p.refused++
		p.drop(a)
		return nil, nil, nil, err
	}
	w := &waiter{ready: make(chan struct{})}
	place := a.queue.PushBack(w)
	p.waiting++
	p.line(a)
	return w, place, a, nil
}

// line gives an account its place in the ring, or takes it away.
func (p *Pool) line(a *account) {
	wants := a.queue.Len() > 0 && !p.spent(a)
	switch {
	case wants && a.turn == nil:
		a.turn = p.ring.PushBack(a)
	case !wants && a.turn != nil:
		p.ring.Remove(a.turn)
		a.turn = nil
	}
}

// leave takes a waiter out of its queue. False: it has its credit already.
func (p *Pool) leave(a *account, place *list.Element) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, _ := place.Value.(*waiter)
	if w.credit != nil {
		return false
	}
	a.queue.Remove(place)
	p.waiting--
	p.refused++
	p.line(a)
	p.drop(a)
	return true
}

func (p *Pool) giveBack(c *Credit, used bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.over = true
	if !c.lent {
		p.free(c, used)
	}
}

// free makes room for another.
func (p *Pool) free(c *Credit, used bool) {
	p.used--
	c.a.used--
	if used {
		p.learn(time.Now(), c.since)
	}
	p.line(c.a)
	p.handOn()
	p.drop(c.a)
}

// learn takes note of how long a credit was held.
func (p *Pool) learn(now, since time.Time) {
	p.ended = now
	if held := now.Sub(since); p.hold == 0 {
		p.hold = max(held, time.Nanosecond)
	} else {
		p.hold += (held - p.hold) / 8
	}
}

// handOn gives what is free to those who wait, a user after the other.
func (p *Pool) handOn() {
	for !p.full() {
		front := p.ring.Front()
		if front == nil {
			return
		}
		a, _ := front.Value.(*account)
		w, _ := a.queue.Remove(a.queue.Front()).(*waiter)
		p.waiting--
		w.credit = p.give(a)
		close(w.ready)
		p.ring.Remove(front)
		a.turn = nil
		p.line(a) // behind the others
	}
}

// drop forgets an account that has nothing.
func (p *Pool) drop(a *account) {
	if a.used == 0 && a.queue.Len() == 0 {
		delete(p.users, a.user)
	}
}

// Stats is a Pool at one moment.
type Stats struct {
	What string `json:"what"`
	// Used are the credits given out, Process how many there are.
	Used    int `json:"used"`
	Process int `json:"process"`
	Waiting int `json:"waiting"`
	// Users is how many hold a credit or wait for one.
	Users int `json:"users"`
	// Refused is how many were refused, at once or in the queue, or left it, since the start.
	Refused uint64 `json:"refused"`
}

// Stats returns how full the pool is.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{p.o.What, p.used, p.o.Process, p.waiting, len(p.users), p.refused}
}
