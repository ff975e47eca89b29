package assembly_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cel.dev/cel-go/cel"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

const benchRules = `permissions:
  - {skill: "fs.*", then: ask, when: "args.path.startsWith('/srv/')"}
  - {skill: "shell.exec", then: ask, when: "args.command.contains('deploy')"}
`

const benchWhen = "args.path.startsWith('/srv/')"

// libraries are what the gates lean on, set up as the gates set them up: the
// work that no checkpoint on these libraries could leave out.
type libraries struct {
	schema  *jsonschema.Schema
	program cel.Program
	shell   bool
}

func newLibraries(tb testing.TB, schema, when string, shell bool) libraries {
	tb.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	require.NoError(tb, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(tb, c.AddResource("mem:///s", doc))
	compiled, err := c.Compile("mem:///s")
	require.NoError(tb, err)
	env, err := cel.NewEnv(cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)))
	require.NoError(tb, err)
	ast, iss := env.Compile(when)
	require.NoError(tb, iss.Err())
	prg, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(1_000_000), cel.InterruptCheckFrequency(100))
	require.NoError(tb, err)
	return libraries{compiled, prg, shell}
}

// run does the libraries' own work on one call: canonical form, decoding,
// schema, rule, and for shell the parse.
func (l libraries) run(ctx context.Context, raw []byte) error {
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Canonicalize(); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var args map[string]any
	if err := d.Decode(&args); err != nil {
		return err
	}
	if err := l.schema.Validate(args); err != nil {
		return err
	}
	if _, _, err := l.program.ContextEval(ctx, map[string]any{"args": args}); err != nil {
		return err
	}
	if l.shell {
		if _, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(args["command"].(string)), ""); err != nil {
			return err
		}
	}
	return nil
}

// part is what one of the gates took of each call, or making the call.
type part struct {
	name string
	took []time.Duration
}

// BenchmarkRules measures all rule gates on one call, raw bytes to verdict,
// beside the libraries' own work in the same run. The aim is a ratio of 2. It
// says what each gate took of it, and what making the call did.
func BenchmarkRules(b *testing.B) {
	content := func(n int) string { return strings.Repeat("lorem ipsum ", n/12) }
	for _, tc := range []struct {
		name, skill, args, schema, when string
		shell                           bool
	}{
		{"path", "fs.change", `{"path":"notes/today.md"}`,
			`{"type":"object","required":["path"],"additionalProperties":false,"properties":{"path":{"type":"string"}}}`, benchWhen, false},
		{"shell", "shell.exec", `{"command":"git status && ls -la src | head -20"}`,
			`{"type":"object","required":["command"],"additionalProperties":false,"properties":{"command":{"type":"string"}}}`,
			"args.command.contains('deploy')", true},
		{"content_1KB", "fs.change", `{"path":"` + content(1<<10) + `"}`,
			`{"type":"object","required":["path"],"additionalProperties":false,"properties":{"path":{"type":"string"}}}`, benchWhen, false},
		{"content_10KB", "fs.change", `{"path":"` + content(10<<10) + `"}`,
			`{"type":"object","required":["path"],"additionalProperties":false,"properties":{"path":{"type":"string"}}}`, benchWhen, false},
		{"content_100KB", "fs.change", `{"path":"` + content(100<<10) + `"}`,
			`{"type":"object","required":["path"],"additionalProperties":false,"properties":{"path":{"type":"string"}}}`, benchWhen, false},
		{"shell_10KB", "shell.exec", `{"command":"` + strings.Repeat("echo one two; ", 10<<10/14) + `"}`,
			`{"type":"object","required":["command"],"additionalProperties":false,"properties":{"command":{"type":"string"}}}`,
			"args.command.contains('deploy')", true},
		// What holds a quote is read by the library's parser, as most long command lines are.
		{"shell_10KB_quoted", "shell.exec", `{"command":"` + strings.Repeat("echo 'one' two; ", 10<<10/16) + `"}`,
			`{"type":"object","required":["command"],"additionalProperties":false,"properties":{"command":{"type":"string"}}}`,
			"args.command.contains('deploy')", true},
	} {
		b.Run(tc.name, func(b *testing.B) {
			d, err := assembly.NewDecider(load(b, write(b, benchRules)), assembly.DeciderOptions{})
			require.NoError(b, err)
			b.Cleanup(d.Close)
			g, raw := grant(b, "change today's notes", "fs.change", "shell.exec"), []byte(tc.args)
			libs := newLibraries(b, tc.schema, tc.when, tc.shell)
			spent := []part{{name: "call"}, {name: sentinel.GateSchema}, {name: sentinel.GateScope}, {name: sentinel.GatePermission},
				{name: sentinel.GateGuard}, {name: sentinel.GateJudge}}
			gates := func() {
				start := time.Now()
				c, err := d.NewCall(sentinel.Proposal{Skill: tc.skill, Args: raw, Grant: g})
				if err != nil {
					b.Fatal(err)
				}
				spent[0].took = append(spent[0].took, time.Since(start))
				dec, err := d.Decide(b.Context(), c)
				if err != nil || dec.Outcome == sentinel.Deny {
					b.Fatal(dec.Code, err)
				}
				for i := range spent[1:] {
					v, _ := dec.Verdict(spent[1+i].name)
					spent[1+i].took = append(spent[1+i].took, v.Elapsed)
				}
			}
			bare := func() {
				if err := libs.run(b.Context(), raw); err != nil {
					b.Fatal(err)
				}
			}
			compare(b, gates, bare)
			for _, v := range spent {
				slices.Sort(v.took)
				b.ReportMetric(float64(v.took[len(v.took)/2]), v.name+"-p50-ns")
			}
		})
	}
}

