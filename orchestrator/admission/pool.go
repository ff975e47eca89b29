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
	// Accepted is work that was taken on before and must not be refused. It waits its turn
	// as any other, for as long as its context lasts, and however many wait.
	Accepted bool
}

// New returns a Pool with all its credits.
func New(o Options) *Pool { return &Pool{o: o, users: map[string]*account{}} }

// Try returns a credit if there is one at this moment, and an *OverloadedError
// if not.
func (p *Pool) Try(ask Ask) (*Credit, error) {
	p.mu.Lock()
	c, err := p.takeCredit(ask.User)
	if err != nil {
		p.refused++
	}
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return c.tieToLife(ask.Life)
}

// Ready is Try for an asker that goes on to wait where there is none: that is
// no refusal.
func (p *Pool) Ready(ask Ask) (*Credit, error) {
	p.mu.Lock()
	c, err := p.takeCredit(ask.User)
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return c.tieToLife(ask.Life)
}

// Acquire returns a credit as soon as it is the asker's turn. An
// *OverloadedError: too many wait already, or it took longer than Options.Wait.
// Any other error is the end of ctx, or of ask.Life.
func (p *Pool) Acquire(ctx context.Context, ask Ask) (*Credit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	c, err := p.takeCredit(ask.User)
	if err == nil {
		p.mu.Unlock()
		return c.tieToLife(ask.Life)
	}
	w, place, a, err := p.enqueueWaiter(ask)
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return p.waitForCredit(ctx, ask, w, func() bool { return p.leaveQueue(a, place) })
}

// waitForCredit blocks until w has a credit, the pool's waiting time is over, or the asker
// ends.
func (p *Pool) waitForCredit(ctx context.Context, ask Ask, w *waiter, leave func() bool) (*Credit, error) {
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
		return w.credit.tieToLife(ask.Life)
	case <-late:
		if !leave() {
			return w.credit.tieToLife(ask.Life) // it came this moment
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

// accountOf returns a user's account, a new one where there is none. The caller holds the
// lock.
func (p *Pool) accountOf(user string) *account {
	a := p.users[user]
	if a == nil {
		a = &account{user: user}
		p.users[user] = a
	}
	return a
}

func (p *Pool) isFull() bool            { return p.o.Process > 0 && p.used >= p.o.Process }
func (p *Pool) isSpent(a *account) bool { return p.o.User > 0 && a.used >= p.o.User }

// takeCredit gives a credit out. No asker waits while a credit is free for it: the pool
// hands on every credit that comes back.
func (p *Pool) takeCredit(user string) (*Credit, error) {
	a := p.accountOf(user)
	if p.isFull() || p.isSpent(a) {
		err := p.newOverloaded(a)
		p.dropIdle(a)
		return nil, err
	}
	return p.giveCredit(a), nil
}

// giveCredit takes a credit out of the pool for an account.
func (p *Pool) giveCredit(a *account) *Credit {
	p.used++
	a.used++
	return &Credit{p: p, a: a, since: time.Now()}
}

// enqueueWaiter puts an asker at the end of its user's queue, or refuses it.
func (p *Pool) enqueueWaiter(ask Ask) (*waiter, *list.Element, *account, error) {
	a := p.accountOf(ask.User)
	if !ask.Accepted && (p.waiting >= p.o.Waiting || a.queue.Len() >= p.o.UserWaiting) {
		err := p.newOverloaded(a)
		p.refused++
		p.dropIdle(a)
		return nil, nil, nil, err
	}
	w := &waiter{ready: make(chan struct{})}
	place := a.queue.PushBack(w)
	p.waiting++
	p.lineUp(a)
	return w, place, a, nil
}

// lineUp gives an account its place in the ring, or takes it away.
func (p *Pool) lineUp(a *account) {
	wants := a.queue.Len() > 0 && !p.isSpent(a)
	switch {
	case wants && a.turn == nil:
		a.turn = p.ring.PushBack(a)
	case !wants && a.turn != nil:
		p.ring.Remove(a.turn)
		a.turn = nil
	}
}

// leaveQueue takes a waiter out of its queue. False: it has its credit already.
func (p *Pool) leaveQueue(a *account, place *list.Element) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, _ := place.Value.(*waiter)
	if w.credit != nil {
		return false
	}
	a.queue.Remove(place)
	p.waiting--
	p.refused++
	p.lineUp(a)
	p.dropIdle(a)
	return true
}

// returnCredit ends a credit. One that is lent has given its place back already.
func (p *Pool) returnCredit(c *Credit, used bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.over = true
	if !c.lent {
		p.freePlace(c, used)
	}
}

// freePlace makes room for another.
func (p *Pool) freePlace(c *Credit, used bool) {
	p.used--
	c.a.used--
	if used {
		p.learnHold(time.Now(), c.since)
	}
	p.lineUp(c.a)
	p.handOnCredits()
	p.dropIdle(c.a)
}

// learnHold takes note of how long a credit was held.
func (p *Pool) learnHold(now, since time.Time) {
	p.ended = now
	if held := now.Sub(since); p.hold == 0 {
		p.hold = max(held, time.Nanosecond)
	} else {
		p.hold += (held - p.hold) / 8
	}
}

// handOnCredits gives what is free to those who wait, a user after the other.
func (p *Pool) handOnCredits() {
	for !p.isFull() {
		front := p.ring.Front()
		if front == nil {
			return
		}
		a, _ := front.Value.(*account)
		w, _ := a.queue.Remove(a.queue.Front()).(*waiter)
		p.waiting--
		w.credit = p.giveCredit(a)
		close(w.ready)
		p.ring.Remove(front)
		a.turn = nil
		p.lineUp(a) // behind the others
	}
}

// dropIdle forgets an account that has nothing.
func (p *Pool) dropIdle(a *account) {
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
