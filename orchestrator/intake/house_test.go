package intake_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/internal/testclock"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/intake"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/intent/parse"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

func TestMain(m *testing.M) {
	exec.MaybeChild()
	parse.MaybeHelper(exec.IsHelper(parse.HelperKind))
	goleak.VerifyTestMain(m)
}

// saturday is when these tests begin.
var saturday = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// canary is in the texts that must not get out.
const canary = "CANARY7f3a"

// counter is where texts come in, on a real database; its process can end and another begin.
type counter struct {
	*assembly.Parts
	t        testing.TB
	dir      string
	clock    *testclock.Clock
	settings settings
	handlers map[string]intake.Handler

	mu     sync.Mutex
	acted  []string // the actions whose handlers ran, with their topics
	noted  []string // the arguments of the skill notes.add
	alerts []intake.Alert
	onNote func() // while the skill notes.add runs
}

// settings are what a test says beside the configuration of all.
type settings struct {
	top     string            // keys beside intent
	intent  string            // keys below intent
	policy  string            // keys below intent.policy
	models  map[string]string // what each model's server answers
	timeout string            // of the action find_experts
	store   string            // where the database is; empty is a folder of the test's
}

const houseConfig = `version: 1
sentinel: {mode: "off"}
%s
intent:
  languages: [en, de]
  currency: EUR
  references: {begin: [doc_], grants: [{users: [ann], ids: [doc_ann]}, {users: ["*"], ids: [doc_all]}]}
  actions:
    find_experts: {words: ["find * experts", "find experts", "suche * experten"], risk: low, timeout: %s}
    summarize: {words: ["summari*"], risk: medium}
    pay: {words: [pay], risk: high}
    note: {words: ["note down"], risk: low, skill: notes.add, arguments: {text: topic, count: max_results}}
    dream: {words: [dream], risk: low}
  expertise: {security: security, law: law}
  policy:
    actions: [find_experts, summarize, pay, note, dream]
    expertise: [security]
    budgets: {EUR: 5000}
    max_results: 10
%s%s%s`

// below puts text two more spaces to the right.
func below(text string, by int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.Repeat(" ", by) + line)
	}
	return b.String()
}

func newCounter(t testing.TB, s settings) *counter {
	t.Helper()
	c := &counter{t: t, dir: s.store, clock: testclock.New(saturday), settings: s, handlers: map[string]intake.Handler{}}
	if c.dir == "" {
		c.dir = t.TempDir()
	}
	for _, name := range []string{"find_experts", "summarize", "pay"} {
		c.handlers[name] = func(_ context.Context, i intent.Trusted) (any, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.acted = append(c.acted, strings.TrimSpace(i.Action().String()+" "+i.Topic().String()))
			return map[string]string{"did": i.Action().String(), "about": i.Topic().String()}, nil
		}
	}
	c.start()
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// start begins a process.
func (c *counter) start() {
	c.t.Helper()
	top, parsers := c.settings.top, ""
	if !strings.Contains(top, "approvals:") {
		top += "approvals: {inbox: true, timeout: 10m}\n"
	}
	if len(c.settings.models) > 0 {
		top += "models:\n"
		parsers = "  parsers:\n"
	}
	for _, name := range slices.Sorted(maps.Keys(c.settings.models)) {
		s, err := scripted.Load([]byte(c.settings.models[name]))
		require.NoError(c.t, err)
		srv, err := scripted.Serve(context.Background(), s, scripted.Options{})
		require.NoError(c.t, err)
		c.t.Cleanup(srv.Close)
		top += fmt.Sprintf("  %s: {model: m, base_url: %q}\n", name, srv.BaseURL())
		parsers += fmt.Sprintf("    %s: {model: %s, trust: 0.75, timeout: 1m}\n", name, name)
	}
	text := fmt.Sprintf(houseConfig, top, cmp.Or(c.settings.timeout, "5m"), below(c.settings.policy, 4), below(c.settings.intent, 2), parsers)
	file := filepath.Join(c.dir, "vedette.yaml")
	require.NoError(c.t, os.WriteFile(file, []byte(text), 0o600))
	cfg, err := config.Load(file, config.Options{KnownSkills: []string{"notes.add"}})
	require.NoError(c.t, err)
	c.Parts, err = assembly.Build(context.Background(), cfg, assembly.Options{
		Now: c.clock.Now, Handlers: c.handlers, ObserveBlocked: c.onBlocked,
		Natives: []assembly.Native{{
			Spec: skills.Spec{
				Name: "notes.add", Effect: skills.Create, Reaches: skills.Self, Output: skills.Trusted, Run: skills.Run{Kind: "native"},
				Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","x-content":true},` +
					`"count":{"type":"integer"}}}`),
			},
			Run: func(_ context.Context, o skills.Order) (skills.Result, error) {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.noted = append(c.noted, o.Args)
				if c.onNote != nil {
					c.onNote()
				}
				return skills.Result{Content: "noted"}, nil
			},
		}},
	})
	require.NoError(c.t, err)
}

