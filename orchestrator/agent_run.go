package orchestrator

import (
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/telemetry"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// member is one agent of the turn.
type member struct {
	turn  *turn
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
	clock  clock // of one that was started
	depth  int   // how many agents stand one behind the other before it

	seat seat // its place among all agents at work
	// parked is a call of it that was held and has not asked for the agent's
	// place since; away is an agent that has given its place back, and later is
	// what it is told once it has it again.
	parked, away bool
	later        []any
	spent        assembly.Spent

	span    telemetry.Span
	since   time.Time // it was launched in this process
	counted bool      // metrics know its end

	recorded  bool // the journal has its end in a round of the turn
	described flag // people can read its end there
	// Of an agent that was at work before a restart: its rounds, what it was
	// told, and whether it waited for an answer. heard are the ids of what was
	// added to its context.
	rounds []agents.Round
	words  []word
	asked  bool
	heard  []string
}

// addContext tells an agent that has not begun.
func (k *member) addContext(w word) {
	k.args.Context = strings.TrimSpace(k.args.Context + "\n" + w.text)
	k.heard = append(k.heard, w.id)
}

// wants returns the agent's request for help while it has no answer, else nil.
func (k *member) wants() *agents.HelpWanted {
	if k.help != nil && k.agent.State() != agents.AwaitingOrchestrator {
		k.help = nil // the agent got no answer in time and went on
	}
	return k.help
}

// send gives the agent a message, as soon as its process is there.
func (k *member) send(msg any) {
	if k.pid.IsZero() {
		k.mail = append(k.mail, msg)
		return
	}
	k.pid.Send(msg)
}

// current is the agent's state as the turn knows it.
func (k *member) current() agents.State { return k.result().State }

func (k *member) result() agents.Result {
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

// release lets the agent's clocks run again.
func (k *member) release() {
	k.clock.release()
	k.send(agents.Released{})
}

// tells tells of an agent that has ended, once.
func (k *member) tells(state string) {
	if k.counted {
		return
	}
	k.counted = true
	took := time.Duration(0)
	if !k.since.IsZero() {
		took = time.Since(k.since)
	}
	k.turn.o.tel.AgentEnded(k.span, state, took)
}

// comeBack goes on with an agent that has its place again.
func (k *member) comeBack(w want) {
	k.away, k.parked = false, false
	if w.over {
		k.release()
	}
	for _, msg := range k.later {
		k.send(msg)
	}
	k.later = nil
	w.from.Reply(nil, nil)
}

// stepAside gives an agent's place back.
func (k *member) stepAside() {
	k.seat.leave()
	k.away = true
}

// again is what an agent that goes on was told before.
func (k *member) again() (updates []agents.Update, list []agents.Answer) {
	for _, w := range k.words {
		if w.answer {
			list = append(list, agents.Answer{ID: w.id, Text: w.text, Skills: w.skills})
		} else {
			updates = append(updates, agents.Update{ID: w.id, Text: w.text})
		}
	}
	return updates, list
}

// asks is the agent's model. One that was at work before a restart has spent
// what its last round says.
func (k *member) asks() *asker {
	a := &asker{model: k.model, span: k.span, who: k.turn.caller(k.desk.Grant().ID(), &k.spent)}
	if n := len(k.rounds); n > 0 {
		a.asked.Store(int64(k.rounds[n-1].Rounds))
	}
	return a
}

func (k *member) view() view {
	r := k.result()
	v := view{Result: r, Took: r.Took.Round(time.Millisecond).String()}
	if k.agent != nil {
		list := k.agent.Snapshot().Transcript
		v.Transcript = slices.Clone(list[max(0, len(list)-transcriptInView):])
	}
	if h := k.wants(); h != nil {
		v.Help, v.HelpSkills = h.Reason, h.Skills
	}
	return v
}

// word is what the orchestrator said to an agent, by the id of the call.
type word struct {
	id, text string
	skills   []*skills.Skill
	answer   bool
}
