package admission

import "time"

// Overloaded returns the refusal of a user's work, as things stand now.
func (p *Pool) Overloaded(user string) *OverloadedError {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(user)
	defer p.drop(a)
	return p.overloaded(a)
}

func (p *Pool) overloaded(a *account) *OverloadedError {
	e := &OverloadedError{What: p.o.What, Of: OfProcess}
	slots, ahead := p.o.Process, p.waiting
	if p.spent(a) && !p.full() {
		e.Of, slots, ahead = OfUser, p.o.User, a.queue.Len()
	}
	e.RetryAfter = p.estimate(slots, ahead)
	return e
}

// Busy returns the refusal of a conversation that does one piece of work of
// the pool's kind at a time, for a request with ahead more before it.
func (p *Pool) Busy(what string, ahead int) *OverloadedError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &OverloadedError{What: what, Of: OfConversation, RetryAfter: p.estimate(1, ahead)}
}

// Held returns the refusal of a conversation whose work waits for a person.
func (p *Pool) Held(what string) *OverloadedError {
	return &OverloadedError{What: what, Of: OfConversation, RetryAfter: maxRetry, Held: true}
}

// estimate is how long it takes until those ahead have been served, and one
// more: as fast as work has ended lately, or no faster than the latest silence.
func (p *Pool) estimate(slots, ahead int) time.Duration {
	hold := p.hold
	if hold == 0 {
		hold = firstHold
	}
	apart := hold / time.Duration(max(slots, 1))
	if p.full() && !p.ended.IsZero() {
		apart = max(apart, time.Since(p.ended))
	}
	if apart > maxRetry { // and no overflow below
		return maxRetry
	}
	return min(max(apart*time.Duration(min(ahead, 1<<20)+1), minRetry), maxRetry).Round(time.Millisecond)
}
