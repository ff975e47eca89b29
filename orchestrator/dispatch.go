package orchestrator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// member is one agent of the turn.
type member struct {
	agent *agents.Agent
	args  dispatchArgs
	desk  *sentinel.Desk
	skill []*skills.Skill
	model agents.Model

	pid      otp.PID
	starting otp.Ref
	watch    otp.Ref
	state    agents.State // of one that never ran, or whose process is gone
	reason   string
	ended    *agents.Result
	help     *agents.HelpWanted
}

// inOrder puts dispatches of one answer after those they depend on, so that
// the model may name them in any order. Those in a cycle keep their place and
// are refused for what they are: dependencies that nobody dispatched.
func inOrder(calls []llm.ToolCall) []llm.ToolCall {
	deps := map[string][]string{}
	id := func(k llm.ToolCall) dispatchArgs {
		var a dispatchArgs
		if k.Name == toolDispatch {
			_ = json.Unmarshal([]byte(k.Arguments), &a) // the checkpoint reports malformed ones
		}
		return a
	}
	for _, k := range calls {
		if a := id(k); a.AgentID != "" {
			deps[a.AgentID] = a.DependsOn
		}
	}
	var out []llm.ToolCall
	placed := map[string]bool{}
	rest := slices.Clone(calls)
	for len(rest) > 0 {
		i := slices.IndexFunc(rest, func(k llm.ToolCall) bool {
			return !slices.ContainsFunc(id(k).DependsOn, func(d string) bool { _, here := deps[d]; return here && !placed[d] })
		})
		if i < 0 {
			return append(out, rest...)
		}
		placed[id(rest[i]).AgentID] = true
		out = append(out, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	return out
}

func nativeScope() (skills.Scope, error) { return skills.NewScope("agent.*") }

func (t *turn) member(id string) *member {
	for _, k := range t.members {
		if k.args.AgentID == id {
			return k
		}
	}
	return nil
}

// native does what an allowed agent.* call asks for.
func (v *conversation) native(c *otp.Context, m nativeCall) {
	if v.turn == nil {
		c.Reply(nil, fmt.Errorf("%w: no turn is under way", skills.ErrNoEffect))
		return
	}
	var text string
	var err error
	switch m.skill {
	case skillDispatch:
		text, err = v.turn.dispatch(c, m.args)
	case skillUpdate:
		text, err = v.turn.tellAgent(m.args)
	case skillExtend:
		text, err = v.turn.extend(m.args)
	}
	c.Reply(text, err)
}

// dispatch makes the agent and starts it, or leaves it waiting for those it
// depends on.
func (t *turn) dispatch(c *otp.Context, a dispatchArgs) (string, error) {
	if t.member(a.AgentID) != nil {
		return "", bad("an agent %q was dispatched already; choose another id", a.AgentID)
	}
	for _, d := range a.DependsOn {
		if t.member(d) == nil {
			return "", bad("it depends on %q, which was not dispatched (or depends on it in a circle)", clip(d, 64))
		}
	}
	list, scope, err := t.grantable(a.Skills)
	if err != nil {
		return "", err
	}
	model := t.v.o.agentModel(a.Model)
	if model == nil {
		return "", bad("there is no model of that name; leave model out")
	}
	desk, err := t.desk.Child(sentinel.Child{
		ID: newID(), Agent: a.AgentID, Mission: a.Mission, MissionBy: sentinel.ByOrchestrator, Scope: scope, Calls: a.MaxToolCalls,
	})
	if err != nil {
		return "", fmt.Errorf("%w: %v", skills.ErrBadInput, err)
	}
	k := &member{args: a, desk: desk, skill: list, model: model, state: agents.Pending}
	t.members = append(t.members, k)
	t.release(c)
	return encode(map[string]any{"ok": true, "agent_id": a.AgentID, "state": k.current()}), nil
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", skills.ErrBadInput, fmt.Sprintf(format, args...))
}

// grantable resolves the names an agent is to be given.
func (t *turn) grantable(names []string) ([]*skills.Skill, skills.Scope, error) {
	var list []*skills.Skill
	for _, n := range names {
		s, ok := t.v.o.parts.Registry.Get(n)
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
	for again := true; again; {
		again = false
		for _, k := range t.members {
			if k.current() != agents.Pending || k.starting != 0 {
				continue
			}
			ready, failed := t.ready(k)
			switch {
			case failed != nil:
				k.state = agents.Skipped
				k.reason = fmt.Sprintf("%s, which it depends on, is %s", failed.args.AgentID, failed.current())
				t.told(k)
				again = true // those that depend on it are skipped too
			case ready:
				t.launch(c, k)
			}
		}
	}
	t.check(c)
}

func (t *turn) ready(k *member) (ready bool, failed *member) {
	for _, d := range k.args.DependsOn {
		dep := t.member(d)
		switch s := dep.current(); {
		case s == agents.Completed:
		case s.Done():
			return false, dep
		default:
			return false, nil
		}
	}
	return true, nil
}

// launch starts the agent's process. What it is given of agents it depends on
// carries their taint.
func (t *turn) launch(c *otp.Context, k *member) {
	var inputs []agents.Input
	for _, d := range k.args.DependsOn {
		dep := t.member(d)
		inputs = append(inputs, agents.Input{Agent: d, Answer: dep.result().Answer})
		if dep.desk.Tainted() {
			k.desk.Taint()
		}
	}
	a, err := agents.New(agents.Options{
		ID: k.args.AgentID, Mission: k.args.Mission, Context: k.args.Context, Inputs: inputs, Skills: k.skill,
		Model: k.model, Invoker: k.desk, Calls: k.args.MaxToolCalls, Parent: c.Self(),
	})
	sup, ok := c.System().Whereis(agentsName(t.v.co.ID))
	if err != nil || !ok {
		k.state, k.reason = agents.Failed, "the agent could not be started"
		t.told(k)
		return
	}
	k.agent = a
	k.starting = c.StartChild(sup, a.Spec(), 10*time.Second)
}

// launched learns the agent's process.
func (t *turn) launched(c *otp.Context, m otp.Reply) {
	for _, k := range t.members {
		if k.starting == 0 || k.starting != m.Ref {
			continue
		}
		if m.Err != nil {
			k.state, k.reason, k.agent = agents.Failed, "the agent could not be started", nil
			t.told(k)
			t.release(c)
			return
		}
		k.pid = m.Value.(otp.PID)
		k.watch = c.Monitor(k.pid)
		t.v.o.agentEvent(t.v.co.ID, k.result())
	}
}

// finished takes an agent's result.
func (t *turn) finished(c *otp.Context, r agents.Result) {
	k := t.member(r.Agent)
	if k == nil || k.ended != nil {
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
	for _, k := range t.members {
		if k.watch != m.Ref || k.ended != nil {
			continue
		}
		r := k.agent.Snapshot().Result
		if !r.State.Done() {
			r.State, r.Reason = agents.Failed, "the agent crashed"
		}
		t.finished(c, r)
	}
}

func (t *turn) wantsHelp(c *otp.Context, m agents.HelpWanted) {
	if k := t.member(m.Agent); k != nil && k.ended == nil {
		k.help = &m
		t.check(c)
	}
}

func (t *turn) tellAgent(a dispatchArgs) (string, error) {
	k := t.member(a.AgentID)
	if k == nil || k.current().Done() {
		return "", bad("no agent of that id is working")
	}
	if k.pid.IsZero() {
		k.args.Context = strings.TrimSpace(k.args.Context + "\n" + a.Message)
	} else {
		k.pid.Send(agents.Update{Text: a.Message})
	}
	return `{"ok":true}`, nil
}

// extend answers a request for help and adds skills within the parent's grant.
func (t *turn) extend(a dispatchArgs) (string, error) {
	k := t.member(a.AgentID)
	if k == nil || k.current().Done() || k.pid.IsZero() {
		return "", bad("no agent of that id is working")
	}
	list, scope, err := t.grantable(a.Skills)
	if err != nil {
		return "", err
	}
	if err := k.desk.Extend(scope); err != nil {
		return "", fmt.Errorf("%w: %v", skills.ErrBadInput, err)
	}
	// The message is the orchestrator's, who may have read anything by now.
	if t.desk.Tainted() {
		k.desk.Taint()
	}
	k.help = nil
	k.pid.Send(agents.Answer{Text: a.Message, Skills: list})
	return `{"ok":true}`, nil
}

func (t *turn) cancel(c *otp.Context, k *member, reason string) {
	switch {
	case k.current().Done():
	case k.pid.IsZero():
		k.state, k.reason = agents.Cancelled, reason
		t.told(k)
		t.release(c)
	default:
		r := k.agent.Snapshot().Result
		r.State, r.Reason = agents.Cancelled, reason
		k.pid.Send(agents.Cancel{Reason: reason})
		t.finished(c, r)
	}
}

// stopAgents ends what still works when the turn is over.
func (t *turn) stopAgents(*otp.Context) {
	for _, k := range t.members {
		if !k.current().Done() {
			k.state, k.reason = agents.Cancelled, "the turn ended"
			if k.pid.Alive() {
				k.pid.Send(agents.Cancel{Reason: k.reason})
			}
		}
	}
}
