package orchestrator

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/otp"
)

// The limits of get_agent_results.
const (
	defaultWait      = 5 * time.Second
	maxWait          = 60 // seconds
	transcriptInView = 10
)

type waitOver struct{ w *waiting }

// waiting is a get_agent_results that waits for its agents.
type waiting struct {
	list  []*member
	all   bool
	due   bool // it is over, whatever the agents do
	timer otp.Ref
}

func (t *turn) getResults(c *otp.Context) {
	var a struct {
		AgentIDs []string `json:"agent_ids"`
		Mode     string   `json:"mode"`
		Timeout  int      `json:"timeout_seconds"`
	}
	if t.call.Arguments != "" && (len(t.call.Arguments) > maxPeek || json.Unmarshal([]byte(t.call.Arguments), &a) != nil) {
		t.done(c, badResults)
		return
	}
	switch a.Mode {
	case "", "non_blocking", "wait_any", "wait_all":
	default:
		t.done(c, badResults)
		return
	}
	list := slices.Clone(t.members)
	if len(a.AgentIDs) > 0 {
		list = nil
		for _, id := range a.AgentIDs {
			k := t.member(id)
			if k == nil {
				t.done(c, unknownAgent)
				return
			}
			if !slices.Contains(list, k) {
				list = append(list, k)
			}
		}
	}
	t.wait = &waiting{list: list, all: a.Mode != "wait_any"}
	if a.Mode == "non_blocking" || len(list) == 0 {
		t.bring(c)
		return
	}
	t.wait.timer = c.SendAfter(waitFor(a.Timeout, t.v.o.tune.wait), waitOver{t.wait})
	t.check(c)
}

// waitFor is how long the model waits that asked for so many seconds; none, or
// fewer, is as long as otherwise.
func waitFor(seconds int, otherwise time.Duration) time.Duration {
	if seconds <= 0 {
		return otherwise
	}
	return time.Duration(min(seconds, maxWait)) * time.Second
}

const badResults = `{"ok":false,"error":"invalid","reason":"The arguments don't fit: agent_ids is a ` +
	`list of ids, mode is non_blocking, wait_any or wait_all, timeout_seconds is a number."}`

// check answers a wait whose agents are done. An agent that asks for help ends any
// wait: only the orchestrator's model can answer it.
func (t *turn) check(c *otp.Context) {
	if t.wait == nil {
		return
	}
	if t.wait.due {
		t.bring(c)
		return
	}
	done := 0
	for _, k := range t.wait.list {
		if k.wants() != nil {
			t.bring(c)
			return
		}
		if k.current().Done() {
			done++
		}
	}
	if done == len(t.wait.list) || done > 0 && !t.wait.all {
		t.bring(c)
	}
}

// bring shows the model what its agents have.
func (t *turn) bring(c *otp.Context) {
	if t.away { // the model is asked when the turn has its place again
		t.wait.due = true
		t.regain(c)
		return
	}
	w := t.wait
	t.wait = nil
	if w.timer != 0 {
		c.CancelTimer(w.timer)
	}
	views := make([]view, len(w.list))
	for i, k := range w.list {
		views[i] = t.show(k)
	}
	fitViews(views, t.texts.Left())
	t.done(c, encode(map[string]any{"ok": true, "agents": views}))
}

// view is an agent as the orchestrator's model sees it.
type view struct {
	agents.Result
	Took       string         `json:"took"`
	Help       string         `json:"needs_help,omitempty"`
	HelpSkills []string       `json:"asks_for_skills,omitempty"`
	Transcript []agents.Entry `json:"transcript,omitempty"`
	Note       string         `json:"note,omitempty"`
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

// told passes an agent's start or end on to Options.OnAgent and the tracer. An agent
// that ends gives its place back.
func (t *turn) told(k *member) {
	r := k.result()
	if r.State.Done() {
		k.seat.leave()
		k.tells(string(r.State))
	}
	t.v.o.agentEvent(t.v.id, r)
}

func (o *Orchestrator) agentEvent(conversation string, r agents.Result) {
	if o.opts.OnAgent == nil {
		return
	}
	defer func() {
		if recover() != nil {
			o.log.Error("the watcher of agents panicked")
		}
	}()
	o.opts.OnAgent(conversation, r)
}

// agentModel returns the model of that name, the role's own where it is
// empty, nil where there is none.
func (o *Orchestrator) agentModel(name string) agents.Model {
	if name == "" {
		return o.agents
	}
	m, ok := o.parts.NamedModel(name)
	if !ok {
		return nil
	}
	return m
}
