package orchestrator

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/sentinel"
)

// maxHistory is how many messages of earlier turns the model is shown.
const maxHistory = 200

type (
	sendRequest struct{ ID, Text string }
	cancelTurn  struct{ ID string }
	heldCall    struct {
		Grant string
		Held  bool
	}
)

// conversation is one conversation's process. It owns the turn and its agents;
// models, calls and waits are goroutines that report back by message.
type conversation struct {
	o  *Orchestrator
	co ConversationOptions

	history []llm.Message
	tainted bool
	queue   []queued
	turn    *turn
}

type queued struct {
	req  sendRequest
	from otp.From
}

// Init starts an empty conversation.
func (v *conversation) Init(*otp.Context) error { return nil }

// Handle takes requests, the ends of model calls and skill calls, and what
// agents tell.
func (v *conversation) Handle(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case sendRequest:
		v.received(c, m)
	case cancelTurn:
		v.cancelled(c, m.ID)
	case nativeCall:
		v.native(c, m)
	case heldCall:
		v.held(m)
	case otp.TaskResult:
		if v.turn != nil && v.turn.busy && m.Ref == v.turn.task {
			v.turn.busy = false
			v.turn.ended(c, m)
		}
	case otp.Reply:
		if v.turn != nil {
			v.turn.launched(c, m)
		}
	case otp.Down:
		if v.turn != nil {
			v.turn.down(c, m)
		}
	case agents.Finished:
		if v.turn != nil {
			v.turn.finished(c, m.Result)
		}
	case agents.HelpWanted:
		if v.turn != nil {
			v.turn.wantsHelp(c, m)
		}
	case waitOver:
		if v.turn != nil {
			v.turn.waitOver(c, m)
		}
	}
}

// Terminate tells whoever still waits that there will be no answer.
func (v *conversation) Terminate(*otp.Context, otp.Reason) {
	if v.turn != nil {
		v.turn.from.Reply(nil, ErrClosed)
	}
	for _, q := range v.queue {
		q.from.Reply(nil, ErrClosed)
	}
}

func (v *conversation) received(c *otp.Context, m sendRequest) {
	if v.turn != nil {
		if len(v.queue) >= maxQueued {
			c.Reply(nil, ErrOverloaded)
			return
		}
		v.queue = append(v.queue, queued{m, c.From()})
		return
	}
	v.begin(c, m, c.From())
}

func (v *conversation) begin(c *otp.Context, m sendRequest, from otp.From) {
	t, err := newTurn(v, m, from)
	if err != nil {
		from.Reply(nil, err)
		return
	}
	v.turn = t
	t.think(c)
}

// over ends the turn: agents that still work are cancelled, the answer goes
// out, and the next request begins.
func (v *conversation) over(c *otp.Context, reply Reply, err error) {
	t := v.turn
	v.turn = nil
	t.stopAgents(c)
	v.o.parts.EndTurn(context.WithoutCancel(c.Context()), t.desk.Grant())
	v.tainted = v.tainted || t.desk.Tainted()
	if err == nil {
		v.history = t.messages[1:] // the instructions are written anew each turn
		if len(v.history) > maxHistory {
			v.history = trimmed(v.history)
		}
		t.from.Reply(reply, nil)
	} else {
		t.from.Reply(nil, err)
	}
	if len(v.queue) > 0 {
		next := v.queue[0]
		v.queue = slices.Delete(v.queue, 0, 1)
		v.begin(c, next.req, next.from)
	}
}

// trimmed drops the oldest turns whole: half a turn would leave answers to
// calls that nobody sees.
func trimmed(h []llm.Message) []llm.Message {
	cut := len(h) - maxHistory
	for cut < len(h) && h[cut].Role != llm.RoleUser {
		cut++
	}
	return slices.Clone(h[cut:])
}

func (v *conversation) cancelled(c *otp.Context, id string) {
	for i, q := range v.queue {
		if q.req.ID == id {
			v.queue = slices.Delete(v.queue, i, i+1)
			return
		}
	}
	if v.turn != nil && v.turn.id == id {
		if v.turn.busy {
			c.CancelTask(v.turn.task)
		}
		v.over(c, Reply{}, context.Canceled)
	}
}