// compare runs both in turns, so that both meet the same machine, and reports
// median and 99th percentile of each, and the ratio of the medians.
func compare(b *testing.B, ours, theirs func()) {
	b.Helper()
	b.ReportAllocs()
	var a, t []int64
	for b.Loop() {
		a = append(a, took(ours))
		t = append(t, took(theirs))
	}
	slices.Sort(a)
	slices.Sort(t)
	for name, v := range map[string][]int64{"ours": a, "libraries": t} {
		b.ReportMetric(float64(v[len(v)/2]), name+"-p50-ns")
		b.ReportMetric(float64(v[len(v)*99/100]), name+"-p99-ns")
	}
	b.ReportMetric(float64(a[len(a)/2])/float64(t[len(t)/2]), "ratio-p50")
}

// BenchmarkDecision measures whole calls of a Go skill through a Desk: judged,
// decided durably, run, and the outcome recorded.
func BenchmarkDecision(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers_%d", callers), func(b *testing.B) {
			g, err := skills.Func(skills.Spec{Name: "notes.add", Effect: skills.Create, Output: skills.Trusted},
				func(context.Context, note) (string, error) { return "ok", nil })
			require.NoError(b, err)
			p, err := assembly.Build(b.Context(),
				load(b, write(b, "limits: {agent: {calls: 10000}, turn: {calls: 10000}, conversation: {calls: 10000}}\n")),
				assembly.Options{Skills: []*skills.GoSkill{g}})
			require.NoError(b, err)
			b.Cleanup(func() { _ = p.Close() })
			var n atomic.Int64
			b.SetParallelism((callers + 1) / 2)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				var desk *sentinel.Desk
				for i := 0; pb.Next(); i++ {
					if i%1000 == 0 { // a desk of its own for every thousand calls: limits and traces stay small
						desk = p.Checkpoint.Desk(benchGrant(b, n.Add(1)))
					}
					if _, err := desk.Invoke(b.Context(), "notes.add", json.RawMessage(`{"text":"milk and bread"}`)); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

func benchGrant(b *testing.B, n int64) sentinel.Grant {
	b.Helper()
	sc, err := skills.NewScope("notes.add")
	if err != nil {
		b.Fatal(err)
	}
	id := fmt.Sprintf("g%d", n)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: id, User: "u", Conversation: "c" + id, Turn: "t" + id, Agent: "a", Scope: sc})
	if err != nil {
		b.Fatal(err)
	}
	return g
}
