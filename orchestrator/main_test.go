package orchestrator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/internal/arrival"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// How long a test waits for what must come, a little less than the watchdog does, and how often it looks.
const (
	eventually = 4 * time.Minute
	tick       = 2 * time.Millisecond
)

// await waits until the condition holds. It has no bound: only a slow machine would meet one.
// The watchdog ends what hangs, with the stacks.
func await(holds func() bool) {
	look := time.NewTicker(5 * tick)
	defer look.Stop()
	for !holds() {
		<-look.C
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rule and call are a script's, written in Go: JSON is YAML.
type (
	rule map[string]any
	call map[string]any
)

func tool(name string, args any) call { return call{"name": name, "arguments": args} }

func use(skill, x string) call {
	return tool("use_skill", map[string]any{"skill": skill, "arguments": map[string]any{"X": x}})
}

func dispatch(id, mission string, skills ...string) call {
	return tool(toolDispatch, map[string]any{"agent_id": id, "mission": mission, "skills": append([]string{}, skills...)})
}

// with returns the call with one more argument.
func (k call) with(name string, v any) call {
	args := map[string]any{name: v}
	for n, old := range k["arguments"].(map[string]any) {
		if n != name {
			args[n] = old
		}
	}
	return tool(k["name"].(string), args)
}

func results(mode string, ids ...string) call {
	return tool(toolResults, map[string]any{"mode": mode, "agent_ids": append([]string{}, ids...), "timeout_seconds": 30})
}

// orch plays the orchestrator's model for requests that contain key, round
// after round: a text, calls, or a reply as it stands.
func orch(key string, rounds ...any) []rule {
	return play(rule{"has_tool": toolDispatch, "last_user_contains": key}, rounds)
}

// agent plays the model of agents whose mission contains key.
func agent(key string, rounds ...any) []rule {
	return append(play(rule{"has_tool": agents.ToolRequestHelp, "user_contains": key}, rounds),
		rule{"when": rule{"has_tools": false, "user_contains": key}, "reply": rule{"content": "spent: " + key}})
}

func play(when rule, rounds []any) []rule {
	var out []rule
	seen := 0
	for _, round := range rounds {
		w := rule{"tool_results": seen}
		for k, v := range when {
			w[k] = v
		}
		reply, ok := round.(rule)
		switch r := round.(type) {
		case string:
			reply = rule{"content": r}
		case call:
			reply = rule{"tool_calls": []call{r}}
			seen++
		case []call:
			reply = rule{"tool_calls": r}
			seen += len(r)
		default:
			if !ok {
				panic(fmt.Sprintf("a round can't be a %T", round))
			}
			if calls, ok := reply["tool_calls"].([]call); ok {
				seen += len(calls)
			}
		}
		out = append(out, rule{"when": w, "reply": reply})
	}
	return out
}

// options are what a test changes about its rig.
type options struct {
	Options
	tune   tuning
	config string // more YAML
	judge  string // its settings; empty lets everything pass
	ledger string // more of the ledger's settings
	models string // more of the model's settings
	// reviewer is the address of another server for the review, reviewers the
	// names of several models for it.
	reviewer, reviewers string
	// carried keeps the models' time from ending a request that has not arrived.
	carried bool
	// wrap stands between the orchestrator and its model.
	wrap  func(r *rig, main agents.Model) chatFunc
	quiet bool // no log
}

// rig is an orchestrator as a program runs it: a configuration in a folder,
// SQLite, gates, and a model server on loopback.
type rig struct {
	*Orchestrator
	t      testing.TB
	dir    string
	server *scripted.Server
	log    *syncBuffer
	mu     sync.Mutex
	events []sentinel.Event
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func start(t testing.TB, o options, rules ...[]rule) *rig {
	src, err := json.Marshal(map[string]any{"rules": slices.Concat(rules...)})
	require.NoError(t, err)
	script, err := scripted.Load(src)
	require.NoError(t, err)
	r := &rig{t: t, dir: t.TempDir(), log: &syncBuffer{}}
	carrier := &arrival.Carrier{Next: llm.NewHTTPClient().Transport}
	t.Cleanup(carrier.CloseIdleConnections)
	if o.carried {
		o.tune.transport = func(string) http.RoundTripper { return carrier }
	}
	r.server, err = scripted.Serve(context.Background(), script, scripted.Options{Arrived: carrier.OnArrival})
	require.NoError(t, err)
	t.Cleanup(r.server.Close)
	file := filepath.Join(r.dir, "vedette.yaml")
	reviewer, other := "m", ""
	if o.reviewer != "" {
		reviewer, other = "r", fmt.Sprintf("  r: {model: m, base_url: %q, timeout: 20s}\n", o.reviewer)
	}
	if o.reviewers != "" {
		reviewer = o.reviewers
	}
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `version: 1
models:
  m: {model: m, base_url: "%s", timeout: 20s%s}
%sroles: {orchestrator: m, agent: m, sentinel: %s}
judge: %s
ledger: {path: ./v.db%s}
%s`, r.server.BaseURL(), strings.ReplaceAll(o.models, "$URL", r.server.BaseURL()), other, reviewer,
		cmp.Or(o.judge, "{threshold: 0, ask_below: 0}"), o.ledger, o.config), 0o600))
	r.boot(o)
	return r
}

