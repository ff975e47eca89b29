package review

import (
	linked "container/list"
	"context"
	"sync"
	"time"
)

// places are how many may be with a model at a time. Who finds none waits, and
// users have their turns: one who makes many calls waits behind its own.
type places struct {
	mu    sync.Mutex
	room  int
	used  int
	users map[string]*line // those who wait
	turns linked.List      // of their names, the next first
}

// line is those of one user who wait, the longest first.
type line struct {
	waiting linked.List     // of *waiter
	turn    *linked.Element // the user's among all
}

// waiter is one who waits; ready is closed when it has a place.
type waiter struct{ ready chan struct{} }

func newPlaces(room int) *places { return &places{room: room, users: map[string]*line{}} }

// take waits for a place, not beyond by. Without an error the caller must give
// it back. The error is a *fault without the model's name, or errCanceled.
func (p *places) take(ctx context.Context, user string, by time.Time) error {
	w := p.ask(user)
	if w == nil {
		return nil
	}
	t := time.NewTimer(time.Until(by))
	defer t.Stop()
	var err error
	select {
	case <-w.Value.(*waiter).ready:
		return nil
	case <-t.C:
		err = &fault{kind: Busy}
	case <-ctx.Done():
		err = errCanceled
	}
	if !p.quit(user, w) { // it has got one this moment
		p.give()
	}
	return err
}

// ask takes a place, nil, or one in the user's line. While a place is free no
// question waits: places hands on each that comes back.
func (p *places) ask(user string) *linked.Element {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used < p.room {
		p.used++
		return nil
	}
	l := p.users[user]
	if l == nil {
		l = &line{}
		l.turn, p.users[user] = p.turns.PushBack(user), l
	}
	return l.waiting.PushBack(&waiter{make(chan struct{})})
}

// quit ends a wait. False: the place has been given.
func (p *places) quit(user string, w *linked.Element) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-w.Value.(*waiter).ready:
		return false
	default:
	}
	l := p.users[user]
	l.waiting.Remove(w)
	p.dropEmptyLine(user, l)
	return true
}

// dropEmptyLine forgets a line in which no question waits.
func (p *places) dropEmptyLine(user string, l *line) {
	if l.waiting.Len() == 0 {
		p.turns.Remove(l.turn)
		delete(p.users, user)
	}
}

// give hands a place on to the longest waiting of the user whose turn it is.
func (p *places) give() {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.turns.Front()
	if next == nil {
		p.used--
		return
	}
	p.turns.MoveToBack(next)
	user, _ := next.Value.(string)
	l := p.users[user]
	w, _ := l.waiting.Remove(l.waiting.Front()).(*waiter)
	close(w.ready)
	p.dropEmptyLine(user, l)
}

// countWaiting is how many of a user's wait.
func (p *places) countWaiting(user string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.users[user]; l != nil {
		return l.waiting.Len()
	}
	return 0
}

// countTaken is how many are with the model now.
func (p *places) countTaken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}
