package orchestrator

import (
	"context"
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

// finished takes an agent's result. The agent's own state is what counts: the
// message may be that of an agent of an earlier turn with the same id.
func (t *turn) finished(c *otp.Context, r agents.Result) {
	k := t.member(r.Agent)
	if k == nil || k.agent == nil {
		return
	}
	if own := k.agent.Result(); own.State.Done() {
		t.ends(c, k, own)
	}
}

func (t *turn) ends(c *otp.Context, k *member, r agents.Result) {
	if k.current().Done() {
		return
	}
	k.ended, k.help = &r, nil
	t.told(k)
	t.release(c)
}

// down takes the end of an agent's process: one that ended without a result
// has crashed, and a crash is a result. It is not started again, which would
// repeat its effects.
func (t *turn) down(c *otp.Context, m otp.Down) {
	if t.o.closed.Load() {
		return // agents are stopped first; their request is gone on with by the next start
	}
	for _, k := range t.members {
		if k.watch != m.Ref || k.current().Done() {
			continue
		}
		r := k.agent.Snapshot().Result
		if !r.State.Done() {
			r.State, r.Reason = agents.Failed, "the agent crashed"
			o, about, desk := t.o, t.about(), k.desk
			c.Async(0, func(ctx context.Context) (any, error) { // the turn's end does it again, where this one breaks
				o.endHeldCalls(ctx, about, desk, desk.Grant().ID(), "its agent crashed")
				return nil, nil
			})
		}
		t.ends(c, k, r)
	}
}

func (t *turn) wantsHelp(c *otp.Context, m agents.HelpWanted) {
	if k := t.member(m.Agent); k != nil && k.agent != nil && k.agent.Snapshot().Help == m.Reason {
		k.help = &m
		k.clock.hold() // until it goes on: others' time is not the wave's
		t.check(c)
	}
}

// helped lets an agent's clock run again, that waits for its orchestrator no more.
func (t *turn) helped(c *otp.Context, m agents.HelpOver) {
	k := t.member(m.Agent)
	if k == nil || k.agent == nil || k.agent.State() == agents.AwaitingOrchestrator {
		return
	}
	k.clock.release()
	if k.away && !k.parked { // it went on by itself, so it needs its place
		t.need(c, want{k: k})
	}
}

// held stops and starts an agent's clock around a wait for a person.
func (t *turn) held(m heldCall) {
	if m.Grant == t.desk.Grant().ID() {
		t.holds, t.parked = m.Held, t.parked || m.Held
	}
	for _, k := range t.members {
		switch {
		case k.desk.Grant().ID() != m.Grant || k.agent == nil:
		case m.Held:
			k.clock.hold()
			k.send(agents.Held{})
			k.parked = true
			k.stepAside()
		case !k.away: // one without its place goes on when it has it again
			k.release()
		}
	}
}

// release lets the agent's clocks run again.
func (k *member) release() {
	k.clock.release()
	k.send(agents.Released{})
}

func (t *turn) tellAgent(c *otp.Context, m nativeCall) (string, error) {
	k := t.member(m.args.AgentID)
	if k == nil || k.current().Done() {
		return "", bad("no agent of that id is working")
	}
	t.write(c, k, word{id: m.call, text: m.args.Message}, agents.Update{ID: m.call, Text: m.args.Message})
	return `{"ok":true}`, nil
}

// extend answers a request for help and adds skills within the parent's grant.
func (t *turn) extend(c *otp.Context, m nativeCall) (string, error) {
	k := t.member(m.args.AgentID)
	if k == nil || k.current().Done() {
		return "", bad("no agent of that id is working")
	}
	list, err := t.widen(k, m.args)
	if err != nil {
		return "", err
	}
	k.help = nil
	t.write(c, k, word{id: m.call, text: m.args.Message}, agents.Answer{ID: m.call, Text: m.args.Message, Skills: list})
	return `{"ok":true}`, nil
}

// widen adds skills to an agent's grant, within the turn's own.
func (t *turn) widen(k *member, a dispatchArgs) ([]*skills.Skill, error) {
	list, scope, err := t.grantable(a.Skills)
	if err != nil {
		return nil, err
	}
	if err := k.desk.Extend(scope); err != nil {
		return nil, bad("%v", err)
	}
	for _, s := range list {
		if !slices.Contains(k.skill, s) {
			k.skill = append(k.skill, s)
		}
	}
	return list, nil
}

// write gives an agent words of the orchestrator's, who may have read anything
// by now: its taint is the agent's from here on.
func (t *turn) write(c *otp.Context, k *member, w word, msg any) {
	k.desk.Hear(t.desk)
	if t.desk.Tainted() {
		k.desk.Taint()
	}
	if k.agent == nil {
		k.addContext(w)
		return
	}
	if k.away && !k.parked { // it would go on with the answer at once
		k.later = append(k.later, msg)
		t.need(c, want{k: k})
		return
	}
	k.send(msg)
}

func (t *turn) cancel(c *otp.Context, k *member, reason string) {
	if k.current().Done() {
		return
	}
	if k.agent == nil {
		k.state, k.reason = agents.Cancelled, reason
		t.told(k)
		t.release(c)
		return
	}
	r := k.agent.Snapshot().Result
	if !r.State.Done() { // otherwise its result is on the way, and stands
		r.State, r.Reason = agents.Cancelled, reason
		k.send(agents.Cancel{Reason: reason})
	}
	t.ends(c, k, r)
}

// stopAgents ends what still works when the turn is over.
func (t *turn) stopAgents() {
	for _, k := range t.members {
		if k.current().Done() {
			continue
		}
		r := agents.Result{Agent: k.args.AgentID}
		if k.agent != nil {
			r = k.agent.Snapshot().Result
		}
		if !r.State.Done() {
			r.State, r.Reason = agents.Cancelled, "the turn ended"
			k.send(agents.Cancel{Reason: r.Reason})
		}
		k.ended, k.reason = &r, r.Reason
		t.told(k)
	}
}
