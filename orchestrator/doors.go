package orchestrator

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/admission"
)

// OverloadedError says what there was no room for and when to come again:
//
//	var full *orchestrator.OverloadedError
//	if errors.As(err, &full) { wait(full.RetryAfter) }
type OverloadedError = admission.OverloadedError

// agentWait is how long an agent waits for room before it fails; so much time
// it would have had to work.
const agentWait = time.Minute

// doors bound how many conversations, requests, turns and agents there are at a
// time. Work passes the doors in this order. Waiting at one door never depends on
// work that waits at the next. A request counts while its caller waits, a turn and
// an agent while they work.
type doors struct {
	requests, turns, agents, conversations *admission.Pool
}

func newDoors(l config.Limits, room time.Duration) doors {
	p, u := l.Process, l.User
	return doors{
		requests: admission.New(admission.Options{What: "requests", Process: p.Turns + p.Waiting, User: u.Turns + u.Waiting}),
		turns: admission.New(admission.Options{
			What: "turns", Process: p.Turns, User: u.Turns, Waiting: p.Waiting, UserWaiting: u.Waiting, Wait: p.Wait,
		}),
		// As many may wait as the turns may dispatch.
		agents: admission.New(admission.Options{
			What: "agents", Process: p.Agents, User: u.Agents,
			Waiting: p.Turns * l.Turn.Agents, UserWaiting: p.Turns * l.Turn.Agents, Wait: room,
		}),
		conversations: admission.New(admission.Options{What: "conversations", Process: p.Conversations, User: u.Conversations}),
	}
}

// Load returns how full the process is, from the door inwards, for metrics.
func (o *Orchestrator) Load() []admission.Stats {
	d := o.doors
	return append([]admission.Stats{d.conversations.Stats(), d.requests.Stats(), d.turns.Stats(), d.agents.Stats()}, o.parts.Load()...)
}

// seat is a place in a pool that a conversation's process has, or waits for in
// a task of its own.
type seat struct {
	credit *admission.Credit
	task   otp.Ref            // while it waits
	gone   context.CancelFunc // ends the wait, or returns the credit
}

// take gets a credit at once and reports true, or begins to wait for one; the
// task's end is for came. The credit comes back with life at the latest.
func (s *seat) take(c *otp.Context, p *admission.Pool, ask admission.Ask) bool {
	var err error
	ask.Life, s.gone = context.WithCancel(ask.Life)
	if s.credit, err = p.Ready(ask); err == nil {
		return true
	}
	s.task = c.Async(0, func(ctx context.Context) (any, error) { return p.Acquire(ctx, ask) })
	return false
}

// came reports whether the task's end is this seat's, and what came of it.
func (s *seat) came(m otp.TaskResult) (mine bool, err error) {
	if s.task == 0 || m.Ref != s.task {
		return false, nil
	}
	s.task = 0
	s.credit, _ = m.Value.(*admission.Credit)
	if s.credit == nil && m.Err == nil {
		m.Err = ErrOverloaded
	}
	if m.Err != nil {
		s.leave()
	}
	return true, m.Err
}

// leave gives the place up, also one that is waited for: a credit that comes
// this moment finds its life over, and goes back.
func (s *seat) leave() {
	s.credit.Release()
	if s.gone != nil {
		s.gone()
	}
	*s = seat{}
}

// admit lets the turn in, now or when it is its user's turn. What was accepted
// before a restart is not refused.
func (t *turn) admit(c *otp.Context) {
	t.phase = admitting
	t.begins()
	t.life, t.gone = context.WithCancel(c.Context())
	if t.seat.take(c, t.o.doors.turns, admission.Ask{User: t.v.user, Life: t.life, Accepted: t.resumed}) {
		t.admitted(c, nil)
	}
}

// admitted goes on with a turn that has its credit. One that got none has done
// nothing: its request was not even written down.
func (t *turn) admitted(c *otp.Context, err error) {
	switch {
	case err == nil && t.resumed:
		t.proceed(c)
	case err == nil:
		t.phase = opening
		t.open(c)
	default:
		t.refuse(c, err)
	}
}

// refuse ends a turn that nothing is known of outside.
func (t *turn) refuse(c *otp.Context, err error) {
	if !errors.Is(err, ErrOverloaded) && !errors.Is(err, ErrCancelled) { // the wait itself broke
		err = t.o.doors.turns.Overloaded(t.v.user)
	}
	t.phase, t.err = closing, err
	t.v.over(c, t)
}

// dismiss gives back all that the turn holds.
func (t *turn) dismiss() {
	t.seat.leave()
	t.dropWants()
	if t.gone != nil {
		t.gone()
	}
}

// seated goes on with agents that waited for room.
func (t *turn) seated(c *otp.Context, m otp.TaskResult) {
	if mine, err := t.seat.came(m); mine {
		if t.phase == admitting {
			t.admitted(c, err)
		} else {
			t.comeBack(c, err)
		}
		return
	}
	for _, k := range t.members {
		mine, err := k.seat.came(m)
		switch {
		case !mine:
			continue
		case k.current().Done(): // it was cancelled meanwhile
			k.seat.leave()
		case k.agent != nil:
			t.reseated(c, k, err)
		case err != nil:
			t.failed(c, k, "there was no room for the agent: too many are at work; dispatch it again later")
		default:
			t.launch(c, k)
			t.release(c) // it may not have come up
		}
		return
	}
}

// room gets the agent its place, or leaves it pending until there is one.
func (t *turn) room(c *otp.Context, k *member) bool {
	return k.seat.take(c, t.o.doors.agents, admission.Ask{User: t.v.user, Life: t.life, Accepted: len(k.rounds) > 0})
}

// openTable holds the credits of the conversations that are open. It outlives
// the router, which watches their ends.
type openTable struct {
	mu   sync.Mutex
	held map[*openCredit]struct{}
}

type openCredit struct {
	id, user string
	credit   *admission.Credit
}

func (o *Orchestrator) openCredit(id, user string) (*openCredit, error) {
	credit, err := o.doors.conversations.Try(admission.Ask{User: user})
	if err != nil {
		return nil, err
	}
	e := &openCredit{id, user, credit}
	o.openings.mu.Lock()
	defer o.openings.mu.Unlock()
	if o.openings.held == nil {
		o.openings.held = map[*openCredit]struct{}{}
	}
	o.openings.held[e] = struct{}{}
	return e, nil
}

func (t *openTable) release(e *openCredit) {
	t.mu.Lock()
	delete(t.held, e)
	t.mu.Unlock()
	e.credit.Release()
}

func (t *openTable) all() []*openCredit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.held))
}
