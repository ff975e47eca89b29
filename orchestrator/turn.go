package orchestrator

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/orchestrator/models"
	"github.com/vedette-dev/vedette/orchestrator/telemetry"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// phase is how far a turn is.
type phase uint8

const (
	opening phase = iota // the request is being written down; nothing runs
	working
	closing   // everything has ended; the answers are being written down
	admitting // before opening: it waits for room
)

// turn is the work on one request.
type turn struct {
	o       *Orchestrator
	v       *conversation
	id      string
	request string // its text
	waiters []waiter
	scope   skills.Scope
	desk    *sentinel.Desk
	opened  openRecord
	// messages are what the model is shown; from base on they are this turn's,
	// and up to saved the journal has them.
	messages    []llm.Message
	echo        []llm.Message // the same, as far as a model was shown them, in a form that servers take
	base, saved int
	texts       agents.Room                  // the room that this turn's messages leave
	omitted     int                          // calls that were not proposed
	budgets     map[budgetKind]refusedBudget // that are spent
	started     time.Time

	phase     phase
	answer    Reply // what closing sends
	err       error
	abandoned bool // by its callers, while it was opening
	repeated  bool // the request was answered before, and this is that answer
	fresh     bool // the request was never sent before
	resumed   bool // it was under way when an earlier process ended

	// seat is the turn's place among all that are worked on; life ends with the
	// turn, and with it whatever place the turn or its agents hold or wait for.
	seat   seat
	spent  models.Spent    // by the turn's own questions
	life   context.Context //nolint:containedctx // it is the turn's, which outlives each call
	gone   context.CancelFunc
	unkept bool // what is kept of its end isn't known, or that it has none
	outage bool // because the store was down

	task    otp.Ref
	busy    bool
	saving  bool           // the task is the journal's
	ahead   otp.Ref        // what is judged before its turn, zero if nothing is
	unread  bool           // calls are a new answer's
	calls   []llm.ToolCall // of the model's last answer, still to be done
	hidden  []string       // ids of those whose secrets an earlier process did not keep
	call    llm.ToolCall
	rounds  int
	records int // rounds in the journal
	invokes int // calls given to the desk
	last    bool
	nudged  bool
	nudge   bool // the next question to the model says that its answer was empty

	// sender is the trace of who sent the request, span the turn's own, since
	// when it was begun in this process.
	sender trace.SpanContext
	span   telemetry.Span
	since  time.Time

	members []*member
	byID    map[string]*member // the same
	wait    *waiting
	holds   bool // a person is asked about a call of the turn's own
	// parked is a call of the turn's own that was held and has not asked for the
	// turn's place since; away is a turn that has given its place back; wants are
	// those that need places before they go on.
	parked, away bool
	wants        []want
	// proposed are the skills that calls were proposed under before a restart,
	// by number: they go the same way again.
	proposed map[int]string
}

// waiter is a caller that is told how the turn ends. One that stays wants it
// to be finished though it may leave.
type waiter struct {
	token  string
	from   otp.From
	stays  bool
	credit *admission.Credit // that its caller holds
}

// begun makes the turn of a request that is new. Its grant's id is made up:
// the ids of its calls are derived from it and were never used.
func begun(v *conversation, m sendRequest) (*turn, error) {
	r := openRecord{
		V: recordVersion, Request: m.ID, Grant: newID(), Scope: m.Scope.List(), Tainted: v.tainted, Started: time.Now(),
	}
	return newTurn(v.o, v.id, v.user, m.Text, r, v.history)
}

