package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/loop"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/orchestrator/telemetry"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// phase is how far a turn is.
type phase uint8

const (
	phaseAdmitting phase = iota // it waits for room
	phaseOpening                // the request is being written down; nothing runs
	phaseWorking                // its model is asked, its calls are made
	phaseClosing                // everything has ended; the answers are being written down
	phaseOver                   // its conversation may answer the callers
)

// String names the phase.
func (p phase) String() string {
	return [...]string{"admitting", "opening", "working", "closing", "over"}[p]
}

// origin is how a turn's request came.
type origin uint8

const (
	originNamed   origin = iota // its caller gave the id, and may have sent it before
	originFresh                 // the request was never sent before
	originResumed               // it was under way when an earlier process ended
)

// turnEnd is how a turn ended.
type turnEnd struct {
	answer   Reply // what the callers are sent
	err      error
	repeated bool // the request was answered before, and this is that answer
	unkept   bool // what is kept of the end isn't known, or that there is none
	outage   bool // because the store was down
}

// turn is the work on one request.
type turn struct {
	*turnNeeds
	id      string
	request string // its text
	waiters []waiter
	scope   skills.Scope
	desk    *sentinel.Desk
	opened  openRecord
	started time.Time

	phase     phase
	origin    origin
	abandoned bool // by its callers, while it was opening
	turnEnd
	loop    loop.Loop
	spent   llm.Spent // by the turn's own questions
	budgets spentBudgets
	filter  linkFilter
	secrets turnSecrets
	events  *eventLog // of the conversation
	stream  answerStream
	// proposed are the skills that calls were proposed under before a restart, by number:
	// they go the same way again.
	proposed map[int]string

	// workPlace is the turn's place among all that are worked on; life ends with the
	// turn, and with it whatever place the turn or its agents hold or wait for.
	workPlace
	placeRequests []placeRequest
	holds         bool            // a person is asked about a call of the turn's own
	life          context.Context //nolint:containedctx // it is the turn's, which outlives each call
	endLife       context.CancelFunc

	// sender is the trace of who sent the request, span the turn's own, began
	// when it was begun in this process.
	sender trace.SpanContext
	span   telemetry.Span
	began  time.Time

	agents   []*agentRun
	byID     map[string]*agentRun  // the same
	starting map[otp.Ref]*agentRun // whose processes are on their way up
	wait     *resultsWait
}

// waiter is a caller that is told how the turn ends. One that stays wants it
// to be finished though it may leave.
type waiter struct {
	token  string
	from   otp.From
	stays  bool
	credit *admission.Credit // that its caller holds
}

// newRequestTurn makes the turn of a request that is new. Its grant's id is made up:
// the ids of its calls are derived from it and were never used.
func newRequestTurn(n *turnNeeds, conversation string, m sendRequest, tainted bool, earlier earlierTurns) (*turn, error) {
	r := openRecord{
		V: recordVersion, Request: m.ID, Grant: sentinel.NewID(), Scope: m.Scope.List(), Tainted: tainted, Started: time.Now(),
		By: m.By, Principal: m.Principal, Context: m.Context, Assistant: m.Assistant, Intent: m.Intent,
	}
	if earlier.isEmpty() && len(m.History) > 0 {
		r.Imported, r.Tainted = importMessages(m.History), true
	}
	if len(m.Said) > 0 {
		r.Imported, r.Tainted = append(r.Imported, importMessages(m.Said)...), true
	}
	t, err := newTurn(n, conversation, m.User, m.Text, r, earlier)
	if err == nil && m.Fresh {
		t.origin = originFresh
	}
	return t, err
}

