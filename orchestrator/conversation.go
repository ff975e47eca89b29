package orchestrator

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/skills"
)

// Bounds of the time in which a conversation reads the journal. What a crashed forerunner
// left running is part of that time; maxEarly callers may wait.
const (
	recallTime = 2 * time.Minute
	maxEarly   = 256
)

type (
	claim       struct{ User string } // answered with the number of requests under way
	sendRequest struct {
		ID, User, Text string
		By             string // who sends it in the user's name
		Principal      string // the id of who sends it
		Scope          skills.Scope
		Intent         allowedIntent
		Token          string // of the caller
		Stays          bool   // the request is worked on though the caller leaves
		Fresh          bool   // the id was made up for it: it was never sent before
		Trace          trace.SpanContext
		Context        string           // what the program says of the user
		History        []EarlierMessage // what the client says was said before
		Said           []EarlierMessage // the same, since the last answer
		Assistant      Assistant
		Credit         *admission.Credit
	}
	attach struct { // waits for a request that was sent before
		ID, User, Token string
		Credit          *admission.Credit
	}
	cancelTurn    struct{ ID, Token string }
	cancelRequest struct{ ID, User string } // for all who wait for it
	forgetAll     struct{ User string }     // of that user, or of any: what is kept is about to be purged
	heldCall      struct {
		Grant string
		Held  bool
	}
	idleTimeOver struct{}
)

// requestResult is the answer to sendRequest and attach.
type requestResult struct {
	reply Reply
	err   error
}

// conversation is one conversation's process. It owns the turn and its agents;
// models, calls and waits are goroutines that report back by message. What it
// must not lose is in the journal; it starts by reading that.
type conversation struct {
	*conversationNeeds
	id, user string
	crashed  bool // the one before it did, in this process
	orphan   bool // its history has no owner

	loading otp.Ref
	loaded  bool
	early   []callerMessage // what came before it had read the journal

	earlier   earlierTurns
	tainted   bool
	queue     []queuedRequest
	turn      *turn
	late      map[otp.Ref]*agentRun // agents of turns that are over, whose processes are on their way up
	idle      otp.Ref
	published *conversationStatus
	events    *eventLog
}

type callerMessage struct {
	msg  any
	from otp.From
}

type queuedRequest struct {
	req     sendRequest
	waiters []waiter
}

// Init begins to read what is kept of the conversation. Requests wait for it.
func (v *conversation) Init(c *otp.Context) error {
	v.late = map[otp.Ref]*agentRun{}
	recovery, id, user, crashed := v.recovery, v.id, v.user, v.crashed
	v.publishStatus()
	v.loading = c.Async(recallTime, func(ctx context.Context) (any, error) { return recovery.recallConversation(ctx, id, user, crashed) })
	return nil
}

// Handle takes requests, the ends of model calls and skill calls, and what
// agents tell.
func (v *conversation) Handle(c *otp.Context, msg any) {
	wasAway := v.turn.isAway()
	v.onMessage(c, msg)
	v.followTurn(c)
	if v.turn != nil {
		v.turn.giveBackIdlePlaces()
	}
	switch isAway := v.turn.isAway(); {
	case isAway && !wasAway:
		v.lendCredits()
	case wasAway && !isAway:
		v.reclaimCredits()
	}
	v.publishStatus()
}

// followTurn takes over what a turn has come to that is over. The next one may be over
// at once.
func (v *conversation) followTurn(c *otp.Context) {
	for v.turn != nil && v.turn.phase == phaseOver {
		v.onTurnOver(c, v.turn)
	}
}

// onMessage hands a message to what it is for.
func (v *conversation) onMessage(c *otp.Context, msg any) {
	if !v.loaded {
		v.onEarlyMessage(c, msg)
		return
	}
	switch m := msg.(type) {
	case claim, sendRequest, attach, cancelTurn, cancelRequest:
		v.onCallerMessage(c, callerMessage{m, c.From()})
	case forgetAll:
		v.onForgetAll(c, m)
	case nativeCall:
		v.onNativeCall(c, m)
	case placesWanted:
		v.onPlacesWanted(c, m)
	case otp.Reply:
		v.onAgentStarted(c, m)
	case idleTimeOver:
		if v.turn == nil {
			v.goToRest(c)
		}
	default:
		if v.turn != nil {
			v.turn.onMessage(c, msg)
		}
	}
}

// onCallerMessage takes what callers want.
func (v *conversation) onCallerMessage(c *otp.Context, q callerMessage) {
	switch m := q.msg.(type) {
	case claim:
		q.from.Reply(v.countPending(), v.checkOwner(m.User))
	case sendRequest:
		v.onRequest(c, m, q.from)
	case attach:
		v.onAttach(m, q.from)
	case cancelTurn:
		v.onCallerLeft(c, m)
	case cancelRequest:
		q.from.Reply(nil, v.cancelRequest(c, m))
	}
}