// newTurn makes a turn of what is kept of its request.
func newTurn(o *Orchestrator, conversation, user, text string, r openRecord, earlier []llm.Message) (*turn, error) {
	own, err := nativeScope()
	if err != nil {
		return nil, err
	}
	scope, err := skills.NewScope(r.Scope...)
	if err != nil {
		return nil, err
	}
	id := turnID(conversation, r.Request)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: r.Grant, User: user, Conversation: conversation, Turn: id, Agent: "orchestrator",
		Mission: text, MissionBy: sentinel.ByUser, Request: &text, Scope: scope.Union(own), Tainted: r.Tainted,
	})
	if err != nil {
		return nil, err
	}
	t := &turn{o: o, id: id, request: text, scope: scope, started: r.Started, opened: r, desk: o.parts.Checkpoint.Numbered(g),
		byID: map[string]*member{}}
	t.messages = append([]llm.Message{{Role: llm.RoleSystem, Content: o.instructions(scope)}}, earlier...)
	t.base = len(t.messages)
	t.say(llm.Message{Role: llm.RoleUser, Content: text})
	t.saved = len(t.messages)
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
			return
		}
		t.seated(c, m)
	case otp.Down:
		t.down(c, m)
	case agents.Finished:
		t.finished(c, m.Result)
	case agents.HelpWanted:
		t.wantsHelp(c, m)
	case agents.HelpOver:
		t.helped(c, m)
	case unattended:
		t.attended(c, m)
	case waveOver:
		t.overdue(c, m)
	case waitOver:
		if t.wait != nil && t.wait == m.w {
			t.bring(c)
		}
	}
}

func (t *turn) start(c *otp.Context, fn func(context.Context) (any, error)) {
	span := t.span
	t.task, t.busy = c.Async(0, func(ctx context.Context) (any, error) { return fn(span.In(ctx)) }), true
}

// think asks the model what to do next.
func (t *turn) think(c *otp.Context) {
	t.foretold(c)
	if t.rounds++; t.rounds >= maxRounds {
		t.last = true
	}
	t.echo = append(t.echo, agents.EchoMessages(t.messages[len(t.echo):])...) // messages are only added to
	r := llm.Request{Messages: slices.Clip(t.echo)}
	if t.nudge {
		t.nudge = false
		r.Messages = append(r.Messages,
			llm.Message{Role: llm.RoleUser, Content: "Your answer was empty. Call a tool, or answer the user in plain text."})
	}
	if !t.last {
		r.Tools = t.o.tools()
	}
	t.o.at("think")
	model, who := t.o.model, t.asks()
	t.start(c, func(ctx context.Context) (any, error) { return model.Chat(models.WithCaller(ctx, who), r) })
}

// ended takes the end of what the turn was doing, by its phase.
func (t *turn) ended(c *otp.Context, m otp.TaskResult) {
	switch t.phase {
	case opening:
		t.begin(c, m)
	case working:
		if t.saving {
			t.savedRound(c, m)
			return
		}
		t.answered(c, m)
	case closing:
		_, bare := m.Value.(withoutTexts)
		if (bare || m.Err != nil) && (t.err == nil || errors.Is(t.err, ErrInterrupted)) {
			t.answer, t.err = Reply{}, ErrNotKept
		}
		t.unkept, t.outage = m.Err != nil, history.Down(m.Err)
		t.v.over(c, t)
	}
}

func (t *turn) answered(c *otp.Context, m otp.TaskResult) {
	var e *llm.Error
	switch r := m.Value.(type) {
	case llm.Response:
		t.said(c, r)
	case toolDone:
		t.noteRefusal(r.no, isNative(t.call.Name) || t.call.Name == toolDispatch || t.call.Name == toolUpdate)
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
	r.Content = agents.Cut(r.Content, agents.MaxAnswer)
	calls, left := agents.HearCalls(r.ToolCalls, t.messages)
	if t.last || r.FinishReason == "length" || r.FinishReason == "content_filter" {
		calls = nil
	}
	if len(calls) == 0 {
		t.concluded(c, r)
		return
	}
	t.omitted += left
	t.renewBudgets()
	t.say(llm.Message{Role: llm.RoleAssistant, Content: r.Content, ToolCalls: t.texts.FitCalls(calls)})
	t.calls, t.unread, t.hidden = inOrder(calls), true, nil
	t.save(c)
}

// concluded ends the turn with the model's answer. One empty answer is let
// pass; a second ends the turn with a reason.
func (t *turn) concluded(c *otp.Context, r llm.Response) {
	switch {
	case r.Content != "":
		t.say(llm.Message{Role: llm.RoleAssistant, Content: r.Content})
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