// newTurn makes a turn of what is kept of its request.
func newTurn(n *turnNeeds, conversation, user, text string, r openRecord, earlier earlierTurns) (*turn, error) {
	own, err := nativeScope(r.Intent)
	if err != nil {
		return nil, err
	}
	scope, err := skills.NewScope(r.Scope...)
	if err != nil {
		return nil, err
	}
	scope = n.parts.LeaveOutWithdrawn(scope)
	id := deriveTurnID(conversation, r.Request)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: r.Grant, User: user, Conversation: conversation, Turn: id, Agent: "orchestrator", Proposer: r.By,
		Principal: r.Principal, Intent: r.Intent.ID, IntentAction: r.Intent.Action,
		Mission: text, MissionBy: sentinel.ByUser, Request: &text, Scope: scope.Union(own), Tainted: r.Tainted,
		TaintedBefore: r.Tainted, Earlier: earlier.said,
	})
	if err != nil {
		return nil, err
	}
	desk := n.parts.Checkpoint.Numbered(g)
	desk.RecallEarlier(append(slices.Clip(earlier.strange), readImported(r.Imported)...))
	desk.RecallResults(earlier.results)
	t := &turn{turnNeeds: n, id: id, request: text, scope: scope, started: r.Started, opened: r, desk: desk,
		byID: map[string]*agentRun{}, starting: map[otp.Ref]*agentRun{},
		filter: linkFilter{n.parts, text}, secrets: turnSecrets{n.parts.Registry, scope}}
	t.loop = loop.New(t, t.buildLoopRules())
	prompt := cmp.Or(r.Assistant.Prompt, n.parts.Running().Orchestrator.Prompt)
	instructions := writeInstructions(prompt, n.parts.Registry, scope) + r.Assistant.describe() + r.Intent.describe() + describeUser(r.Context)
	t.loop.Begin(slices.Concat([]llm.Message{{Role: llm.RoleSystem, Content: instructions}}, earlier.messages, r.Imported))
	t.loop.Say(llm.Message{Role: llm.RoleUser, Content: text})
	t.loop.MarkSaved() // the request is a record of its own
	return t, nil
}

// onMessage takes the messages of a turn that is under way.
func (t *turn) onMessage(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case heldCall:
		t.onHeldCall(m)
	case otp.TaskResult:
		if kind := t.loop.TakeEnd(m.Ref); kind != loop.TaskNone {
			t.onTaskEnd(c, kind, m)
			return
		}
		t.onPlaceWaitEnd(c, m)
	case otp.Reply:
		t.onAgentStarted(c, m)
	case otp.Down:
		t.onAgentDown(c, m)
	case agents.Finished:
		t.onAgentFinished(c, m.Result)
	case agents.HelpWanted:
		t.onHelpWanted(c, m)
	case agents.HelpOver:
		t.onHelpOver(c, m)
	case turnTimeOver:
		t.onTimeCheck(c, m)
	case waveOver:
		t.onWaveOver(c, m)
	case waitOver:
		if t.wait != nil && t.wait == m.w {
			t.answerWait(c)
		}
	}
}

// startTask starts the one task that the turn waits for; its end is for onTaskEnd.
func (t *turn) startTask(c *otp.Context, kind loop.TaskKind, fn func(context.Context) (any, error)) {
	span := t.span
	t.loop.Start(c, kind, func(ctx context.Context) (any, error) { return fn(span.In(ctx)) })
}

// requestAdmission lets the turn in, now or when it is its user's turn. What was accepted
// before a restart is not refused.
func (t *turn) requestAdmission(c *otp.Context) {
	t.phase = phaseAdmitting
	t.startSpan()
	t.life, t.endLife = context.WithCancel(c.Context())
	if t.place.takeOrWait(c, t.pools.turns, t.newAsk(t.origin == originResumed)) {
		t.onAdmission(c, nil)
	}
}

// onAdmission goes on with a turn that has its credit. One that got none has done
// nothing: its request was not even written down.
func (t *turn) onAdmission(c *otp.Context, err error) {
	switch {
	case err == nil && t.origin == originResumed:
		t.resumeWork(c)
	case err == nil:
		t.phase = phaseOpening
		t.writeRequest(c)
	default:
		t.refuseUnbegun(err)
	}
}