func (c *counter) onBlocked(a intake.Alert) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alerts = append(c.alerts, a)
}

// restart ends the process and begins another, with other settings where change says so.
func (c *counter) restart(change func(*settings)) {
	c.t.Helper()
	require.NoError(c.t, c.Close())
	if change != nil {
		change(&c.settings)
	}
	c.start()
}

// did are the actions whose handlers ran.
func (c *counter) did() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.acted)
}

// send has a text of ann's go through all stages.
func (c *counter) send(text string) intake.Answer {
	c.t.Helper()
	return c.sendAs(intake.Request{User: "ann", Session: "s1", Text: text})
}

func (c *counter) sendAs(r intake.Request) intake.Answer {
	c.t.Helper()
	a, err := c.Intake.Process(c.t.Context(), r)
	require.NoError(c.t, err)
	return a
}

// look is where a request of ann's stands.
func (c *counter) look(request string) intake.Answer {
	c.t.Helper()
	a, err := c.Intake.Look(c.t.Context(), request, "ann")
	require.NoError(c.t, err)
	return a
}

// await waits until a request of ann's has an end.
func (c *counter) await(request string) (a intake.Answer) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		a = c.look(request)
		return a.Status.IsEnd()
	}, 4*time.Minute, time.Millisecond)
	return a
}

// chain are the kinds and outcomes of a request's records.
func (c *counter) chain(request string) (out []string) {
	c.t.Helper()
	for _, r := range c.records(request) {
		out = append(out, r.Kind+" "+r.Outcome)
	}
	return out
}

func (c *counter) records(request string) []ledger.Record {
	c.t.Helper()
	list, err := intake.Archive{Ledger: &c.Ledger.Reader}.Chain(c.t.Context(), request)
	require.NoError(c.t, err)
	return list
}

// pending are the questions in the inbox.
func (c *counter) pending() []approval.Item {
	c.t.Helper()
	list, err := c.Inbox.List(c.t.Context(), approval.Filter{})
	require.NoError(c.t, err)
	return list
}

// asked waits for the one question in the inbox.
func (c *counter) asked() (i approval.Item) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		list := c.pending()
		if len(list) == 1 {
			i = list[0]
		}
		return len(list) == 1
	}, 4*time.Minute, time.Millisecond)
	return i
}

func (c *counter) answer(i approval.Item, w approval.Word) error {
	_, err := c.Inbox.Answer(c.t.Context(), approval.Answer{Approval: i.ID, Word: w, By: "bob", Via: "test", Digest: i.Digest})
	return err
}

// says is a script of a model that gives this draft.
func says(draft string) string {
	raw, _ := json.Marshal(draft)
	return "rules:\n  - name: a\n    when: {schema: intent, format: json_schema}\n    reply: {content: " + string(raw) + "}\n"
}

// draftOf is what a model says of a text.
func draftOf(action, topic, more string) string {
	if more == "" {
		more = `"budget":null,"max_results":null`
	}
	return fmt.Sprintf(`{"action":%q,"topic":%q,"expertise":[],"references":[],"constraints":{%s,"max_length":null,"deadline":null,`+
		`"domains":[],"entities":[]},"confidence":0.9}`, action, topic, more)
}

var errHandler = errors.New("the handler failed")

// ledgerAll picks all records of the ledgers of these tests.
var ledgerAll = ledger.Query{Limit: 1000}
