package orchestrator

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/answers"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// errCancelled ends a turn whose caller has left: nobody reads it.
var errCancelled = errors.New("the caller left")

// phase is how far a turn is.
type phase uint8

const (
	opening phase = iota // the request is being written down; nothing runs
	working
	closing // everything has ended; the answers are being written down
)

// turn is the work on one request.
type turn struct {
	v        *conversation
	id       string
	from     otp.From
	scope    skills.Scope
	desk     *sentinel.Desk
	messages []llm.Message
	started  time.Time

	phase  phase
	answer Reply // what closing sends
	err    error

	task   otp.Ref
	busy   bool
	calls  []llm.ToolCall // of the model's last answer, still to be done
	call   llm.ToolCall
	rounds int
	last   bool
	nudged bool
	nudge  bool // the next question to the model says that its answer was empty

	members []*member
	wait    *waiting
}

func newTurn(v *conversation, m sendRequest, from otp.From) (*turn, error) {
	own, err := nativeScope()
	if err != nil {
		return nil, err
	}
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: newID(), User: v.user, Conversation: v.id, Turn: m.ID, Agent: "orchestrator",
		Mission: m.Text, MissionBy: sentinel.ByUser, Request: &m.Text, Scope: m.Scope.Union(own), Tainted: v.tainted,
	})
	if err != nil {
		return nil, err
	}
	t := &turn{
		v: v, id: m.ID, from: from, scope: m.Scope, started: time.Now(), desk: v.o.parts.Checkpoint.Desk(g),
	}
	t.messages = append([]llm.Message{{Role: llm.RoleSystem, Content: v.o.instructions(m.Scope)}}, v.history...)
	t.messages = append(t.messages, llm.Message{Role: llm.RoleUser, Content: m.Text})
	return t, nil
}

// handle takes the messages of a turn that is under way.
func (t *turn) handle(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case heldCall:
		t.held(m)
	case otp.TaskResult:
		if t.busy && m.Ref == t.task {
			t.busy = false
			t.ended(c, m)
		}
	case otp.Down:
		t.down(c, m)
	case agents.Finished:
		t.finished(c, m.Result)
	case agents.HelpWanted:
		t.wantsHelp(c, m)
	case waitOver:
		if t.wait != nil && t.wait == m.w {
			t.bring(c)
		}
	}
}

func (t *turn) start(c *otp.Context, fn func(context.Context) (any, error)) {
	t.task, t.busy = c.Async(0, fn), true
}

// open writes the request down before anything is done about it.
func (t *turn) open(c *otp.Context) {
	parts, g := t.v.o.parts, t.desk.Grant()
	request, _ := g.Request()
	t.start(c, func(ctx context.Context) (any, error) { return nil, parts.Keep(ctx, g, keptRequest, request) })
}

// think asks the model what to do next.
func (t *turn) think(c *otp.Context) {
	if t.rounds++; t.rounds >= maxRounds {
		t.last = true
	}
	r := llm.Request{Messages: slices.Clone(t.messages)}
	if t.nudge {
		t.nudge = false
		r.Messages = append(r.Messages, llm.Message{Role: llm.RoleUser, Content: "Your answer was empty. Call a tool, or answer the user in plain text."})
	}
	if !t.last {
		r.Tools = t.v.o.tools()
	}
	t.start(c, func(ctx context.Context) (any, error) { return t.v.o.model.Chat(ctx, r) })
}

// ended takes the end of what the turn was doing, by its phase.
func (t *turn) ended(c *otp.Context, m otp.TaskResult) {
	switch t.phase {
	case opening:
		if m.Err != nil {
			t.end(c, "", ErrNotKept)
			return
		}
		t.phase = working
		t.think(c)
	case working:
		t.answered(c, m)
	case closing:
		if m.Err != nil && t.err == nil {
			t.answer, t.err = Reply{}, ErrNotKept
		}
		t.v.over(c, t)
	}
}

func (t *turn) answered(c *otp.Context, m otp.TaskResult) {
	var e *llm.Error
	switch r := m.Value.(type) {
	case llm.Response:
		t.said(c, r)
	case toolDone:
		t.done(c, r.text)
	default:
		switch {
		case t.call.ID != "": // a tool's own goroutine broke
			t.done(c, `{"ok":false,"error":"internal","reason":"The tool failed; nothing was done."}`)
		case !errors.As(m.Err, &e):
			t.end(c, "", &ModelError{"unavailable"})
		case e.Code == llm.CodeEmpty:
			t.said(c, llm.Response{})
		default:
			t.end(c, "", &ModelError{string(e.Kind)})
		}
	}
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
		t.end(c, r.Content, nil)
	case r.Refusal != "":
		t.end(c, "", &ModelError{"refusal"})
	case !t.nudged:
		t.nudged, t.nudge = true, true
		t.think(c)
	default:
		t.end(c, "", &ModelError{"empty"})
	}
}

// end finishes the turn: agents that still work are cancelled, then answers
// are written down, then the caller is told.
func (t *turn) end(c *otp.Context, text string, err error) {
	if t.phase == closing {
		return
	}
	if t.busy {
		c.CancelTask(t.task)
		t.busy = false
	}
	if t.wait != nil {
		c.CancelTimer(t.wait.timer)
		t.wait = nil
	}
	unkept := t.phase == opening
	t.phase, t.err = closing, err
	t.stopAgents()
	t.v.o.parts.EndTurn(context.WithoutCancel(c.Context()), t.desk.Grant())
	if unkept {
		t.v.over(c, t)
		return
	}
	if err == nil {
		t.answer = t.reply(text)
		text = t.answer.Text // what is shown is what is kept
	}
	texts, parts, g := t.kept(text), t.v.o.parts, t.desk.Grant()
	t.start(c, func(ctx context.Context) (any, error) {
		for _, k := range texts {
			if err := parts.Keep(ctx, g, k.kind, k.text); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
}

func (t *turn) reply(text string) Reply {
	r := Reply{Turn: t.id, Text: text, Tainted: t.desk.Tainted(), Took: time.Since(t.started)}
	if r.Tainted {
		request, _ := t.desk.Grant().Request()
		r.Text, r.Links = answers.Defang(text, answers.Options{Allow: t.v.o.links, Request: request})
	}
	for _, k := range t.members {
		r.Agents = append(r.Agents, k.result())
	}
	return r
}

// The kinds of text that a turn leaves in the journal, each under the turn's
// id. A mission and what came of it are one item for each agent.
const (
	keptRequest = "request"
	keptAgent   = "agent"
	keptAnswer  = "answer"
	maxKept     = 1 << 20 // bytes of one text
)

type keptText struct{ kind, text string }

func (t *turn) kept(answer string) []keptText {
	var out []keptText
	for _, k := range t.members {
		r := k.result()
		out = append(out, keptText{keptAgent, encode(map[string]any{
			"agent_id": r.Agent, "grant": k.desk.Grant().ID(), "mission": k.args.Mission, "context": k.args.Context,
			"state": r.State, "reason": r.Reason, "answer": clip(r.Answer, maxKept/2),
		})})
	}
	if answer != "" {
		out = append(out, keptText{keptAnswer, clip(answer, maxKept)})
	}
	return out
}
