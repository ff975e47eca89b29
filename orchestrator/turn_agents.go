package orchestrator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// maxPeek bounds what is read of arguments before the checkpoint has judged
// them; it refuses longer ones.
const maxPeek = 1 << 20

// peek reads arguments to route a call. What it can't read is empty: the
// checkpoint judges the bytes themselves and says what is wrong with them.
func peek(k llm.ToolCall) (a dispatchArgs) {
	if len(k.Arguments) <= maxPeek {
		_ = json.Unmarshal([]byte(k.Arguments), &a)
	}
	return a
}

// inOrder puts the dispatches of one answer after those they depend on. So the model
// may name dispatches in any order; all other calls keep their places. Dispatches in
// a circle are refused later, because each depends on an agent that no call has
// dispatched.
func inOrder(calls []llm.ToolCall) []llm.ToolCall {
	type dispatch struct {
		call llm.ToolCall
		args dispatchArgs
	}
	var rest []dispatch
	unplaced := map[string]int{}
	for _, k := range calls {
		if k.Name == toolDispatch {
			a := peek(k)
			rest = append(rest, dispatch{k, a})
			unplaced[a.AgentID]++
		}
	}
	out := slices.Clone(calls)
	for i := range out {
		if out[i].Name != toolDispatch {
			continue
		}
		n := max(0, slices.IndexFunc(rest, func(d dispatch) bool {
			return !slices.ContainsFunc(d.args.DependsOn, func(id string) bool { return unplaced[id] > 0 })
		}))
		out[i] = rest[n].call
		unplaced[rest[n].args.AgentID]--
		rest = slices.Delete(rest, n, n+1)
	}
	return out
}

func nativeScope() (skills.Scope, error) { return skills.NewScope("agent.*") }

func (t *turn) member(id string) *member { return t.byID[id] }

// native does what an allowed agent.* call of this turn asks for. One of a
// turn that is over comes too late, whatever runs now.
func (v *conversation) native(c *otp.Context, m nativeCall) {
	t := v.turn
	if t != nil && t.phase == admitting && t.resumed {
		c.Reply(nil, errGone)
		return
	}
	if t == nil || t.phase != working || t.desk.Grant().ID() != m.grant {
		c.Reply(nil, bad("the turn is over"))
		return
	}
	var text string
	var err error
	switch m.skill {
	case skillDispatch:
		text, err = t.dispatch(c, m)
	case skillUpdate:
		text, err = t.tellAgent(c, m)
	case skillExtend:
		text, err = t.extend(c, m)
	default:
		err = bad("there is no such call")
	}
	c.Reply(text, err)
}

// dispatch makes the agent and starts it, or leaves it waiting for those it
// depends on.
func (t *turn) dispatch(c *otp.Context, m nativeCall) (string, error) {
	k, err := t.enlist(m.call, m.args)
	if err != nil {
		return "", err
	}
	t.release(c)
	return encode(map[string]any{"ok": true, "agent_id": m.args.AgentID, "state": k.current()}), nil
}

