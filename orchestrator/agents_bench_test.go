package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

const (
	crewSize  = 1_000
	crewCalls = 5 // what an agent may make by default
)

// crew is what agents and goroutines share: the checkpoint with its store, and
// the journal.
type crew struct {
	b      *testing.B
	parts  *assembly.Parts
	kept   *history.History
	skill  []*skills.Skill
	sup    otp.PID
	parent otp.PID
	got    chan agents.Result
	grants int
}

// collector is the agents' parent.
type collector chan agents.Result

func (collector) Init(*otp.Context) error            { return nil }
func (collector) Terminate(*otp.Context, otp.Reason) {}
func (g collector) Handle(_ *otp.Context, msg any) {
	if f, ok := msg.(agents.Finished); ok {
		g <- f.Result
	}
}

// newCrew puts the database where TMPDIR says.
func newCrew(b *testing.B) *crew {
	dir := b.TempDir()
	file := filepath.Join(dir, "vedette.yaml")
	require.NoError(b, os.WriteFile(file, []byte(`version: 1
models: {m: {model: m, base_url: "http://127.0.0.1:1"}}
roles: {orchestrator: m, agent: m, sentinel: m}
ledger: {path: ./v.db}
limits: {agent: {calls: 20}, turn: {calls: 1000}, conversation: {calls: 1000}}
`), 0o600))
	g := echo(b)
	cfg, err := config.Load(file, config.Options{KnownSkills: []string{g.Skill().Name()}})
	require.NoError(b, err)
	w := &crew{b: b, skill: []*skills.Skill{g.Skill()}, got: make(chan agents.Result, crewSize)}
	w.parts, err = assembly.Build(b.Context(), cfg, assembly.Options{Skills: []*skills.GoSkill{g}, NoReview: true})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, w.parts.Close()) })
	w.kept, err = history.Open(b.Context(), w.parts.Store, w.parts.Journal, history.Options{})
	require.NoError(b, err)
	sys := otp.NewSystem(otp.SystemOptions{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	b.Cleanup(func() { defer cancel(); require.NoError(b, sys.Stop(ctx)) })
	w.parent, err = sys.Start(ctx, otp.ChildSpec{ID: "parent", Start: func() otp.Server { return collector(w.got) }})
	require.NoError(b, err)
	w.sup, err = sys.Start(ctx, otp.DynamicSupervisorSpec("agents", otp.DynamicSupervisorOptions{}))
	require.NoError(b, err)
	return w
}

// desks are as many desks, each of a turn in a conversation of its own.
func (w *crew) desks() []*sentinel.Desk {
	scope, err := skills.NewScope("note.echo")
	require.NoError(w.b, err)
	out := make([]*sentinel.Desk, crewSize)
	for i := range out {
		w.grants++
		id := fmt.Sprint("g", w.grants)
		g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: id, User: "u" + id, Conversation: "c" + id, Turn: "t" + id, Agent: "a",
			Scope: scope})
		require.NoError(w.b, err)
		about := history.Turn{Conversation: g.Conversation(), User: g.User(), Turn: g.Turn()}
		require.NoError(w.b, w.kept.Begin(context.Background(), about))
		out[i] = w.parts.Checkpoint.Desk(g)
	}
	return out
}

// rounds keeps an agent's rounds as an orchestrator's agents have them kept.
type rounds struct {
	w    *crew
	desk *sentinel.Desk
}

func (r rounds) Round(ctx context.Context, v agents.Round) error {
	g := r.desk.Grant()
	about := history.Turn{Conversation: g.Conversation(), User: g.User(), Turn: g.Turn()}
	return r.w.kept.Add(ctx, about, history.NewItem(recordAgentRound, agentRecord{recordVersion, g.ID(), g.Tainted(), false, v, Spent{}}))
}

func (r rounds) End(ctx context.Context, v agents.Result) error {
	g := r.desk.Grant()
	about := history.Turn{Conversation: g.Conversation(), User: g.User(), Turn: g.Turn()}
	return r.w.kept.Add(ctx, about, history.NewItem(recordAgentEnd, agentEndRecord{recordVersion, g.ID(), g.Tainted(), false, v, Spent{}}))
}