// refuseUnbegun ends a turn that nothing is known of outside.
func (t *turn) refuseUnbegun(err error) {
	if !errors.Is(err, ErrOverloaded) && !errors.Is(err, ErrCancelled) { // the wait itself broke
		err = t.pools.turns.Overloaded(t.desk.Grant().User())
	}
	t.phase, t.err = phaseOver, err
}

// resumeWork goes on with a turn that was restored, now that there is room for it.
func (t *turn) resumeWork(c *otp.Context) {
	t.phase = phaseWorking
	t.scheduleTimeCheck(c)
	t.startReadyAgents(c)
	t.tune.reachPlace("resume")
	if t.loop.Records == 0 {
		t.loop.Ask(c)
		return
	}
	t.loop.Next(c)
}

type (
	turnBegun    struct{}
	turnTimeOver struct{ t *turn }
)

// writeRequest writes the request down before anything is done about it. One that was
// sent before and has ended is not begun again: its end is what is answered.
func (t *turn) writeRequest(c *otp.Context) {
	journal, about, fresh := &t.journal, t.turnKey(), t.origin == originFresh
	items := []history.Item{{Kind: keptRequest, Data: []byte(t.request)}, history.NewItem(recordOpen, t.opened)}
	t.tune.reachPlace("open")
	t.startTask(c, loop.TaskJournal, func(ctx context.Context) (any, error) {
		if !fresh {
			end, err := journal.readEnd(ctx, about, t.request)
			if err != nil || end != nil {
				return end, err
			}
		}
		return turnBegun{}, journal.Begin(ctx, about, items...)
	})
}

// onRequestWritten starts the work on a request that is durable.
func (t *turn) onRequestWritten(c *otp.Context, m otp.TaskResult) {
	switch v := m.Value.(type) {
	case turnBegun:
		t.phase = phaseWorking
		t.spending.markCounted(t.id)
		if t.abandoned {
			t.finishTurn(c, "", ErrCancelled)
			return
		}
		t.scheduleTimeCheck(c)
		t.loop.Ask(c)
	case *endRecord:
		t.phase, t.answer, t.err, t.repeated = phaseOver, v.Reply, failureFromCode(v.Failure), true
	default:
		t.phase, t.err, t.outage = phaseOver, ErrNotKept, history.Down(m.Err)
		t.unkept = t.outage || errors.Is(m.Err, history.ErrUnderWay) // then the journal knows more than this process
		switch {
		case errors.Is(m.Err, ErrRequest):
			t.err = m.Err
		case errors.Is(m.Err, history.ErrOwner):
			t.err = ErrOtherUser
		}
	}
}

// buildLoopRules returns the rules of a turn's questions and answers.
func (t *turn) buildLoopRules() loop.Rules {
	return loop.Rules{
		LastQuestion: maxRounds,
		Nudge:        "Your answer was empty. Call a tool, or answer the user in plain text.", NudgeWithoutTools: true,
		IsWhole:    func(finish string) bool { return finish != "length" && finish != "content_filter" },
		OrderCalls: orderDispatches, Prejudger: t.desk,
	}
}

// PrepareQuestion implements loop.Asker.
func (t *turn) PrepareQuestion() loop.Question {
	r := llm.Request{Messages: t.loop.EchoMessages()}
	if !t.loop.WithoutTools {
		r.Tools = listTools()
	}
	if t.events.isRead() {
		r.Follow = t.stream.beginQuestion(t.filter.flowOf(t.desk.Tainted()))
	}
	t.tune.reachPlace("think")
	model, who, span := t.models.pickModel(t.opened.Assistant.Orchestrator, t.models.orchestrator), t.callerOfQuestion(), t.span
	spent := t.checkTokensBound()
	return loop.Question{Request: r, Chat: func(ctx context.Context, r llm.Request) (llm.Response, error) {
		if spent != nil {
			return llm.Response{}, spent
		}
		return model.Chat(llm.WithCaller(span.In(ctx), who), r)
	}}
}

