package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/loop"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// nativeScope are the orchestrator's own skills; none where the request's intent grants nothing: no agent works for it.
func nativeScope(a allowedIntent) (skills.Scope, error) {
	if a.Why != "" {
		return skills.NewScope()
	}
	return skills.NewScope("agent.*")
}

// findAgent returns the agent of that id, nil where none was dispatched.
func (t *turn) findAgent(id string) *agentRun { return t.byID[id] }

// dispatchAgent makes the agent and starts it, or leaves it waiting for those it
// depends on.
func (t *turn) dispatchAgent(c *otp.Context, m nativeCall) (string, error) {
	k, err := t.enlistAgent(m.call, m.args)
	if err != nil {
		return "", err
	}
	t.startReadyAgents(c)
	return loop.EncodeJSON(map[string]any{"ok": true, "agent_id": m.args.AgentID, "state": k.currentState()}), nil
}

// enlistAgent makes the agent, with a desk of its own. The same call made again
// finds the agent that it made.
func (t *turn) enlistAgent(call string, a dispatchArgs) (*agentRun, error) {
	if k := t.findAgent(a.AgentID); k != nil && k.call == call {
		return k, nil
	} else if k != nil {
		return nil, newBadInput("an agent %q was dispatched already; choose another id", a.AgentID)
	}
	for _, d := range a.DependsOn {
		if t.findAgent(d) == nil {
			return nil, newBadInput("it depends on %q, which was not dispatched (or depends on it in a circle)", clipText(d, 64))
		}
	}
	list, scope, err := t.resolveSkills(a.Skills)
	if err != nil {
		return nil, err
	}
	if err := t.checkAgentsBound(); err != nil {
		return nil, err
	}
	model := t.agentModel(a.Model)
	if model == nil {
		return nil, newBadInput("there is no model of that name; leave model out")
	}
	desk, err := t.desk.Child(sentinel.Child{
		ID: agentGrantID(t.desk.Grant().ID(), a.AgentID), Agent: a.AgentID, Mission: a.Mission, MissionBy: sentinel.ByOrchestrator,
		Scope: scope, Calls: t.boundCalls(a.MaxToolCalls),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", skills.ErrBadInput, err)
	}
	k := &agentRun{call: call, args: a, desk: desk, skill: list, model: model, state: agents.Pending,
		depth: t.measureDepth(a.DependsOn)}
	t.agents = append(t.agents, k)
	t.byID[a.AgentID] = k
	return k, nil
}

// newBadInput is an error that tells the model what was wrong with its call.
func newBadInput(format string, args ...any) error {
	return fmt.Errorf("%w: %s", skills.ErrBadInput, fmt.Sprintf(format, args...))
}

// resolveSkills resolves the names an agent is to be given.
func (t *turn) resolveSkills(names []string) ([]*skills.Skill, skills.Scope, error) {
	var list []*skills.Skill
	for _, n := range names {
		s, ok := t.parts.Registry.Get(n)
		if !ok || isNativeSkill(n) {
			return nil, skills.Scope{}, newBadInput("there is no skill %q that an agent can be given", clipText(n, 64))
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	scope, err := skills.NewScope(names...)
	if err != nil {
		return nil, skills.Scope{}, newBadInput("%v", err)
	}
	return list, scope, nil
}

// startReadyAgents starts every pending agent whose dependencies have completed and
// skips those whose dependencies will not.
func (t *turn) startReadyAgents(c *otp.Context) {
	if t.phase != phaseWorking {
		return
	}
	if t.away { // it goes on when it has its place again
		t.regainPlace(c)
		return
	}
	for again := true; again; {
		again = false
		for _, k := range t.agents {
			if k.currentState() != agents.Pending || k.agent != nil || k.place.task != 0 {
				continue
			}
			ready, failed := t.checkDependencies(k)
			switch {
			case len(k.rounds) > 0: // it was at work before a restart
				t.launchAgent(c, k)
				again = again || k.currentState().Done()
			case failed != nil:
				k.state = agents.Skipped
				k.reason = fmt.Sprintf("%s, which it depends on, is %s", failed.args.AgentID, failed.currentState())
				t.reportAgent(k)
				again = true // those that depend on it are skipped too
			case ready:
				t.launchAgent(c, k)
				again = again || k.currentState().Done() // it could not be started
			}
		}
	}
	t.answerWaitIfDone(c)
}

// checkDependencies reports whether all that the agent depends on have completed, and one
// that will not.
func (t *turn) checkDependencies(k *agentRun) (ready bool, failed *agentRun) {
	ready = true
	for _, d := range k.args.DependsOn {
		dep := t.findAgent(d)
		switch s := dep.currentState(); {
		case s == agents.Completed:
		case s.Done():
			return false, dep
		default:
			ready = false
		}
	}
	return ready, nil
}

// launchAgent starts the agent's process, once there is room for it. What it is
// given of agents it depends on carries their taint.
func (t *turn) launchAgent(c *otp.Context, k *agentRun) {
	if k.place.credit == nil && !t.takeAgentPlace(c, k) {
		return
	}
	var inputs []agents.Input
	for i, d := range k.args.DependsOn {
		if slices.Contains(k.args.DependsOn[:i], d) {
			continue
		}
		dep := t.findAgent(d)
		inputs = append(inputs, agents.Input{Agent: d, Answer: dep.result().Answer})
		k.desk.Hear(dep.desk)
	}
	updates, told := k.toldBefore()
	t.tune.reachPlace("launch")
	k.since, k.span = time.Now(), t.tel.Tracer().Agent(t.span)
	a, err := agents.New(agents.Options{
		Journal: agentJournal{&t.journal, t.filter, k}, Rounds: k.rounds, Updates: updates, Answers: told, Heard: k.heard,
		ID: k.args.AgentID, Mission: k.args.Mission, Context: k.args.Context, Inputs: inputs, Skills: k.skill,
		Lookup: t.parts.Registry.Get, Model: k.newModelCaller(), Invoker: t.placeDesk(k.desk, k.span),
		Calls: maxAgentCalls(t.boundCalls(k.args.MaxToolCalls), t.parts.Running().Limits.Agent), Parent: c.Self(),
		Timeout: t.tune.agent, HelpTimeout: t.tune.help,
	})
	sup, ok := c.System().Whereis(agentsName(t.desk.Grant().Conversation()))
	if err != nil || !ok {
		k.state, k.reason = agents.Failed, "the agent could not be started"
		t.reportAgent(k)
		return
	}
	k.agent, k.rounds = a, nil
	t.joinWave(c, k)
	t.starting[c.StartChild(sup, a.Spec(), 10*time.Second)] = k
}

// failUnstarted ends an agent that could not be started.
func (t *turn) failUnstarted(c *otp.Context, k *agentRun, reason string) {
	k.state, k.reason, k.agent = agents.Failed, reason, nil
	t.reportAgent(k)
	t.startReadyAgents(c)
}

// onAgentStarted learns the process of an agent.
func (t *turn) onAgentStarted(c *otp.Context, m otp.Reply) {
	k := t.starting[m.Ref]
	if k == nil {
		return
	}
	delete(t.starting, m.Ref)
	if k.currentState().Done() {
		k.stopLate(m)
		return
	}
	k.pid, _ = m.Value.(otp.PID)
	if m.Err != nil {
		t.failUnstarted(c, k, "the agent could not be started")
		return
	}
	k.watch = c.Monitor(k.pid)
	for _, msg := range k.mail {
		k.pid.Send(msg)
	}
	k.mail = nil
	t.reportAgent(k)
}

// maxAgentCalls is how many calls an agent may propose: what its dispatch says within the
// configured number, or that number.
func maxAgentCalls(asked int, l config.AgentLimits) int {
	return min(cmp.Or(asked, l.Default()), l.Ceiling(), agents.MaxCalls)
}

// onAgentFinished takes an agent's result. The agent's own state is what counts: the
// message may be that of an agent of an earlier turn with the same id.
func (t *turn) onAgentFinished(c *otp.Context, r agents.Result) {
	k := t.findAgent(r.Agent)
	if k == nil || k.agent == nil {
		return
	}
	if own := k.agent.Result(); own.State.Done() {
		t.takeAgentResult(c, k, own)
	}
}

// takeAgentResult ends an agent with its result, and starts those that waited for it.
func (t *turn) takeAgentResult(c *otp.Context, k *agentRun, r agents.Result) {
	if k.currentState().Done() {
		return
	}
	k.ended, k.help = &r, nil
	t.reportAgent(k)
	t.startReadyAgents(c)
}

// onAgentDown takes the end of an agent's process. One that ended without a result has
// crashed, and a crash is a result. It is not started again, which would repeat its
// effects.
func (t *turn) onAgentDown(c *otp.Context, m otp.Down) {
	if t.ending.closed.Load() {
		return // agents are stopped first; their request is gone on with by the next start
	}
	for _, k := range t.agents {
		if k.watch != m.Ref || k.currentState().Done() {
			continue
		}
		r := k.agent.Snapshot().Result
		if !r.State.Done() {
			r.State, r.Reason = agents.Failed, "the agent crashed"
			journal, about, desk := &t.journal, t.turnKey(), k.desk
			c.Async(0, func(ctx context.Context) (any, error) { // the turn's end does it again, where this one breaks
				journal.endHeldCalls(ctx, about, desk, desk.Grant().ID(), "its agent crashed")
				return nil, nil
			})
		}
		t.takeAgentResult(c, k, r)
	}
}

// onHelpWanted notes that an agent waits for an answer.
func (t *turn) onHelpWanted(c *otp.Context, m agents.HelpWanted) {
	if k := t.findAgent(m.Agent); k != nil && k.agent != nil && k.agent.Snapshot().Help == m.Reason {
		k.help = &m
		k.clock.stop() // until it goes on: others' time is not the wave's
		t.answerWaitIfDone(c)
	}
}

// onHelpOver lets an agent's clock run again, that waits for its orchestrator no more.
func (t *turn) onHelpOver(c *otp.Context, m agents.HelpOver) {
	k := t.findAgent(m.Agent)
	if k == nil || k.agent == nil || k.agent.State() == agents.AwaitingOrchestrator {
		return
	}
	k.clock.start()
	if k.away && !k.parked { // it went on by itself, so it needs its place
		t.requestPlace(c, placeRequest{k: k})
	}
}

// onHeldCall stops and starts an agent's clock around a wait for a person.
func (t *turn) onHeldCall(m heldCall) {
	if m.Grant == t.desk.Grant().ID() {
		t.holds, t.parked = m.Held, t.parked || m.Held
	}
	for _, k := range t.agents {
		switch {
		case k.desk.Grant().ID() != m.Grant || k.agent == nil:
		case m.Held:
			k.clock.stop()
			k.sendToAgent(agents.Held{})
			k.parked = true
			k.giveUpPlace()
		case !k.away: // one without its place goes on when it has it again
			k.releaseClock()
		}
	}
}

// updateAgent gives a working agent more information.
func (t *turn) updateAgent(c *otp.Context, m nativeCall) (string, error) {
	k := t.findAgent(m.args.AgentID)
	if k == nil || k.currentState().Done() {
		return "", newBadInput("no agent of that id is working")
	}
	t.writeToAgent(c, k, orchestratorWord{id: m.call, text: m.args.Message}, agents.Update{ID: m.call, Text: m.args.Message})
	return `{"ok":true}`, nil
}

// extendAgent answers a request for help and adds skills within the parent's grant.
func (t *turn) extendAgent(c *otp.Context, m nativeCall) (string, error) {
	k := t.findAgent(m.args.AgentID)
	if k == nil || k.currentState().Done() {
		return "", newBadInput("no agent of that id is working")
	}
	list, err := t.widenGrant(k, m.args)
	if err != nil {
		return "", err
	}
	k.help = nil
	t.writeToAgent(c, k, orchestratorWord{id: m.call, text: m.args.Message}, agents.Answer{ID: m.call, Text: m.args.Message, Skills: list})
	return `{"ok":true}`, nil
}

// widenGrant adds skills to an agent's grant, within the turn's own.
func (t *turn) widenGrant(k *agentRun, a dispatchArgs) ([]*skills.Skill, error) {
	list, scope, err := t.resolveSkills(a.Skills)
	if err != nil {
		return nil, err
	}
	if err := k.desk.Extend(scope); err != nil {
		return nil, newBadInput("%v", err)
	}
	for _, s := range list {
		if !slices.Contains(k.skill, s) {
			k.skill = append(k.skill, s)
		}
	}
	return list, nil
}

// writeToAgent gives an agent words of the orchestrator's model. The model may have read
// anything by now, so its taint is the agent's from here on.
func (t *turn) writeToAgent(c *otp.Context, k *agentRun, w orchestratorWord, msg any) {
	k.desk.Hear(t.desk)
	if k.agent == nil {
		k.addContext(w)
		return
	}
	if k.away && !k.parked { // it would go on with the answer at once
		k.later = append(k.later, msg)
		t.requestPlace(c, placeRequest{k: k})
		return
	}
	k.sendToAgent(msg)
}

// cancelAgent ends an agent at once.
func (t *turn) cancelAgent(c *otp.Context, k *agentRun, reason string) {
	if k.currentState().Done() {
		return
	}
	if k.agent == nil {
		k.state, k.reason = agents.Cancelled, reason
		t.reportAgent(k)
		t.startReadyAgents(c)
		return
	}
	r := k.agent.Snapshot().Result
	if !r.State.Done() { // otherwise its result is on the way, and stands
		r.State, r.Reason = agents.Cancelled, reason
		k.sendToAgent(agents.Cancel{Reason: reason})
	}
	t.takeAgentResult(c, k, r)
}

// stopAgents ends what still works when the turn is over.
func (t *turn) stopAgents() {
	for _, k := range t.agents {
		if k.currentState().Done() {
			continue
		}
		r := agents.Result{Agent: k.args.AgentID}
		if k.agent != nil {
			r = k.agent.Snapshot().Result
		}
		if !r.State.Done() {
			r.State, r.Reason = agents.Cancelled, "the turn ended"
			k.sendToAgent(agents.Cancel{Reason: r.Reason})
		}
		k.ended, k.reason = &r, r.Reason
		t.reportAgent(k)
	}
}

// reportAgent passes an agent's start or end on to Options.OnAgent and the tracer. An agent
// that ends gives its place back.
func (t *turn) reportAgent(k *agentRun) {
	r := k.result()
	if r.State.Done() {
		k.place.giveBack()
		k.reportEnd(t.tel, string(r.State))
	}
	t.events.addEvent(Event{Kind: EventAgent, Turn: t.id, Agent: &AgentEvent{r.Agent, r.State, r.Reason, r.Calls, r.Took}})
	t.watcher.tellAgentResult(t.desk.Grant().Conversation(), r)
}

// measureDepth is how many agents stand one behind the other before one that
// depends on those. A dependency was always dispatched earlier, so there is no
// circle, and its own depth is known.
func (t *turn) measureDepth(dependsOn []string) (n int) {
	for _, d := range dependsOn {
		if other := t.findAgent(d); other != nil {
			n = max(n, 1+other.depth)
		}
	}
	return n
}

// joinWave puts an agent that starts into its wave, with what is left of its time.
func (t *turn) joinWave(c *otp.Context, k *agentRun) {
	k.clock = waveClock{wave: wave{t.loop.Questions, k.depth}, left: t.tune.wave, running: t.tune.now(), now: t.tune.now}
	for _, other := range t.agents {
		if other != k && other.agent != nil && other.clock.wave == k.clock.wave {
			k.clock.left = other.clock.remains()
			return
		}
	}
	c.SendAfter(t.tune.wave, waveOver{t, k.clock.wave})
}

// onWaveOver asks agents whose wave's time is over for what they have. It looks again when
// the time of the next may be over.
func (t *turn) onWaveOver(c *otp.Context, m waveOver) {
	if m.t != t || t.phase != phaseWorking {
		return
	}
	next := time.Duration(-1)
	for _, k := range t.agents {
		if k.agent == nil || k.clock.wave != m.w || k.currentState().Done() {
			continue
		}
		if left := k.clock.remains(); left > 0 || k.clock.running.IsZero() {
			if left = max(left, t.tune.wave/100); next < 0 || left < next {
				next = left
			}
			continue
		}
		k.sendToAgent(agents.Interrupt{Reason: "the time of agents that were started together, " + t.tune.wave.String() + ", is over"})
		t.tune.reachPlace("wave_over")
	}
	if next >= 0 {
		c.SendAfter(next, m)
	}
}

// agentModel is the model of an agent whose dispatch names this one, nil where there is none.
func (t *turn) agentModel(name string) agents.Model {
	if name == "" {
		return t.models.pickModel(t.opened.Assistant.Agents, t.models.agents)
	}
	return t.models.findAgentModel(name)
}

// boundCalls is how many calls an agent may propose whose dispatch names this number.
func (t *turn) boundCalls(asked int) int {
	most := t.opened.Assistant.Bounds.Calls
	switch {
	case most == 0:
		return asked
	case asked == 0:
		asked = t.parts.Running().Limits.Agent.Default()
	}
	return min(asked, most)
}

// checkAgentsBound refuses an agent that the assistant has no room for.
func (t *turn) checkAgentsBound() error {
	if most := t.opened.Assistant.Bounds.Agents; most > 0 && len(t.agents) >= most {
		return newBadInput("a request may have %d agents here, and has them; answer with what you have", most)
	}
	return nil
}

// checkTokensBound is the error of a question for which the assistant has no tokens left.
func (t *turn) checkTokensBound() error {
	if most := t.opened.Assistant.Bounds.Tokens; most > 0 && t.sumSpending().Tokens >= most {
		return &llm.Error{Kind: llm.KindBudget, Code: llm.CodeSharedBudget}
	}
	return nil
}
