package orchestrator

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"cmp"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/skills"
)

// How long a conversation may take to read what is kept of it, what its crashed
// forerunner left running included, and how many may wait for that.
const (
	recallTime = 2 * time.Minute
	maxEarly   = 256
)

type (
	claim       struct{ User string } // answered with the number of requests under way
	sendRequest struct {
		ID, User, Text string
		Scope          skills.Scope
		Token          string // of the caller
		Stays          bool   // the request is worked on though the caller leaves
		Fresh          bool   // the id was made up for it: it was never sent before
		Trace          trace.SpanContext
		Credit         *admission.Credit
	}
	attach struct { // waits for a request that was sent before
		ID, User, Token string
		Credit          *admission.Credit
	}
	cancelTurn struct{ ID, Token string }
	heldCall   struct {
		Grant string
		Held  bool
	}
	idle struct{}
)

// outcome is the answer to sendRequest and attach.
type outcome struct {
	reply Reply
	err   error
}

// conversation is one conversation's process. It owns the turn and its agents;
// models, calls and waits are goroutines that report back by message. What it
// must not lose is in the journal; it starts by reading that.
type conversation struct {
	o        *Orchestrator
	id, user string
	crashed  bool // the one before it did, in this process
	orphan   bool // its history has no owner

	loading otp.Ref
	loaded  bool
	early   []question // what came before it had read the journal

	history []llm.Message
	tainted bool
	queue   []queued
	turn    *turn
	// starting are agents whose processes are on their way up, also those of a
	// turn that is over by now.
	starting map[otp.Ref]*member
	idle     otp.Ref
	shown    *look
}

type question struct {
	msg  any
	from otp.From
}

type queued struct {
	req     sendRequest
	waiters []waiter
}

// Init begins to read what is kept of the conversation. Requests wait for it.
func (v *conversation) Init(c *otp.Context) error {
	v.starting = map[otp.Ref]*member{}
	o, id, user, crashed := v.o, v.id, v.user, v.crashed
	v.show()
	v.loading = c.Async(recallTime, func(ctx context.Context) (any, error) { return o.recall(ctx, id, user, crashed) })
	return nil
}

// Handle takes requests, the ends of model calls and skill calls, and what
// agents tell.
func (v *conversation) Handle(c *otp.Context, msg any) {
	v.handle(c, msg)
	if v.turn != nil {
		v.turn.settle()
	}
	v.show()
}

func (v *conversation) handle(c *otp.Context, msg any) {
	if !v.loaded {
		v.wait(c, msg)
		return
	}
	switch m := msg.(type) {
	case claim, sendRequest, attach, cancelTurn:
		v.asked(c, question{m, c.From()})
	case nativeCall:
		v.native(c, m)
	case placesWanted:
		v.wantPlaces(c, m)
	case otp.Reply:
		v.started(c, m)
	case idle:
		if v.turn == nil {
			v.leave(c)
		}
	default:
		if v.turn != nil {
			v.turn.handle(c, msg)
		}
	}
}

// asked takes what callers want.
func (v *conversation) asked(c *otp.Context, q question) {
	switch m := q.msg.(type) {
	case claim:
		q.from.Reply(v.pending(), v.check(m.User))
	case sendRequest:
		v.received(c, m, q.from)
	case attach:
		v.attached(m, q.from)
	case cancelTurn:
		v.cancelled(c, m)
	}
}

// wait keeps what is asked of a conversation that has not read yet what is kept.
func (v *conversation) wait(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case claim, sendRequest, attach, cancelTurn:
		if len(v.early) >= maxEarly {
			c.Reply(nil, v.o.doors.turns.Busy("requests", len(v.early)))
			return
		}
		v.early = append(v.early, question{m, c.From()})
	case nativeCall, placesWanted: // of a turn that this process doesn't know yet
		c.Reply(nil, errGone)
	case otp.TaskResult:
		switch {
		case m.Ref != v.loading:
		case !v.hasAgentsRoom(c):
			c.SendAfter(roomTick, m)
		default:
			v.recalled(c, m)
		}
	}
}

