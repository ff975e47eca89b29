package orchestrator

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/orchestrator/telemetry"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// agentRun is one agent of the turn.
type agentRun struct {
	call  string // that dispatched it
	agent *agents.Agent
	args  dispatchArgs
	desk  *sentinel.Desk
	skill []*skills.Skill
	model agents.Model

	pid    otp.PID
	watch  otp.Ref
	mail   []any        // for a process that is still on its way up
	state  agents.State // of one that never ran, or whose process is gone
	reason string
	ended  *agents.Result
	help   *agents.HelpWanted
	clock  waveClock // of one that was started
	depth  int       // how many agents stand one behind the other before it

	workPlace       // its place among all agents at work
	later     []any // what an agent that is away is told once it has its place again
	spent     llm.Spent

	span    telemetry.Span
	since   time.Time // it was launched in this process
	counted bool      // metrics know its end

	recorded  bool        // the journal has its end in a round of the turn
	described atomic.Bool // people can read its end there
	// Of an agent that was at work before a restart: its rounds, what it was
	// told, and whether it waited for an answer. heard are the ids of what was
	// added to its context.
	rounds []agents.Round
	words  []orchestratorWord
	asked  bool
	heard  []string
}

// stopLate ends a process that came up too late.
func (k *agentRun) stopLate(m otp.Reply) {
	k.pid, _ = m.Value.(otp.PID)
	k.pid.Send(agents.Cancel{Reason: k.reason})
}

// addContext tells an agent that has not begun.
func (k *agentRun) addContext(w orchestratorWord) {
	k.args.Context = strings.TrimSpace(k.args.Context + "\n" + w.text)
	k.heard = append(k.heard, w.id)
}

// helpWanted returns the agent's request for help while it has no answer, else nil.
func (k *agentRun) helpWanted() *agents.HelpWanted {
	if k.help != nil && k.agent.State() != agents.AwaitingOrchestrator {
		k.help = nil // the agent got no answer in time and went on
	}
	return k.help
}

// sendToAgent gives the agent a message, as soon as its process is there.
func (k *agentRun) sendToAgent(msg any) {
	if k.pid.IsZero() {
		k.mail = append(k.mail, msg)
		return
	}
	k.pid.Send(msg)
}

// currentState is the agent's state as the turn knows it.
func (k *agentRun) currentState() agents.State { return k.result().State }

// result is what the agent has come to, as the turn knows it.
func (k *agentRun) result() agents.Result {
	switch {
	case k.ended != nil:
		return *k.ended
	case k.state != agents.Pending:
		return agents.Result{Agent: k.args.AgentID, State: k.state, Reason: k.reason}
	case k.agent != nil:
		r := k.agent.Result()
		if r.State.Done() { // its message is still on the way: the turn waits for that
			r.State = agents.Running
		}
		return r
	}
	return agents.Result{Agent: k.args.AgentID, State: agents.Pending}
}

// releaseClock lets the agent's clocks run again.
func (k *agentRun) releaseClock() {
	k.clock.start()
	k.sendToAgent(agents.Released{})
}

// reportEnd tells of an agent that has ended, once.
func (k *agentRun) reportEnd(tel *telemetry.Telemetry, state string) {
	if k.counted {
		return
	}
	k.counted = true
	took := time.Duration(0)
	if !k.since.IsZero() {
		took = time.Since(k.since)
	}
	tel.AgentEnded(k.span, state, took)
}

// returnToWork goes on with an agent that has its place again.
func (k *agentRun) returnToWork(w placeRequest) {
	k.away, k.parked = false, false
	if w.over {
		k.releaseClock()
	}
	for _, msg := range k.later {
		k.sendToAgent(msg)
	}
	k.later = nil
	w.from.Reply(nil, nil)
}

// giveUpPlace gives an agent's place back.
func (k *agentRun) giveUpPlace() {
	k.place.giveBack()
	k.away = true
}

// toldBefore is what an agent that goes on was told before.
func (k *agentRun) toldBefore() (updates []agents.Update, list []agents.Answer) {
	for _, w := range k.words {
		if w.answer {
			list = append(list, agents.Answer{ID: w.id, Text: w.text, Skills: w.skills})
		} else {
			updates = append(updates, agents.Update{ID: w.id, Text: w.text})
		}
	}
	return updates, list
}

// newModelCaller is the agent's model. One that was at work before a restart has spent
// what its last round says.
func (k *agentRun) newModelCaller() *modelCaller {
	a := &modelCaller{model: k.model, span: k.span, who: callerOf(k.desk.Grant(), k.desk.Grant().ID(), &k.spent)}
	if n := len(k.rounds); n > 0 {
		a.asked.Store(int64(k.rounds[n-1].Questions))
	}
	return a
}

// describeForModel is the agent as the orchestrator's model sees it.
func (k *agentRun) describeForModel() agentView {
	r := k.result()
	v := agentView{Result: r, Took: r.Took.Round(time.Millisecond).String()}
	if k.agent != nil {
		list := k.agent.Snapshot().Transcript
		v.Transcript = slices.Clone(list[max(0, len(list)-transcriptInView):])
	}
	if h := k.helpWanted(); h != nil {
		v.Help, v.HelpSkills = h.Reason, h.Skills
	}
	return v
}

// orchestratorWord is what the orchestrator said to an agent, by the id of the call.
type orchestratorWord struct {
	id, text string
	skills   []*skills.Skill
	answer   bool
}

// describeForPeople is an agent for people: links of a tainted one lead nowhere.
func (k *agentRun) describeForPeople(f linkFilter, r agents.Result) history.Item {
	tainted := k.desk.Tainted()
	plain := func(s string) string {
		s, _ = f.defangLinks(tainted, s)
		return clipText(s, maxKept/2)
	}
	return history.NewItem(keptAgent, map[string]any{
		"agent_id": r.Agent, "grant": k.desk.Grant().ID(), "mission": plain(k.args.Mission), "context": plain(k.args.Context),
		"state": r.State, "reason": r.Reason, "answer": plain(r.Answer),
	})
}
