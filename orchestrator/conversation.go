package orchestrator

import (
	"fmt"
	"slices"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// What the model is shown of earlier turns, at most.
const (
	maxHistory      = 200
	maxHistoryBytes = 256 << 10
)

type (
	claim       struct{ User string } // answered with the number of requests under way
	sendRequest struct {
		ID, User, Text string
		Scope          skills.Scope
	}
	cancelTurn struct{ ID string }
	heldCall   struct {
		Grant string
		Held  bool
	}
	idle struct{}
)

// conversation is one conversation's process. It owns the turn and its agents;
// models, calls and waits are goroutines that report back by message.
type conversation struct {
	o        *Orchestrator
	id, user string

	history []llm.Message
	tainted bool
	queue   []queued
	turn    *turn
	// starting are agents whose processes are on their way up, also those of a
	// turn that is over by now.
	starting map[otp.Ref]*member
	idle     otp.Ref
}

type queued struct {
	req  sendRequest
	from otp.From
}

// Init starts an empty conversation.
func (v *conversation) Init(c *otp.Context) error {
	v.starting = map[otp.Ref]*member{}
	v.idle = c.SendAfter(v.o.tune.idle, idle{})
	return nil
}

// Handle takes requests, the ends of model calls and skill calls, and what
// agents tell.
func (v *conversation) Handle(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case claim:
		c.Reply(v.pending(), v.check(m.User))
	case sendRequest:
		v.received(c, m)
	case cancelTurn:
		v.cancelled(c, m.ID)
	case nativeCall:
		v.native(c, m)
	case otp.Reply:
		v.started(c, m)
	case idle:
		if v.turn == nil {
			c.Stop(otp.Normal())
		}
	default:
		if v.turn != nil {
			v.turn.handle(c, msg)
		}
	}
}

// Terminate answers nobody: whoever still waits is told of the end once the
// supervisor knows it, and finds the next incarnation when asking again.
func (v *conversation) Terminate(*otp.Context, otp.Reason) {}

// pending is how many requests have no answer yet.
func (v *conversation) pending() int {
	if v.turn == nil {
		return len(v.queue)
	}
	return len(v.queue) + 1
}

// check refuses everybody but the user who opened the conversation.
func (v *conversation) check(user string) error {
	if user != v.user {
		return fmt.Errorf("%w: the conversation belongs to another user", ErrRequest)
	}
	return nil
}

func (v *conversation) received(c *otp.Context, m sendRequest) {
	if err := v.check(m.User); err != nil {
		c.Reply(nil, err)
		return
	}
	if v.turn == nil {
		v.begin(c, queued{m, c.From()})
		return
	}
	if len(v.queue) >= maxQueued {
		c.Reply(nil, ErrOverloaded)
		return
	}
	v.queue = append(v.queue, queued{m, c.From()})
}

func (v *conversation) begin(c *otp.Context, q queued) {
	c.CancelTimer(v.idle)
	t, err := newTurn(v, q.req, q.from)
	if err != nil {
		q.from.Reply(nil, err)
		v.next(c)
		return
	}
	v.turn = t
	t.open(c)
}

// next begins the request that has waited longest.
func (v *conversation) next(c *otp.Context) {
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
	v.turn = nil
	v.tainted = v.tainted || t.desk.Tainted()
	if t.err == nil {
		v.history = trimmed(t.messages[1:]) // the instructions are written anew each turn
	}
	t.from.Reply(t.answer, t.err)
	v.next(c)
}

// trimmed drops the oldest turns whole: half a turn would leave answers to
// calls that nobody sees.
func trimmed(h []llm.Message) []llm.Message {
	n, size := len(h), 0
	for n > 0 && len(h)-n < maxHistory && size <= maxHistoryBytes {
		n--
		size += length(h[n])
	}
	if size > maxHistoryBytes {
		n++
	}
	for n < len(h) && n > 0 && h[n].Role != llm.RoleUser {
		n++
	}
	return slices.Clone(h[n:])
}

func length(m llm.Message) int {
	n := len(m.Content)
	for _, k := range m.ToolCalls {
		n += len(k.Name) + len(k.Arguments)
	}
	return n
}

func (v *conversation) cancelled(c *otp.Context, id string) {
	for i, q := range v.queue {
		if q.req.ID == id {
			v.queue = slices.Delete(v.queue, i, i+1)
			return
		}
	}
	if v.turn != nil && v.turn.id == id {
		v.turn.end(c, "", errCancelled)
	}
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