// roomTick is how often a conversation looks whether its agents can be started.
const roomTick = 5 * time.Millisecond

// hasAgentsRoom reports whether the supervisor of the conversation's agents is up.
// It starts after this process, and a resumed turn may need it at once.
func (v *conversation) hasAgentsRoom(c *otp.Context) bool {
	_, up := c.System().Whereis(agentsName(v.id))
	if !up {
		v.o.at("no room yet")
	}
	return up
}

// recalled takes what is kept and does what was asked meanwhile. Without it
// nothing is done: the process ends, and the next request tries again.
func (v *conversation) recalled(c *otp.Context, m otp.TaskResult) {
	v.o.at("recalled")
	early := v.early
	v.early = nil
	kept, ok := m.Value.(memory)
	if !ok {
		v.o.log.Error("a conversation can't be read", "conversation", v.id, "error", m.Err)
		for _, q := range early {
			q.from.Reply(nil, ErrNotKept)
		}
		c.Stop(otp.Normal())
		return
	}
	v.loaded, v.user, v.tainted, v.history, v.orphan = true, kept.user, kept.tainted, kept.said, kept.orphan
	v.idle = c.SendAfter(v.o.tune.idle, idle{})
	if v.turn = kept.turn; v.turn != nil {
		c.CancelTimer(v.idle)
		v.turn.v, v.turn.resumed, v.turn.phase = v, true, admitting
	}
	for _, q := range early {
		v.asked(c, q)
	}
	v.resume(c, kept.turn)
	for _, id := range v.o.left.of(v.id) { // whatever they had sent is in the mailbox before this
		c.Self().Send(cancelTurn{ID: id})
	}
}

// resume goes on with a turn that was under way, unless its caller has left by
// now: it is stopped before anything is done for it.
func (v *conversation) resume(c *otp.Context, t *turn) {
	switch {
	case t == nil || t.phase != admitting: // or one that came early has stopped it
	case len(t.waiters) == 0 && v.o.left.has(v.id, t.opened.Request):
		t.end(c, "", ErrCancelled)
	default:
		t.admit(c)
	}
}

// leave ends a process that has nothing to do. Everything is in the journal.
func (v *conversation) leave(c *otp.Context) {
	v.o.parts.EndConversation(context.WithoutCancel(c.Context()), v.user, v.id)
	c.Stop(otp.Normal())
}

// Terminate answers no caller. A caller that still waits hears of the end once the
// supervisor knows it, and asks the next incarnation.
func (v *conversation) Terminate(*otp.Context, otp.Reason) { v.o.looks.CompareAndDelete(v.id, v.shown) }

func (v *conversation) begin(c *otp.Context, q queued) {
	c.CancelTimer(v.idle)
	t, err := begun(v, q.req)
	if err != nil {
		for _, w := range q.waiters {
			w.from.Reply(nil, err)
		}
		v.next(c)
		return
	}
	t.v, t.waiters, t.fresh, t.sender = v, q.waiters, q.req.Fresh, q.req.Trace
	v.turn = t
	t.admit(c)
}

// next begins the request that has waited longest.
func (v *conversation) next(c *otp.Context) {
	if err := v.o.admits(); err != nil {
		v.refuseQueued(err)
	}
	if len(v.queue) == 0 {
		v.idle = c.SendAfter(v.o.tune.idle, idle{})
		return
	}
	q := v.queue[0]
	v.queue = slices.Delete(v.queue, 0, 1)
	v.begin(c, q)
}

// over takes what the conversation keeps of a turn and answers its request.
func (v *conversation) over(c *otp.Context, t *turn) {
	v.o.at("over")
	t.tells()
	t.dismiss()
	v.turn = nil
	v.reclaimRequests()
	if !t.repeated && (!t.unkept || !t.wanted()) {
		t.forgetCounts(c)
	}
	if !t.repeated {
		v.tainted = v.tainted || t.desk.Tainted()
		if t.err == nil {
			v.history = trimmed(t.messages[1:]) // each turn writes its own instructions
		}
	}
	for _, w := range t.waiters {
		w.from.Reply(outcome{t.answer, t.err}, nil)
	}
	if t.unkept {
		v.unwritten(c, t)
		return
	}
	v.o.outages.over(v.id)
	v.o.left.drop(v.id, t.opened.Request)
	v.next(c)
}