// NoteAnswer implements loop.Asker. What was refused for a while may have room again.
func (t *turn) NoteAnswer(llm.Response) { t.budgets.renew() }

// callerOfQuestion is on whose behalf the turn's next question is asked.
func (t *turn) callerOfQuestion() llm.Caller {
	who := callerOf(t.desk.Grant(), "", &t.spent)
	who.ID = fmt.Sprintf("%s:%d", t.desk.Grant().ID(), t.loop.Questions)
	return who
}

// onTaskEnd takes the end of what the turn was doing, by its phase.
func (t *turn) onTaskEnd(c *otp.Context, kind loop.TaskKind, m otp.TaskResult) {
	switch t.phase {
	case phaseOpening:
		t.onRequestWritten(c, m)
	case phaseWorking:
		if kind == loop.TaskJournal {
			t.noteRoundEnd(m.Err)
		}
		t.loop.OnTaskEnd(c, kind, m)
	case phaseClosing:
		_, bare := m.Value.(withoutTexts)
		if (bare || m.Err != nil) && (t.err == nil || errors.Is(t.err, ErrInterrupted)) {
			t.answer, t.err = Reply{}, ErrNotKept
		}
		t.phase, t.unkept, t.outage = phaseOver, m.Err != nil, history.Down(m.Err)
	}
}

// noteRoundEnd notes that the store has taken a round, or hasn't.
func (t *turn) noteRoundEnd(err error) {
	t.tune.reachPlace("saved")
	if err == nil {
		t.outages.forgetConversation(t.desk.Grant().Conversation())
	}
}

// Conclude implements loop.Ending: the turn ends with the model's answer.
func (t *turn) Conclude(c *otp.Context, r llm.Response) {
	t.loop.Say(llm.Message{Role: llm.RoleAssistant, Content: r.Content})
	t.finishTurn(c, r.Content, nil)
}

// Fail implements loop.Ending. A turn whose round can't be kept while the store is down is
// gone on with later.
func (t *turn) Fail(c *otp.Context, why error) {
	var kept *loop.RoundError
	var e *llm.Error
	switch {
	case errors.As(why, &kept) && history.Down(kept.Err):
		t.breakOff()
	case errors.As(why, &kept):
		t.finishTurn(c, "", ErrNotKept)
	case errors.Is(why, loop.ErrRefused):
		t.finishTurn(c, "", &ModelError{"refusal"})
	case errors.Is(why, loop.ErrEmpty):
		t.finishTurn(c, "", &ModelError{"empty"})
	case errors.As(why, &e):
		t.finishTurn(c, "", &ModelError{string(e.Kind)})
	default:
		t.finishTurn(c, "", &ModelError{"unavailable"})
	}
}

// PrepareRound implements loop.Book.
func (t *turn) PrepareRound(added loop.Round) func(context.Context) error {
	r := roundRecord{
		V: recordVersion, Number: added.Records, Proposed: added.Proposed, Questions: added.Questions,
		WithoutTools: added.WithoutTools, Nudged: added.Nudged, Omitted: added.Omitted, Tainted: t.desk.Tainted(),
		TaintedBefore: isTaintedBefore(t.desk.Grant()), Spent: readSpent(&t.spent),
	}
	r.Messages, r.Hidden = loop.HideMessages(added.Messages, t.secrets.hideCall)
	for _, k := range t.agents {
		if res := k.result(); res.State.Done() && !k.recorded {
			k.recorded = true
			r.Ended = append(r.Ended, res)
		}
		if k.helpWanted() != nil {
			r.Asking = append(r.Asking, k.args.AgentID)
		}
	}
	about, journal, span := t.turnKey(), &t.journal, t.span
	t.tune.reachPlace("save")
	return func(ctx context.Context) error {
		return journal.Add(span.In(ctx), about, history.NewItem(recordRound, r))
	}
}

// scheduleTimeCheck looks at the turn again when its time is over, and onTimeCheck ends it
// if no caller waits. A waiting caller has a deadline of its own, and so has a person who
// is asked.
func (t *turn) scheduleTimeCheck(c *otp.Context) { c.SendAfter(t.tune.turn, turnTimeOver{t}) }

