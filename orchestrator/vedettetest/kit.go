package vedettetest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Options are what a test changes; the zero value is useful.
type Options struct {
	// Skills are the program's own.
	Skills []*skills.GoSkill
	// Config is more YAML: permissions, limits, answers. Models, roles and ledger are the Kit's. With
	// approvals: {inbox: true} questions wait in the inbox, Kit.Parts().Inbox, and Kit.Answer answers none.
	Config string
	// Log hears what an operator would; nil is silent.
	Log *slog.Logger
}

// Kit is a Vedette for one test. It is safe for concurrent use, but for what fails the test.
type Kit struct {
	// Orchestrator is the real one, over a database in the test's folder.
	*orchestrator.Orchestrator
	// Models plays the script, and knows what it was asked.
	Models *scripted.Server

	t       testing.TB
	mu      sync.Mutex
	answer  func(skill string, arguments json.RawMessage) (approver string, yes bool)
	decided []orchestrator.Step
	taken   int                        // of those, that the test has asked about
	args    map[string]json.RawMessage // of calls, by their ids
}

// New starts a Vedette that ends with the test. The parts are played by the models.
func New(t testing.TB, o Options, parts ...Part) *Kit {
	t.Helper()
	k := &Kit{t: t, args: map[string]json.RawMessage{}}
	k.Models = k.serveScript(parts)
	file := filepath.Join(t.TempDir(), "vedette.yaml")
	yaml := fmt.Sprintf("version: 1\nmodels: {scripted: {model: scripted, base_url: %q}}\n"+
		"roles: {orchestrator: scripted, agent: scripted, sentinel: scripted}\nledger: {path: ./vedette.db}\n%s", k.Models.BaseURL(), o.Config)
	k.must(os.WriteFile(file, []byte(yaml), 0o600))
	var program []*skills.Skill
	for _, s := range o.Skills {
		program = append(program, s.Skill())
	}
	cfg, err := config.Load(file, config.Options{Program: program})
	k.must(err)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	options := orchestrator.Options{Skills: o.Skills, Observe: k.record, NoReview: !strings.Contains(o.Config, "sentinel:"), Log: o.Log}
	if !cfg.Approvals.Inbox {
		options.Approver = approver{k}
	}
	k.Orchestrator, err = orchestrator.New(t.Context(), cfg, options)
	k.must(err)
	t.Cleanup(func() {
		if err := k.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("Vedette did not end well: %v", err)
		}
	})
	return k
}

// serveScript starts the server of the models.
func (k *Kit) serveScript(parts []Part) *scripted.Server {
	k.t.Helper()
	rules := []rule{}
	for _, p := range parts {
		rules = append(rules, p.rules...)
	}
	src, err := json.Marshal(map[string]any{"rules": rules})
	k.must(err)
	script, err := scripted.Load(src)
	k.must(err)
	server, err := scripted.Serve(context.WithoutCancel(k.t.Context()), script, scripted.Options{})
	k.must(err)
	k.t.Cleanup(server.Close)
	return server
}

// must ends the test on an error.
func (k *Kit) must(err error) {
	if err != nil {
		k.t.Helper()
		k.t.Fatal(err)
	}
}

// Answer says how people answer approvals from now on: the name of the person, and yes or no.
func (k *Kit) Answer(answer func(skill string, arguments json.RawMessage) (approver string, yes bool)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answer = answer
}

// Send sends a request of the user "tester" in the conversation "test". It ends the test
// where there is no answer.
func (k *Kit) Send(request string) orchestrator.Reply {
	k.t.Helper()
	c, err := k.Open(k.t.Context(), orchestrator.ConversationOptions{ID: "test", User: "tester"})
	k.must(err)
	reply, err := c.Send(k.t.Context(), request)
	k.must(err)
	return reply
}

// Decisions are the calls of agents that were decided so far, in their order, without those by
// which the orchestrator works with its agents (agent.*).
func (k *Kit) Decisions() []orchestrator.Step {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]orchestrator.Step(nil), k.decided...)
}

// Arguments are those of a decision's call, in canonical form; nil where it never became a call.
func (k *Kit) Arguments(s orchestrator.Step) json.RawMessage {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.args[s.Call]
}

// RequireDecision takes the next decision and ends the test where it is another: its outcome
// is allow, deny or defer, its code the refusal's, "" for an allowed call.
func (k *Kit) RequireDecision(skill, outcome, code string) orchestrator.Step {
	k.t.Helper()
	list := k.Decisions()
	if k.taken >= len(list) {
		k.t.Fatalf("no further call was decided; expected %s of %s", outcome, skill)
	}
	s := list[k.taken]
	k.taken++
	got := ""
	if s.Refusal != nil {
		got = s.Refusal.Code
	}
	if s.Skill != skill || s.Outcome != outcome || got != code {
		k.t.Fatalf("decision %d is %s of %q (code %q); expected %s of %q (code %q)", k.taken, s.Outcome, s.Skill, got, outcome, skill, code)
	}
	return s
}

// RequireNoFurther ends the test where a decision was not asked about.
func (k *Kit) RequireNoFurther() {
	k.t.Helper()
	if list := k.Decisions(); k.taken < len(list) {
		k.t.Fatalf("%d further calls were decided, the next is %s of %q", len(list)-k.taken, list[k.taken].Outcome, list[k.taken].Skill)
	}
}

// record keeps a decision.
func (k *Kit) record(e sentinel.Event) {
	if e.Kind != sentinel.RecordDecision && e.Kind != sentinel.RecordRefused {
		return
	}
	s := orchestrator.Step{
		Call: e.Call.Proposed().ID(), Decision: e.Decision.ID, At: e.Decision.At, Agent: e.Call.Grant().Agent(),
		Outcome: e.Decision.Outcome.String(), Degraded: e.Decision.Degraded, Approver: e.Decision.Approver,
		Refusal: e.Decision.OnRecord(e.Kind).Refusal,
	}
	if skill := e.Call.Skill(); skill != nil {
		s.Skill = skill.Name()
	}
	if strings.HasPrefix(s.Skill, "agent.") {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.decided = append(k.decided, s)
	if e.Kind == sentinel.RecordDecision {
		k.args[s.Call] = json.RawMessage(e.Call.Args())
	}
}

// approver answers as the test says.
type approver struct{ k *Kit }

// Approve implements sentinel.Approver.
func (a approver) Approve(_ context.Context, c sentinel.Call, _ sentinel.Decision) (sentinel.Verdict, error) {
	a.k.mu.Lock()
	answer := a.k.answer
	a.k.mu.Unlock()
	if answer == nil {
		return sentinel.Verdict{}, sentinel.ErrNoApprover
	}
	who, yes := answer(c.Name(), json.RawMessage(c.Args()))
	v := sentinel.Pass()
	if !yes {
		v = sentinel.Refuse(codeDenied, "a person refused the call")
	}
	v.Meta = map[string]string{"by": who, "via": "test"}
	return v, nil
}

// codeDenied is the code of a person's no, as the inbox has it.
const codeDenied = "approval.denied"