// boot starts the orchestrator over what is in the folder.
func (r *rig) boot(o options) {
	t, file := r.t, filepath.Join(r.dir, "vedette.yaml")
	var known []string
	for _, g := range o.Skills {
		known = append(known, g.Skill().Name())
	}
	cfg, err := config.Load(file, config.Options{KnownSkills: known})
	require.NoError(t, err)
	o.NoReview = !strings.Contains(o.config, "sentinel:")
	o.Log = slog.New(slog.DiscardHandler)
	if !o.quiet {
		o.Log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	observe := o.Observe
	o.Observe = func(e sentinel.Event) {
		r.mu.Lock()
		r.events = append(r.events, e)
		r.mu.Unlock()
		if observe != nil {
			observe(e)
		}
	}
	made, err := newTuned(t.Context(), cfg, o.Options, o.tune)
	require.NoError(t, err)
	r.Orchestrator = made
	t.Cleanup(func() { _ = made.Close(context.Background()) })
	if o.wrap != nil {
		r.models.orchestrator = o.wrap(r, r.models.orchestrator)
	}
}

// restart closes the orchestrator in the midst of its work and starts another
// over the same folder.
func (r *rig) restart(o options) {
	require.NoError(r.t, r.Close(context.Background()))
	r.boot(o)
}

// skill makes a Go skill of a function over one text.
func skill(t testing.TB, name string, effect skills.Effect, out skills.Trust,
	fn func(ctx context.Context, x string) (string, error)) *skills.GoSkill {
	type in struct{ X string }
	g, err := skills.Func(skills.Spec{Name: name, Description: "For tests.", Effect: effect, Output: out, Reaches: skills.Self,
		Timeout: 20 * time.Second},
		func(ctx context.Context, i in) (string, error) { return fn(ctx, i.X) })
	require.NoError(t, err)
	return g
}

// echo is a trusted skill that returns its argument; outside an untrusted one.
func echo(t testing.TB) *skills.GoSkill {
	return skill(t, "note.echo", skills.Read, skills.Trusted, func(_ context.Context, x string) (string, error) { return "echo:" + x, nil })
}

func outside(t testing.TB) *skills.GoSkill {
	return skill(t, "web.read", skills.Read, skills.Untrusted, func(_ context.Context, x string) (string, error) { return "page:" + x, nil })
}

func with(list ...*skills.GoSkill) options { return options{Options: Options{Skills: list}} }

func (r *rig) open(id, user string) *Conversation {
	c, err := r.Open(r.t.Context(), ConversationOptions{ID: id, User: user})
	require.NoError(r.t, err)
	return c
}

// send opens conversation c1 of ann and sends it the request.
func (r *rig) send(request string) Reply {
	reply, err := r.open("c1", "ann").Send(r.t.Context(), request)
	require.NoError(r.t, err)
	return reply
}

// list returns the ledger's records that match.
func (r *rig) list(q ledger.Query) []ledger.Record {
	q.Limit = 1000
	list, err := r.Parts().Ledger.List(context.Background(), q)
	require.NoError(r.t, err)
	return list
}

// verify closes the orchestrator and checks the ledger with its public key.
func (r *rig) verify() {
	key := r.Parts().Keys.LedgerPublic()
	require.NoError(r.t, r.Close(context.Background()))
	rep, err := ledger.Verify(context.Background(), filepath.Join(r.dir, "v.db"), ledger.VerifyOptions{PublicKey: key})
	require.NoError(r.t, err)
	require.Equal(r.t, rep.Records, rep.Proved)
	require.Positive(r.t, rep.Records)
	r.requireHeldEnded()
}

// requireHeldEnded checks that no call of a turn that has ended still waits for a
// person: each question has a decision, or its turn is still to be gone on with.
func (r *rig) requireHeldEnded() {
	st, err := store.OpenReader(context.Background(), filepath.Join(r.dir, "v.db"))
	require.NoError(r.t, err)
	defer func() { require.NoError(r.t, st.Close()) }()
	rows, err := st.Query(context.Background(), `SELECT body FROM ledger_records AS h WHERE kind = 'held'
AND NOT EXISTS (SELECT 1 FROM ledger_records AS d WHERE d.call = h.call AND d.decision = h.decision AND d.kind = 'decision')
AND NOT EXISTS (SELECT 1 FROM history_conversations AS c WHERE c.id = h.conversation
	AND c.turn = json_extract(CAST(h.body AS TEXT), '$.turn'))`)
	require.NoError(r.t, err)
	defer func() { require.NoError(r.t, rows.Close()) }()
	require.False(r.t, rows.Next(), "a question of a turn that has ended has no end on record")
	require.NoError(r.t, rows.Err())
}

// kept returns what the journal has under a turn.
func (r *rig) kept(turn string) map[string][]string {
	list, err := r.Parts().Journal.ByCall(context.Background(), turn)
	require.NoError(r.t, err)
	out := map[string][]string{}
	for _, v := range list {
		require.Equal(r.t, journal.Item{Call: turn, Conversation: "c1", User: "ann", Kind: v.Kind, Data: v.Data, Expires: v.Expires}, v.Item)
		out[v.Kind] = append(out[v.Kind], string(v.Data))
	}
	return out
}

type message struct {
	Role, Content string
	ToolCalls     []struct{ ID string } `json:"tool_calls"`
	ToolCallID    string                `json:"tool_call_id"`
}

// asked returns the messages of every request to a model that offered the
// tool; "" for those that offered none.
func (r *rig) asked(offering string) [][]message {
	var out [][]message
	for _, b := range r.server.Requests() {
		var q struct {
			Messages []message
			Tools    []struct{ Function struct{ Name string } }
		}
		require.NoError(r.t, json.Unmarshal(b, &q))
		has := offering == "" && len(q.Tools) == 0
		for _, tl := range q.Tools {
			has = has || tl.Function.Name == offering
		}
		if has {
			out = append(out, q.Messages)
		}
	}
	return out
}

// told returns the tool results that the orchestrator's model had read when it
// was asked last.
func (r *rig) told() []string {
	asked := r.asked(toolDispatch)
	require.NotEmpty(r.t, asked)
	var out []string
	for _, m := range asked[len(asked)-1] {
		if m.Role == "tool" {
			out = append(out, m.Content)
		}
	}
	return out
}

// views reads the answer of get_agent_results.
func views(t testing.TB, text string) map[string]map[string]any {
	var v struct {
		OK     bool
		Agents []map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	require.True(t, v.OK, text)
	out := map[string]map[string]any{}
	for _, a := range v.Agents {
		out[a["agent_id"].(string)] = a
	}
	return out
}

func states(reply Reply) map[string]agents.State {
	out := map[string]agents.State{}
	for _, a := range reply.Agents {
		out[a.Agent] = a.State
	}
	return out
}

// approver answers with what fn says.
type approver func(ctx context.Context, c sentinel.Call) (sentinel.Verdict, error)

func (f approver) Approve(ctx context.Context, c sentinel.Call, _ sentinel.Decision) (sentinel.Verdict, error) {
	return f(ctx, c)
}

var no = sentinel.Refuse("approval.denied", "a person said no")

// chatFunc is a model in process.
type chatFunc func(ctx context.Context, q llm.Request) (llm.Response, error)

func (f chatFunc) Chat(ctx context.Context, q llm.Request) (llm.Response, error) { return f(ctx, q) }