// onTimeCheck ends a turn whose time is over and that no caller waits for.
func (t *turn) onTimeCheck(c *otp.Context, m turnTimeOver) {
	switch {
	case m.t != t || t.phase != phaseWorking:
	case len(t.waiters) > 0 || t.holds || t.away ||
		slices.ContainsFunc(t.agents, func(k *agentRun) bool { return k.currentState() == agents.AwaitingApproval }):
		t.scheduleTimeCheck(c)
	default:
		t.finishTurn(c, "", ErrInterrupted)
	}
}

// finishTurn finishes the turn: agents that still work are cancelled, then answers
// are written down, then the callers are told.
func (t *turn) finishTurn(c *otp.Context, text string, err error) {
	switch t.phase {
	case phaseClosing, phaseOver:
		return
	case phaseOpening: // whether it was written down isn't known yet
		t.abandoned = true
		return
	case phaseAdmitting:
		t.place.giveBack()
		if t.origin != originResumed { // nothing was done about it, or written down
			t.refuseUnbegun(err)
			return
		}
	}
	t.loop.Withdraw(c) // the end of the turn is written down
	t.loop.StopPrejudging(c)
	if t.wait != nil {
		c.CancelTimer(t.wait.timer)
		t.wait = nil
	}
	t.phase, t.err = phaseClosing, err
	t.dropPlaceRequests()
	t.stopAgents()
	items, about, journal, desk, omitted := t.buildEndItems(text), t.turnKey(), &t.journal, t.desk, t.countOmitted()
	bare := endRecord{V: recordVersion, Request: t.opened.Request, Failure: cmp.Or(codeOfFailure(err), failedNotKept)}
	t.tune.reachPlace("end")
	t.startTask(c, loop.TaskJournal, func(ctx context.Context) (any, error) {
		journal.endHeldCalls(ctx, about, desk, "", "its turn has ended")
		_ = desk.Omit(ctx, omitted) // where the store is away the end can't be kept either
		return journal.writeEnd(ctx, about, bare, items)
	})
}

// buildEndItems is what the journal keeps of the turn's end, for people and for callers
// that ask again. Callers are shown what the journal keeps.
func (t *turn) buildEndItems(text string) (items []history.Item) {
	for _, k := range t.agents {
		if !k.described.Load() {
			items = append(items, k.describeForPeople(t.filter, k.result()))
		}
	}
	end := endRecord{V: recordVersion, Request: t.opened.Request, Failure: codeOfFailure(t.err)}
	if t.err == nil {
		if said := t.loop.OwnMessages(); countBytes(said) <= maxHistoryBytes { // more is never shown again
			end.Messages, _ = loop.HideMessages(said, t.secrets.hideCall)
		}
		end.Imported = t.opened.Imported
		end.Reply, end.TaintedBefore = t.buildReply(text), isTaintedBefore(t.desk.Grant())
		for _, st := range t.listStrange() {
			end.Strange = append(end.Strange, strangeRecord{st.Skill, st.Result})
		}
		for _, r := range t.listResults() {
			end.Results = append(end.Results, writeResult(r))
		}
		record := fitEndRecord(&end)
		t.answer = end.Reply
		return append(items, history.Item{Kind: keptAnswer, Data: []byte(clipText(t.answer.Text, maxKept))}, record)
	}
	return append(items, history.NewItem(recordEnd, end))
}

// buildReply is the answer to the callers.
func (t *turn) buildReply(text string) Reply {
	r := Reply{Turn: t.id, Tainted: t.desk.Tainted(), Took: time.Since(t.started), Spent: t.sumSpending()}
	r.Text, r.Links = t.filter.defangLinks(r.Tainted, text)
	for _, k := range t.agents {
		res := k.result()
		text, n := t.filter.defangLinks(k.desk.Tainted(), res.Answer)
		res.Answer, r.Links = text, r.Links+n
		r.Agents = append(r.Agents, res)
	}
	return r
}