// onEarlyMessage keeps what is asked of a conversation that has not read yet what is kept.
func (v *conversation) onEarlyMessage(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case forgetAll:
		v.onForgetAll(c, m)
	case claim, sendRequest, attach, cancelTurn, cancelRequest:
		if len(v.early) >= maxEarly {
			c.Reply(nil, v.pools.turns.Busy("requests", len(v.early)))
			return
		}
		v.early = append(v.early, callerMessage{m, c.From()})
	case nativeCall, placesWanted: // of a turn that this process doesn't know yet
		c.Reply(nil, errGone)
	case otp.TaskResult:
		switch {
		case m.Ref != v.loading:
		case !v.hasAgentsRoom(c):
			c.SendAfter(roomTick, m)
		default:
			v.onRecalled(c, m)
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
		v.tune.reachPlace("no room yet")
	}
	return up
}

// onRecalled takes what is kept and does what was asked meanwhile. Without it
// nothing is done: the process ends, and the next request tries again.
func (v *conversation) onRecalled(c *otp.Context, m otp.TaskResult) {
	v.tune.reachPlace("recalled")
	early := v.early
	v.early = nil
	kept, ok := m.Value.(recalledConversation)
	if !ok {
		v.log.Error("a conversation can't be read", "conversation", v.id, "error", m.Err)
		for _, q := range early {
			q.from.Reply(nil, ErrNotKept)
		}
		c.Stop(otp.Normal())
		return
	}
	v.loaded, v.user, v.tainted, v.earlier, v.orphan = true, kept.user, kept.tainted, kept.earlier, kept.orphan
	v.idle = c.SendAfter(v.tune.idle, idleTimeOver{})
	if !v.orphan {
		v.events = v.eventLogs.openLog(v.user, v.id)
	}
	if v.turn = kept.turn; v.turn != nil {
		c.CancelTimer(v.idle)
		v.turn.followEvents(v.events)
		v.turn.origin, v.turn.phase = originResumed, phaseAdmitting
	}
	for _, q := range early {
		v.onCallerMessage(c, q)
		v.followTurn(c)
	}
	v.resumeTurn(c, kept.turn)
	for _, id := range v.abandoned.listRequests(v.id) { // whatever they had sent is in the mailbox before this
		c.Self().Send(cancelTurn{ID: id})
	}
}

// resumeTurn goes on with a turn that was under way. A turn whose caller has left by now
// is stopped before anything is done for it.
func (v *conversation) resumeTurn(c *otp.Context, t *turn) {
	switch {
	case t == nil || t.phase != phaseAdmitting: // or one that came early has stopped it
	case len(t.waiters) == 0 && v.abandoned.hasRequest(v.id, t.opened.Request):
		t.finishTurn(c, "", ErrCancelled)
	default:
		t.requestAdmission(c)
	}
}

// goToRest ends a process that has nothing to do. Everything is in the journal.
func (v *conversation) goToRest(c *otp.Context) {
	v.parts.EndConversation(context.WithoutCancel(c.Context()), v.user, v.id)
	c.Stop(otp.Normal())
}

// Terminate answers no caller. A caller that still waits hears of the end once the
// supervisor knows it, and asks the next incarnation.
func (v *conversation) Terminate(*otp.Context, otp.Reason) {
	v.statuses.removeStatus(v.id, v.published)
	v.eventLogs.closeLog(v.events)
}

// beginRequest begins the turn of a request.
func (v *conversation) beginRequest(c *otp.Context, q queuedRequest) {
	c.CancelTimer(v.idle)
	t, err := newRequestTurn(&v.turnNeeds, v.id, q.req, v.tainted, v.earlier)
	if err != nil {
		for _, w := range q.waiters {
			w.from.Reply(nil, err)
		}
		v.beginNextRequest(c)
		return
	}
	t.waiters, t.sender = q.waiters, q.req.Trace
	v.turn = t
	t.followEvents(v.events)
	t.requestAdmission(c)
}

// beginNextRequest begins the request that has waited longest.
func (v *conversation) beginNextRequest(c *otp.Context) {
	if err := v.ending.refuseIfEnding(); err != nil {
		v.refuseQueued(err)
	}
	if len(v.queue) == 0 {
		v.idle = c.SendAfter(v.tune.idle, idleTimeOver{})
		return
	}
	q := v.queue[0]
	v.queue = slices.Delete(v.queue, 0, 1)
	v.beginRequest(c, q)
}

