package orchestrator

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"cmp"
	"fmt"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/orchestrator/answers"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/history"
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
	spent  assembly.Spent  // by the turn's own questions
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
	t.start(c, func(ctx context.Context) (any, error) { return model.Chat(assembly.As(ctx, who), r) })
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

type (
	began      struct{}
	unattended struct{ t *turn }
)

// open writes the request down before anything is done about it. One that was
// sent before and has ended is not begun again: its end is what is answered.
func (t *turn) open(c *otp.Context) {
	kept, about, fresh := t.o.kept, t.about(), t.fresh
	items := []history.Item{{Kind: keptRequest, Data: []byte(t.request)}, item(recordOpen, t.opened)}
	t.o.at("open")
	t.start(c, func(ctx context.Context) (any, error) {
		if !fresh {
			end, err := t.o.endOf(ctx, about, t.request)
			if err != nil || end != nil {
				return end, err
			}
		}
		return began{}, kept.Begin(ctx, about, items...)
	})
}

// begin starts the work on a request that is durable.
func (t *turn) begin(c *otp.Context, m otp.TaskResult) {
	switch v := m.Value.(type) {
	case began:
		t.phase = working
		t.o.counted.Store(t.id, struct{}{})
		if t.abandoned {
			t.end(c, "", ErrCancelled)
			return
		}
		t.watch(c)
		t.think(c)
	case *endRecord:
		t.phase, t.answer, t.err, t.repeated = closing, v.Reply, failureOf(v.Failure), true
		t.v.over(c, t)
	default:
		t.phase, t.err, t.outage = closing, ErrNotKept, history.Down(m.Err)
		t.unkept = t.outage || errors.Is(m.Err, history.ErrUnderWay) // then the journal knows more than this process
		switch {
		case errors.Is(m.Err, ErrRequest):
			t.err = m.Err
		case errors.Is(m.Err, history.ErrOwner):
			t.err = errOtherUser
		}
		t.v.over(c, t)
	}
}

// watch ends a turn that no caller waits for when the turn's time is over. A waiting
// caller has a deadline of its own, and so has a person who is asked.
func (t *turn) watch(c *otp.Context) { c.SendAfter(t.o.tune.turn, unattended{t}) }

func (t *turn) attended(c *otp.Context, m unattended) {
	switch {
	case m.t != t || t.phase != working:
	case len(t.waiters) > 0 || t.holds || t.away ||
		slices.ContainsFunc(t.members, func(k *member) bool { return k.current() == agents.AwaitingApproval }):
		t.watch(c)
	default:
		t.end(c, "", ErrInterrupted)
	}
}

// save writes the round down before any of its calls is made.
func (t *turn) save(c *otp.Context) {
	t.records++
	r := roundRecord{
		V: recordVersion, Number: t.records, Messages: t.messages[t.saved:], Invokes: t.invokes, Rounds: t.rounds,
		Last: t.last, Nudged: t.nudged, Omitted: t.omitted, Tainted: t.desk.Tainted(), Spent: spentOf(&t.spent),
	}
	r.Messages, r.Hidden = t.concealed(r.Messages)
	for _, k := range t.members {
		if res := k.result(); res.State.Done() && !k.recorded {
			k.recorded = true
			r.Ended = append(r.Ended, res)
		}
		if k.wants() != nil {
			r.Asking = append(r.Asking, k.args.AgentID)
		}
	}
	t.saved, t.saving = len(t.messages), true
	about, kept := t.about(), t.o.kept
	t.o.at("save")
	t.start(c, func(ctx context.Context) (any, error) { return began{}, kept.Add(ctx, about, item(recordRound, r)) })
}

func (t *turn) savedRound(c *otp.Context, m otp.TaskResult) {
	t.saving = false
	t.o.at("saved")
	if history.Down(m.Err) {
		t.breakOff(c)
		return
	}
	if m.Err != nil {
		t.end(c, "", ErrNotKept)
		return
	}
	t.o.outages.over(t.v.id)
	t.next(c)
}

// end finishes the turn: agents that still work are cancelled, then answers
// are written down, then the callers are told.
func (t *turn) end(c *otp.Context, text string, err error) {
	switch t.phase {
	case closing:
		return
	case opening: // whether it was written down isn't known yet
		t.abandoned = true
		return
	case admitting:
		t.seat.leave()
		if !t.resumed { // nothing was done about it, or written down
			t.refuse(c, err)
			return
		}
	}
	if t.busy {
		c.CancelTaskFor(t.task, skills.ErrWithdrawn) // the end of the turn is written down
		t.busy = false
	}
	t.foretold(c)
	if t.wait != nil {
		c.CancelTimer(t.wait.timer)
		t.wait = nil
	}
	t.phase, t.err, t.saving = closing, err, false
	t.dropWants()
	t.stopAgents()
	items, about, o, desk, omitted := t.ending(text), t.about(), t.o, t.desk, t.sumOmitted()
	bare := endRecord{V: recordVersion, Request: t.opened.Request, Failure: cmp.Or(failureCode(err), failedNotKept)}
	t.o.at("end")
	t.start(c, func(ctx context.Context) (any, error) {
		o.endHeldCalls(ctx, about, desk, "", "its turn has ended")
		_ = desk.Omit(ctx, omitted) // where the store is away the end can't be kept either
		return o.finish(ctx, about, bare, items)
	})
}