// sumSpending is what the turn and its agents have spent.
func (t *turn) sumSpending() Spent {
	s := readSpent(&t.spent)
	for _, k := range t.agents {
		s = s.plus(readSpent(&k.spent))
	}
	return s
}

// breakOff leaves a turn as the journal has it. Its agents end with its process.
// Its counts stay, as they do after a crash: it is the same turn that goes on.
func (t *turn) breakOff() {
	t.phase, t.err, t.unkept, t.outage, t.wait = phaseOver, ErrNotKept, true, true, nil
}

// isStillWanted reports whether the request is to be gone on with. One that was stopped or
// that failed is not, nor is one whose callers have all been told of the failure and asked
// for no more.
func (t *turn) isStillWanted() bool {
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

// followEvents has the turn tell what happens.
func (t *turn) followEvents(l *eventLog) {
	t.events, t.stream.log, t.stream.turn = l, l, t.id
	l.beginTurn(t.id, t.opened.Request)
}

// tellEnd tells how the turn ended. An end that was told before is nothing new.
func (t *turn) tellEnd() {
	switch {
	case t.repeated:
	case t.err != nil:
		t.stream.settle("")
		t.events.addEvent(Event{Kind: EventFailure, Turn: t.id, Error: DescribeError(t.err)})
	default:
		t.stream.settle(t.answer.Text)
		t.events.addEvent(Event{Kind: EventReply, Turn: t.id, Reply: &t.answer})
	}
}

// startSpan starts the span of a turn.
func (t *turn) startSpan() {
	t.began = time.Now()
	t.span = t.tel.Tracer().Turn(t.sender, t.origin == originResumed)
}

// reportTurnEnd tells of a turn whose work is over. One whose answer was known already
// was no work.
func (t *turn) reportTurnEnd() {
	if !t.repeated {
		t.tel.TurnEnded(t.span, turnResult(t.err), time.Since(t.began))
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

// describeStatus is what the turn is at.
func (t *turn) describeStatus() string {
	switch {
	case t.phase == phaseOpening:
		return statusOpening
	case t.phase == phaseClosing:
		return statusClosing
	case t.holds:
		return statusHeld
	case t.loop.Task() == loop.TaskJournal:
		return statusSaving
	case t.wait != nil:
		return statusWaiting
	case t.loop.Call.ID != "":
		return statusCalling
	}
	return statusAsking
}

// turnKey names the turn for the journal.
func (t *turn) turnKey() history.Turn {
	g := t.desk.Grant()
	return history.Turn{Conversation: g.Conversation(), User: g.User(), Turn: t.id, Tainted: g.Tainted()}
}

// listResults returns what the calls of a turn sent and brought, in the order of its agents.
// Secret arguments are hidden.
func (t *turn) listResults() []sentinel.PastResult {
	out := t.desk.Trace().ListResults()
	for _, k := range t.agents {
		out = append(out, k.desk.Trace().ListResults()...)
	}
	for i, r := range out {
		if shown, hidden := loop.Redact(t.secrets, r.Skill, []byte(r.Args)); hidden {
			out[i].Args = string(shown)
		}
	}
	return sentinel.KeepPastResults(out)
}

// listStrange returns the untrusted results of a turn, in the order of its agents.
func (t *turn) listStrange() []sentinel.Step {
	var out []sentinel.Step
	desks := []*sentinel.Desk{t.desk}
	for _, k := range t.agents {
		desks = append(desks, k.desk)
	}
	for _, d := range desks {
		past := d.Trace()
		for i := range past.Len() {
			st := past.Step(i)
			if !st.HasStrangers() {
				continue
			}
			if st.Trust == skills.Trusted {
				st.Result = past.StrangersText(i)
			}
			out = append(out, sentinel.Step{Skill: st.Skill, Result: st.Result, Trust: skills.Untrusted})
		}
	}
	return sentinel.KeepNewestResults(out)
}
