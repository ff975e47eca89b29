package sentinel

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/google/uuid"

	"github.com/vedette-dev/vedette/skills"
)

// Numbered returns a root desk whose calls, and those of its children, have
// ids made of the grant's id and the number of the proposal: a process that
// resumes the desk proposes an unanswered call under the id it had before. The
// grant's id must never have been used for another desk.
func (p *Checkpoint) Numbered(g Grant) *Desk { return &Desk{p: p, grant: g, numbered: true} }

// callSpace is the namespace of numbered call ids.
var callSpace = uuid.MustParse("6a0f3c52-0f5e-5d0b-9c57-3e1c9b6f2d11")

// CallID is the id of the call that the numbered desk under the grant of that
// id proposes as its n-th, from 0.
func CallID(grantID string, n int) string {
	return uuid.NewSHA1(callSpace, []byte(grantID+"\n"+strconv.Itoa(n))).String()
}

// Resume puts a new numbered desk to where an earlier one under the same grant
// was: done calls had been answered, and up to open more may have been
// proposed that the agent will propose again. Those are answered from the
// checkpoint's History if they were decided: a refusal is repeated, a result
// returned, and only what was interrupted and may be repeated runs again. It
// counts all of them against the limits again, brings back trace and taint,
// and returns what it found, in order. An error means that nothing may run.
func (d *Desk) Resume(ctx context.Context, done, open int) ([]Past, error) {
	if !d.numbered || d.p.o.History == nil || d.p.o.Limiter == nil {
		return nil, fmt.Errorf("%w: the desk is not numbered, or nothing was kept", ErrNotRecorded)
	}
	d.mu.Lock()
	d.next, d.until = done, done+open
	g := d.grant
	d.mu.Unlock()
	var found []Past
	for n := range done + open {
		past, ok, err := d.lookBack(ctx, n)
		if err != nil {
			return nil, err
		}
		if ok || n < done {
			d.recount(ctx, g, past)
		}
		if !ok {
			continue
		}
		found = append(found, past)
		d.refusedThen(past)
		if st, ok := past.step(); ok {
			if s, known := d.p.o.Registry.Get(st.Skill); known {
				st.Effect = s.Effect()
			}
			d.append(st)
		}
	}
	return found, nil
}

// recount uses the slot of a call that was proposed before, which is free where
// the store of the limits still has it. The skill's breaker isn't asked: the
// call is over. Neither is a pause: what was used before it stays used.
func (d *Desk) recount(ctx context.Context, g Grant, past Past) {
	skill := past.Skill
	v := d.p.count(ctx, g, past.CallID, skill)
	if skill != "" && v.Counts() {
		d.p.release(ctx, skill, past.CallID)
	}
}

// lookBack waits until no other caller works on the call of that number. Then
// lookBack reads what is on record of the call.
func (d *Desk) lookBack(ctx context.Context, n int) (Past, bool, error) {
	id := CallID(d.grant.ID(), n)
	leave, err := d.p.lanes.enter(ctx, id)
	if err != nil {
		return Past{}, false, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	defer leave()
	return d.p.past(ctx, id, n)
}

func (p *Checkpoint) past(ctx context.Context, id string, n int) (Past, bool, error) {
	list, err := p.o.History.Past(ctx, id)
	if err != nil {
		p.logger().Error("the records of an earlier call could not be read", "call", id, "error", err)
		return Past{}, false, fmt.Errorf("%w: what became of it before could not be read", ErrNotRecorded)
	}
	past, ok := readPast(id, list)
	past.Number = n
	if past.follow, err = p.heldFollow(ctx, past); err != nil {
		return Past{}, false, err
	}
	return past, ok && past.follow == nil, nil
}

// answer is what a desk returns for a call.
type answer struct {
	res skills.Result
	err error
}

// again answers a call that was decided before, nil where it is to be decided
// now; repeat says that it runs a second time, then.
func (d *Desk) again(past Past, prop Proposal) (a *answer, repeat bool) {
	c, cerr := d.p.NewCall(prop)
	same := past.is(d.p, c, cerr, len(prop.Args))
	switch {
	case !past.Allowed && same:
		return &answer{err: past.Refusal}, false
	case !past.Allowed && !past.began:
		// Nothing was done under this id, and what was said of another call is
		// no answer to this one: it is decided.
		return nil, false
	case !same:
		// Not the call that was allowed under this id: whether that one had
		// its effect is all that could be said, and it isn't what was asked.
		return &answer{err: errInterrupted}, false
	}
	if past.repeatable(c.Skill()) {
		return nil, true
	}
	res, err := past.returned()
	return &answer{res, err}, false
}

// is reports whether a proposal is the one that was recorded: the same Call, or
// none for the same reason.
func (p Past) is(cp *Checkpoint, c Call, err error, argBytes int) bool {
	var ce *CallError
	if errors.As(err, &ce) {
		return p.mistake == ce.Code && p.argBytes == argBytes
	}
	return err == nil && p.of(cp, c)
}

// of reports whether the call is the one that was recorded. A skill that was
// changed since gives it another digest: then name and arguments must do. Where
// those were erased, or some are kept nowhere, nothing is known: it fits none.
func (p Past) of(cp *Checkpoint, c Call) bool {
	if p.digest != "" && cp.mac(c.Digest()) == p.digest {
		return true
	}
	s := c.Skill()
	if s == nil || p.Skill != c.Name() || p.proposed == "" || p.spec == s.Digest() || s.Secretive() {
		return false
	}
	return p.proposed == string(shownArgs(c, false)) || p.proposed == string(shownArgs(c, true)) // as it was rewritten
}

// append adds a step to the trace, with its taint.
func (d *Desk) append(st Step) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trace = d.trace.with(st)
	if st.Trust != skills.Trusted {
		d.grant = d.grant.Taint()
	}
}

// lanes let one goroutine at a time work on a call: what an agent left behind
// when its process crashed must end before the agent is asked again.
type lanes struct {
	mu   sync.Mutex
	busy map[string]chan struct{}
}

// enter waits for the caller that works on the id. Call leave when done.
func (l *lanes) enter(ctx context.Context, id string) (leave func(), err error) {
	for {
		l.mu.Lock()
		other, taken := l.busy[id]
		if !taken {
			if l.busy == nil {
				l.busy = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			l.busy[id] = mine
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.busy, id)
				l.mu.Unlock()
				close(mine)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), errStillBusy)
		}
	}
}

var errStillBusy = errors.New("an earlier proposal of the call has not ended")