// ending is what the journal keeps of the turn's end, for people and for callers
// that ask again. Callers are shown what the journal keeps.
func (t *turn) ending(text string) (items []history.Item) {
	for _, k := range t.members {
		if !k.described.Load() {
			items = append(items, t.describe(k, k.result()))
		}
	}
	end := endRecord{V: recordVersion, Request: t.opened.Request, Failure: failureCode(t.err)}
	if t.err == nil {
		if said := t.messages[t.base:]; size(said) <= maxHistoryBytes { // more is never shown again
			end.Messages, _ = t.concealed(said)
		}
		end.Reply = t.reply(text)
		record := fitting(&end)
		t.answer = end.Reply
		return append(items, history.Item{Kind: keptAnswer, Data: []byte(clip(t.answer.Text, maxKept))}, record)
	}
	return append(items, item(recordEnd, end))
}

func (t *turn) reply(text string) Reply {
	r := Reply{Turn: t.id, Tainted: t.desk.Tainted(), Took: time.Since(t.started), Spent: t.sum()}
	r.Text, r.Links = t.defang(r.Tainted, text)
	for _, k := range t.members {
		res := k.result()
		text, n := t.defang(k.desk.Tainted(), res.Answer)
		res.Answer, r.Links = text, r.Links+n
		r.Agents = append(r.Agents, res)
	}
	return r
}

// breakOff leaves a turn as the journal has it. Its agents end with its process.
// Its counts stay, as they do after a crash: it is the same turn that goes on.
func (t *turn) breakOff(c *otp.Context) {
	t.phase, t.err, t.unkept, t.outage, t.wait = closing, ErrNotKept, true, true, nil
	t.v.over(c, t)
}

// wanted reports whether the request is to be gone on with: not one that was
// stopped, failed, or was sent by callers who have now been told that it did
// and asked for no more.
func (t *turn) wanted() bool {
	if !errors.Is(t.err, ErrNotKept) {
		return false
	}
	for _, w := range t.waiters {
		if w.stays {
			return true
		}
	}
	return len(t.waiters) == 0
}

// begins starts the span of a turn.
func (t *turn) begins() {
	t.since = time.Now()
	t.span = t.o.tel.Tracer().Turn(t.sender, t.resumed)
}

// tells tells of a turn whose work is over. One whose answer was known already
// was no work.
func (t *turn) tells() {
	if !t.repeated {
		t.o.tel.TurnEnded(t.span, turnResult(t.err), time.Since(t.since))
	}
}

// turnResult is an error of a turn as metrics know it.
func turnResult(err error) string {
	var m *ModelError
	switch {
	case err == nil:
		return "answered"
	case errors.As(err, &m):
		return "model_" + m.Kind
	case errors.Is(err, ErrOverloaded):
		return "overloaded"
	case errors.Is(err, ErrCancelled):
		return "cancelled"
	case errors.Is(err, ErrNotKept):
		return "not_kept"
	}
	return "interrupted"
}

// at is what the turn is at.
func (t *turn) at() string {
	switch {
	case t.phase == opening:
		return phaseOpening
	case t.phase == closing:
		return phaseClosing
	case t.holds:
		return phaseHeld
	case t.saving:
		return phaseSaving
	case t.wait != nil:
		return phaseWaiting
	case t.call.ID != "":
		return phaseCalling
	}
	return phaseAsking
}

// about names the turn for the journal.
func (t *turn) about() history.Turn {
	g := t.desk.Grant()
	return history.Turn{Conversation: g.Conversation(), User: g.User(), Turn: t.id, Tainted: g.Tainted()}
}

// defang makes links of a tainted text plain, as in the answer to the user.
func (t *turn) defang(tainted bool, text string) (string, int) {
	if !tainted {
		return text, 0
	}
	return answers.Defang(text, answers.Options{Allow: t.o.links, Request: t.request})
}

// describe is an agent for people: links of a tainted one lead nowhere.
func (t *turn) describe(k *member, r agents.Result) history.Item {
	tainted := k.desk.Tainted()
	plain := func(s string) string {
		s, _ = t.defang(tainted, s)
		return clip(s, maxKept/2)
	}
	return item(keptAgent, map[string]any{
		"agent_id": r.Agent, "grant": k.desk.Grant().ID(), "mission": plain(k.args.Mission), "context": plain(k.args.Context),
		"state": r.State, "reason": r.Reason, "answer": plain(r.Answer),
	})
}

// proceed goes on with a turn that was restored, now that there is room for it.
func (t *turn) proceed(c *otp.Context) {
	t.phase = working
	t.watch(c)
	t.release(c)
	t.o.at("resume")
	if t.records == 0 {
		t.think(c)
		return
	}
	t.next(c)
}

// asks is on whose behalf the turn's next question is asked.
func (t *turn) asks() assembly.Caller {
	who := t.caller("", &t.spent)
	who.ID = fmt.Sprintf("%s:%d", t.desk.Grant().ID(), t.rounds)
	return who
}

// sum is what the turn and its agents have spent.
func (t *turn) sum() Spent {
	s := spentOf(&t.spent)
	for _, k := range t.members {
		s = s.plus(spentOf(&k.spent))
	}
	return s
}

// forgetCounts drops what was counted for a turn that is not gone on with.
func (t *turn) forgetCounts(c *otp.Context) {
	t.o.parts.EndTurn(context.WithoutCancel(c.Context()), t.desk.Grant())
	t.o.counted.Delete(t.id)
}