// onTurnOver takes what the conversation keeps of a turn and answers its request.
func (v *conversation) onTurnOver(c *otp.Context, t *turn) {
	v.tune.reachPlace("over")
	t.reportTurnEnd()
	t.giveBackPlaces()
	v.turn = nil
	maps.Copy(v.late, t.starting)
	v.reclaimCredits()
	if !t.repeated && (!t.unkept || !t.isStillWanted()) {
		v.spending.forgetTurn(c.Context(), t.id, t.desk.Grant())
	}
	if !t.repeated {
		v.tainted = v.tainted || t.desk.Tainted()
		if t.err == nil {
			v.earlier = v.earlier.add(t)
		}
	}
	t.tellEnd()
	for _, w := range t.waiters {
		w.from.Reply(requestResult{t.answer, t.err}, nil)
	}
	if t.unkept {
		v.endUnwritten(c, t)
		return
	}
	v.outages.forgetConversation(v.id)
	v.abandoned.dropRequest(v.id, t.opened.Request)
	v.beginNextRequest(c)
}

// onAgentStarted learns that an agent's process came up.
func (v *conversation) onAgentStarted(c *otp.Context, m otp.Reply) {
	if k := v.late[m.Ref]; k != nil {
		delete(v.late, m.Ref)
		k.stopLate(m)
	} else if v.turn != nil {
		v.turn.onAgentStarted(c, m)
	}
}

// onNativeCall does what an allowed agent.* call of this turn asks for. One of a
// turn that is over comes too late, whatever runs now.
func (v *conversation) onNativeCall(c *otp.Context, m nativeCall) {
	t := v.turn
	if t != nil && t.phase == phaseAdmitting && t.origin == originResumed {
		c.Reply(nil, errGone)
		return
	}
	if t == nil || t.phase != phaseWorking || t.desk.Grant().ID() != m.grant {
		c.Reply(nil, newBadInput("the turn is over"))
		return
	}
	var text string
	var err error
	switch m.skill {
	case skillDispatch:
		text, err = t.dispatchAgent(c, m)
	case skillUpdate:
		text, err = t.updateAgent(c, m)
	case skillExtend:
		text, err = t.extendAgent(c, m)
	default:
		err = newBadInput("there is no such call")
	}
	c.Reply(text, err)
}

// endUnwritten ends a process that can't tell any more what the journal holds.
func (v *conversation) endUnwritten(c *otp.Context, t *turn) {
	if !t.isStillWanted() {
		v.recovery.noteUnwanted(t.id)
	}
	if t.outage {
		v.outages.noteBreak(v.id) // it is not the request's fault
	}
	v.refuseQueued(ErrNotKept)
	v.log.Error("a request waits for the database to come back", "conversation", v.id, "turn", t.id)
	v.recovery.requestWake(v.id, v.user)
	c.Stop(otp.Normal())
}

// onPlacesWanted takes the question of a call of this turn. One of a turn that is
// over comes too late.
func (v *conversation) onPlacesWanted(c *otp.Context, m placesWanted) {
	t := v.turn
	switch {
	case t != nil && t.phase == phaseClosing:
		c.Reply(nil, errWithdrawn)
		return
	case t == nil || t.phase != phaseWorking:
		c.Reply(nil, errGone)
		return
	}
	if t.desk.Grant().ID() == m.grant {
		t.requestPlace(c, placeRequest{from: c.From(), over: m.over})
		return
	}
	for _, k := range t.agents {
		if k.desk.Grant().ID() == m.grant && k.agent != nil && !k.currentState().Done() {
			t.requestPlace(c, placeRequest{k, c.From(), m.over})
			return
		}
	}
	c.Reply(nil, errGone)
}

// publishStatus puts up what the conversation is at.
func (v *conversation) publishStatus() {
	l := &conversationStatus{conversation: v.id, phase: statusIdle}
	t := v.turn
	switch {
	case !v.loaded:
		l.phase = statusReading
	case t != nil:
		l.phase, l.turn, l.request = t.describeStatus(), t.id, t.opened.Request
		for _, k := range t.agents {
			m := agentStatus{id: k.args.AgentID, agent: k.agent, state: cmp.Or(k.state, agents.Pending)}
			if k.ended != nil {
				m.agent, m.state = nil, k.ended.State
			}
			l.members = append(l.members, m)
		}
	}
	l.since = time.Now()
	if old := v.published; old != nil && old.phase == l.phase && old.turn == l.turn {
		l.since = old.since
	}
	v.published = l
	v.statuses.putStatus(l)
}

// recaller is what conversations need of the recovery.
type recaller interface {
	// recallConversation reads what is kept of a conversation, with the turn under way.
	recallConversation(ctx context.Context, id, user string, crashed bool) (recalledConversation, error)
	// noteUnwanted remembers a turn that the next recall is to give up.
	noteUnwanted(turn string)
	// requestWake asks that the conversation is woken, as soon as that can be.
	requestWake(id, user string)
}

// recalledConversation is a conversation as it was kept.
type recalledConversation struct {
	user    string
	tainted bool
	earlier earlierTurns
	turn    *turn // under way when the process ended
	orphan  bool  // there is history, and nothing says whose it is
}