// caller is a model that has its agent make crewCalls calls, one after the
// other, and answers done if each of them ran.
func caller(_ context.Context, q llm.Request) (llm.Response, error) {
	ran := 0
	for _, m := range q.Messages {
		if m.Role == llm.RoleTool && strings.Contains(m.Content, `"echo:milk and bread"`) {
			ran++
		}
	}
	if ran == crewCalls {
		return llm.Response{Content: "done"}, nil
	}
	return llm.Response{ToolCalls: []llm.ToolCall{{
		ID: fmt.Sprint("call_", len(q.Messages)), Name: agents.ToolUseSkill,
		Arguments: `{"skill":"note.echo","arguments":{"X":"milk and bread"}}`,
	}}}, nil
}

// work has agents do all calls and returns how long it took, their starts and
// ends included.
func (w *crew) work(journal bool) time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	desks := w.desks()
	began := time.Now()
	var wg sync.WaitGroup
	for i, d := range desks {
		o := agents.Options{ID: fmt.Sprint("a", i), Mission: "m", Model: chatFunc(caller), Invoker: d, Skills: w.skill, Parent: w.parent}
		if journal {
			o.Journal = rounds{w, d}
		}
		a, err := agents.New(o)
		require.NoError(w.b, err)
		wg.Go(func() { // as conversations do: none waits for another's
			if _, err := otp.StartChild(ctx, w.sup, a.Spec()); err != nil {
				w.b.Error(err)
			}
		})
	}
	for range desks {
		if r := <-w.got; r.State != agents.Completed || r.Answer != "done" || r.Calls != crewCalls {
			w.b.Fatal(r)
		}
	}
	wg.Wait()
	return time.Since(began)
}

// plain has bare goroutines do the same calls at desks of the same kind.
func (w *crew) plain() time.Duration {
	desks := w.desks()
	began := time.Now()
	var wg sync.WaitGroup
	for _, d := range desks {
		wg.Go(func() {
			for range crewCalls {
				res, err := d.Invoke(w.b.Context(), "note.echo", json.RawMessage(`{"X":"milk and bread"}`))
				if err != nil || res.Content != "echo:milk and bread" {
					w.b.Error(res, err)
				}
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}

// BenchmarkAgents is 1,000 agents at once that make five calls each, beside
// 1,000 bare goroutines that make the same calls, in turns: each call is
// judged, decided durably, run, and its outcome recorded. %ofplain is the
// agents' throughput in percent of the goroutines'. "kept" agents also have
// every round and their end written down before they go on, which the
// goroutines have not. With TMPDIR=/dev/shm no disk is in it.
func BenchmarkAgents(b *testing.B) {
	for name, journal := range map[string]bool{"bare": false, "kept": true} {
		b.Run(name, func(b *testing.B) {
			w := newCrew(b)
			w.work(journal) // caches warm
			w.plain()
			var ours, twin []time.Duration
			for i := 0; b.Loop(); i++ {
				for _, agentsNow := range []bool{i%2 == 0, i%2 != 0} { // neither always pays for the other's garbage
					runtime.GC()
					if agentsNow {
						ours = append(ours, w.work(journal))
					} else {
						twin = append(twin, w.plain())
					}
				}
			}
			slices.Sort(ours)
			slices.Sort(twin)
			rate := func(d time.Duration) float64 { return crewSize * crewCalls / d.Seconds() }
			mid, worst := len(ours)/2, len(ours)-1
			b.ReportMetric(rate(ours[mid]), "calls/s")
			b.ReportMetric(rate(ours[worst]), "worst-calls/s")
			b.ReportMetric(rate(twin[mid]), "plain-calls/s")
			b.ReportMetric(100*twin[mid].Seconds()/ours[mid].Seconds(), "%ofplain")
			b.ReportMetric(0, "ns/op")
		})
	}
}