// started learns the process of an agent.
func (v *conversation) started(c *otp.Context, m otp.Reply) {
	k := v.starting[m.Ref]
	if k == nil {
		return
	}
	delete(v.starting, m.Ref)
	k.pid, _ = m.Value.(otp.PID)
	switch {
	case v.turn != k.turn || k.current().Done():
		k.pid.Send(agents.Cancel{Reason: k.reason}) // it came up too late
	case m.Err != nil:
		k.turn.failed(c, k, "the agent could not be started")
	default:
		k.watch = c.Monitor(k.pid)
		for _, msg := range k.mail {
			k.pid.Send(msg)
		}
		k.mail = nil
		k.turn.told(k)
	}
}

// native does what an allowed agent.* call of this turn asks for. One of a
// turn that is over comes too late, whatever runs now.
func (v *conversation) native(c *otp.Context, m nativeCall) {
	t := v.turn
	if t != nil && t.phase == admitting && t.resumed {
		c.Reply(nil, errGone)
		return
	}
	if t == nil || t.phase != working || t.desk.Grant().ID() != m.grant {
		c.Reply(nil, bad("the turn is over"))
		return
	}
	var text string
	var err error
	switch m.skill {
	case skillDispatch:
		text, err = t.dispatch(c, m)
	case skillUpdate:
		text, err = t.tellAgent(c, m)
	case skillExtend:
		text, err = t.extend(c, m)
	default:
		err = bad("there is no such call")
	}
	c.Reply(text, err)
}

// unwritten ends a process that can't tell any more what the journal holds.
func (v *conversation) unwritten(c *otp.Context, t *turn) {
	if !t.wanted() {
		v.o.unwanted.Store(t.id, struct{}{})
	}
	if t.outage {
		v.o.outages.broke(v.id) // it is not the request's fault
	}
	v.refuseQueued(ErrNotKept)
	v.o.log.Error("a request waits for the database to come back", "conversation", v.id, "turn", t.id)
	v.o.again(v.id, v.user)
	c.Stop(otp.Normal())
}

// wantPlaces takes the question of a call of this turn. One of a turn that is
// over comes too late.
func (v *conversation) wantPlaces(c *otp.Context, m placesWanted) {
	t := v.turn
	switch {
	case t != nil && t.phase == closing:
		c.Reply(nil, errWithdrawn)
		return
	case t == nil || t.phase != working:
		c.Reply(nil, errGone)
		return
	}
	if t.desk.Grant().ID() == m.grant {
		t.need(c, want{from: c.From(), over: m.over})
		return
	}
	for _, k := range t.members {
		if k.desk.Grant().ID() == m.grant && k.agent != nil && !k.current().Done() {
			t.need(c, want{k, c.From(), m.over})
			return
		}
	}
	c.Reply(nil, errGone)
}

// show puts up what the conversation is at.
func (v *conversation) show() {
	l := &look{conversation: v.id, phase: phaseIdle}
	t := v.turn
	switch {
	case !v.loaded:
		l.phase = phaseReading
	case t != nil:
		l.phase, l.turn, l.request = t.at(), t.id, t.opened.Request
		for _, k := range t.members {
			m := memberLook{id: k.args.AgentID, agent: k.agent, state: cmp.Or(k.state, agents.Pending)}
			if k.ended != nil {
				m.agent, m.state = nil, k.ended.State
			}
			l.members = append(l.members, m)
		}
	}
	l.since = time.Now()
	if old := v.shown; old != nil && old.phase == l.phase && old.turn == l.turn {
		l.since = old.since
	}
	v.shown = l
	v.o.looks.Store(v.id, l)
}