// enlist makes the agent, with a desk of its own. The same call made again
// finds the agent that it made.
func (t *turn) enlist(call string, a dispatchArgs) (*member, error) {
	if k := t.member(a.AgentID); k != nil && k.call == call {
		return k, nil
	} else if k != nil {
		return nil, bad("an agent %q was dispatched already; choose another id", a.AgentID)
	}
	for _, d := range a.DependsOn {
		if t.member(d) == nil {
			return nil, bad("it depends on %q, which was not dispatched (or depends on it in a circle)", clip(d, 64))
		}
	}
	list, scope, err := t.grantable(a.Skills)
	if err != nil {
		return nil, err
	}
	model := t.o.agentModel(a.Model)
	if model == nil {
		return nil, bad("there is no model of that name; leave model out")
	}
	desk, err := t.desk.Child(sentinel.Child{
		ID: memberGrant(t.desk.Grant().ID(), a.AgentID), Agent: a.AgentID, Mission: a.Mission, MissionBy: sentinel.ByOrchestrator,
		Scope: scope, Calls: a.MaxToolCalls,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", skills.ErrBadInput, err)
	}
	k := &member{turn: t, call: call, args: a, desk: desk, skill: list, model: model, state: agents.Pending,
		depth: t.measureDepth(a.DependsOn)}
	t.members = append(t.members, k)
	t.byID[a.AgentID] = k
	return k, nil
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", skills.ErrBadInput, fmt.Sprintf(format, args...))
}

// grantable resolves the names an agent is to be given.
func (t *turn) grantable(names []string) ([]*skills.Skill, skills.Scope, error) {
	var list []*skills.Skill
	for _, n := range names {
		s, ok := t.o.parts.Registry.Get(n)
		if !ok || isNative(n) {
			return nil, skills.Scope{}, bad("there is no skill %q that an agent can be given", clip(n, 64))
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	scope, err := skills.NewScope(names...)
	if err != nil {
		return nil, skills.Scope{}, bad("%v", err)
	}
	return list, scope, nil
}

// release starts every pending agent whose dependencies have completed and
// skips those whose dependencies will not.
func (t *turn) release(c *otp.Context) {
	if t.phase != working {
		return
	}
	if t.away { // it goes on when it has its place again
		t.regain(c)
		return
	}
	for again := true; again; {
		again = false
		for _, k := range t.members {
			if k.current() != agents.Pending || k.agent != nil || k.seat.task != 0 {
				continue
			}
			ready, failed := t.ready(k)
			switch {
			case len(k.rounds) > 0: // it was at work before a restart
				t.launch(c, k)
				again = again || k.current().Done()
			case failed != nil:
				k.state = agents.Skipped
				k.reason = fmt.Sprintf("%s, which it depends on, is %s", failed.args.AgentID, failed.current())
				t.told(k)
				again = true // those that depend on it are skipped too
			case ready:
				t.launch(c, k)
				again = again || k.current().Done() // it could not be started
			}
		}
	}
	t.check(c)
}

func (t *turn) ready(k *member) (ready bool, failed *member) {
	ready = true
	for _, d := range k.args.DependsOn {
		dep := t.member(d)
		switch s := dep.current(); {
		case s == agents.Completed:
		case s.Done():
			return false, dep
		default:
			ready = false
		}
	}
	return ready, nil
}

// launch starts the agent's process, once there is room for it. What it is
// given of agents it depends on carries their taint.
func (t *turn) launch(c *otp.Context, k *member) {
	if k.seat.credit == nil && !t.room(c, k) {
		return
	}
	var inputs []agents.Input
	for i, d := range k.args.DependsOn {
		if slices.Contains(k.args.DependsOn[:i], d) {
			continue
		}
		dep := t.member(d)
		inputs = append(inputs, agents.Input{Agent: d, Answer: dep.result().Answer})
		k.desk.Hear(dep.desk)
		if dep.desk.Tainted() {
			k.desk.Taint()
		}
	}
	updates, told := k.again()
	t.o.at("launch")
	k.since, k.span = time.Now(), t.o.tel.Tracer().Agent(t.span)
	a, err := agents.New(agents.Options{
		Journal: agentJournal{t, k}, Rounds: k.rounds, Updates: updates, Answers: told, Heard: k.heard,
		ID: k.args.AgentID, Mission: k.args.Mission, Context: k.args.Context, Inputs: inputs, Skills: k.skill,
		Lookup: t.o.parts.Registry.Get, Model: k.asks(), Invoker: t.o.placed(k.desk, k.span),
		Calls: t.o.calls(k.args.MaxToolCalls), Parent: c.Self(),
		Timeout: t.o.tune.agent, HelpTimeout: t.o.tune.help,
	})
	sup, ok := c.System().Whereis(agentsName(t.v.id))
	if err != nil || !ok {
		k.state, k.reason = agents.Failed, "the agent could not be started"
		t.told(k)
		return
	}
	k.agent, k.rounds = a, nil
	t.joins(c, k)
	t.v.starting[c.StartChild(sup, a.Spec(), 10*time.Second)] = k
}

// calls is how many calls an agent may propose: what its dispatch says, or the
// configured number.
func (o *Orchestrator) calls(asked int) int {
	return min(cmp.Or(asked, o.parts.Config.Limits.Agent.Calls), agents.MaxCalls)
}

// failed ends an agent that could not be started.
func (t *turn) failed(c *otp.Context, k *member, reason string) {
	k.state, k.reason, k.agent = agents.Failed, reason, nil
	t.told(k)
	t.release(c)
}