// held stops and starts an agent's clock around a wait for a person.
func (v *conversation) held(m heldCall) {
	if v.turn == nil {
		return
	}
	for _, k := range v.turn.members {
		if k.desk.Grant().ID() == m.Grant && k.pid.Alive() {
			if m.Held {
				k.pid.Send(agents.Held{})
			} else {
				k.pid.Send(agents.Released{})
			}
		}
	}
}

// turn is the work on one request.
type turn struct {
	v        *conversation
	id       string
	from     otp.From
	request  string
	desk     *sentinel.Desk
	messages []llm.Message
	started  time.Time

	task   otp.Ref
	busy   bool
	calls  []llm.ToolCall // of the model's last answer, still to be done
	call   llm.ToolCall
	rounds int
	last   bool
	nudged bool

	members []*member
	wait    *waiting
	waits   int
}

func newTurn(v *conversation, m sendRequest, from otp.From) (*turn, error) {
	own, err := nativeScope()
	if err != nil {
		return nil, err
	}
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: newID(), User: v.co.User, Conversation: v.co.ID, Turn: m.ID, Agent: "orchestrator",
		Mission: m.Text, MissionBy: sentinel.ByUser, Request: &m.Text, Scope: v.co.Scope.Union(own), Tainted: v.tainted,
	})
	if err != nil {
		return nil, err
	}
	t := &turn{
		v: v, id: m.ID, from: from, request: m.Text, started: time.Now(),
		desk: v.o.parts.Checkpoint.Desk(g),
	}
	t.messages = append([]llm.Message{{Role: llm.RoleSystem, Content: v.o.instructions(v.co.Scope)}}, v.history...)
	t.messages = append(t.messages, llm.Message{Role: llm.RoleUser, Content: m.Text})
	return t, nil
}

func (t *turn) start(c *otp.Context, fn func(context.Context) (any, error)) {
	t.task, t.busy = c.Async(0, fn), true
}

// think asks the model what to do next.
func (t *turn) think(c *otp.Context) {
	if t.rounds++; t.rounds >= maxRounds {
		t.last = true
	}
	r := llm.Request{Messages: slices.Clone(t.messages)}
	if !t.last {
		r.Tools = t.v.o.tools()
	}
	t.start(c, func(ctx context.Context) (any, error) { return t.v.o.model.Chat(ctx, r) })
}

func (t *turn) ended(c *otp.Context, m otp.TaskResult) {
	switch r := m.Value.(type) {
	case llm.Response:
		if m.Err == nil {
			t.said(c, r)
			return
		}
	case toolDone:
		t.done(c, r.text)
		return
	}
	if t.call.ID != "" { // a tool's own goroutine broke
		t.done(c, `{"ok":false,"error":"internal","reason":"The tool failed; nothing was done."}`)
		return
	}
	kind := "unavailable"
	var e *llm.Error
	if errors.As(m.Err, &e) {
		kind = string(e.Kind)
	}
	t.v.over(c, Reply{}, &ModelError{kind})
}

func (t *turn) said(c *otp.Context, r llm.Response) {
	calls := uniqueIDs(r.ToolCalls)
	if t.last || r.FinishReason == "length" || r.FinishReason == "content_filter" {
		calls = nil
	}
	if len(calls) == 0 {
		t.concluded(c, r)
		return
	}
	t.messages = append(t.messages, llm.Message{Role: llm.RoleAssistant, Content: r.Content, ToolCalls: calls})
	t.calls = inOrder(calls)
	t.next(c)
}

// concluded ends the turn with the model's answer. One empty answer is let
// pass; a second ends the turn with a reason.
func (t *turn) concluded(c *otp.Context, r llm.Response) {
	switch {
	case r.Content != "":
		t.messages = append(t.messages, llm.Message{Role: llm.RoleAssistant, Content: r.Content})
		t.v.over(c, t.reply(r.Content), nil)
	case r.Refusal != "":
		t.v.over(c, Reply{}, &ModelError{"refusal"})
	case !t.nudged:
		t.nudged = true
		t.messages = append(t.messages, llm.Message{Role: llm.RoleUser, Content: "Your answer was empty. Call a tool, or answer the user in plain text."})
		t.think(c)
	default:
		t.v.over(c, Reply{}, &ModelError{"empty"})
	}
}

func (t *turn) reply(text string) Reply {
	r := Reply{Turn: t.id, Text: text, Tainted: t.desk.Tainted(), Took: time.Since(t.started)}
	for _, k := range t.members {
		r.Agents = append(r.Agents, k.result())
	}
	return r
}
