package telemetry

import (
	"context"
	"encoding/json"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// pass is a gate that allows.
type pass string

func (p pass) Name() string { return string(p) }
func (p pass) Check(context.Context, sentinel.Call) (sentinel.Verdict, error) {
	return sentinel.Pass(), nil
}

type nothing struct{}

func (nothing) Reserve(context.Context, sentinel.Slot) (sentinel.Verdict, error) {
	return sentinel.Pass(), nil
}
func (nothing) Report(context.Context, string, string, bool)  {}
func (nothing) Release(context.Context, string, string)       {}
func (nothing) Record(context.Context, sentinel.Record) error { return nil }

// desk decides, records nowhere and runs nothing: what is left is the
// checkpoint's own work, and who looks on.
func desk(tb testing.TB, observe func(sentinel.Event)) (fresh func() *sentinel.Desk) {
	s, err := skills.Compile(skills.Spec{
		Name: "note.write", Description: "For tests.", Effect: skills.Create, Reaches: skills.Self, Output: skills.Trusted,
		Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`), Run: skills.Run{Kind: "native"},
	})
	require.NoError(tb, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(tb, err)
	sign, verify, err := warrant.NewPair(warrant.Options{})
	require.NoError(tb, err)
	exec := skills.NewExecutor(verify, s, func(context.Context, skills.Order) (skills.Result, error) { return skills.Result{}, nil })
	var list []sentinel.Gate
	for _, n := range []string{"schema", "scope", "permission", "guard", "judge", "review"} {
		list = append(list, pass(n))
	}
	p, err := sentinel.New(sentinel.Options{
		Registry: reg, Gates: list, Env: touch.Env{}, Limiter: nothing{}, Recorder: nothing{}, Issuer: sign, DigestKey: [32]byte{1},
		Executors: map[string]skills.Executor{"note.write": exec}, Observe: observe,
	})
	require.NoError(tb, err)
	sc, err := skills.NewScope("note.write")
	require.NoError(tb, err)
	text := "go"
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "g", User: "u", Conversation: "c", Turn: "t", Agent: "a", Mission: "go", MissionBy: sentinel.ByUser, Request: &text, Scope: sc,
		Calls: 1 << 30,
	})
	require.NoError(tb, err)
	return func() *sentinel.Desk { return p.Desk(g) } // one that has returned much takes long to say so
}

// events are what a decision and an outcome tell an observer.
func events(tb testing.TB) []sentinel.Event {
	var list []sentinel.Event
	_, err := desk(tb, func(e sentinel.Event) { list = append(list, e) })().Invoke(tb.Context(), "note.write", []byte(`{"text":"x"}`))
	require.NoError(tb, err)
	require.Len(tb, list, 2)
	return list
}

// What an observer costs a call: its decision and its outcome. Beside it, the
// same events to no observer.
func BenchmarkObserver(b *testing.B) {
	list := events(b)
	m := NewMetrics(Names{Skills: []string{"note.write"}}, nil)
	run := func(name string, observe func(sentinel.Event)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, e := range list {
					observe(e)
				}
			}
		})
	}
	run("nobody", func(sentinel.Event) {})
	run("metrics", m.Event)
	for name, sampler := range map[string]sdktrace.Sampler{"traces-unsampled": sdktrace.NeverSample(), "traces": sdktrace.AlwaysSample()} {
		tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithSyncer(tracetest.NewNoopExporter()))
		t := NewTracer(tp, []string{"note.write"}, nil)
		var ctx context.Context
		var span Span
		run(name, func(e sentinel.Event) {
			if e.Kind == sentinel.RecordDecision {
				ctx, span = t.Call(context.Background(), "note.write")
			}
			e.Context = ctx
			if t.Event(e); e.Kind == sentinel.RecordOutcome {
				t.EndCall(span, nil)
			}
		})
	}
}

// The whole call goes through a desk whose gates allow at once and whose recorder writes
// nothing. It runs with and without an observer.
func BenchmarkDecision(b *testing.B) {
	m := NewMetrics(Names{Skills: []string{"note.write"}}, nil)
	for name, observe := range map[string]func(sentinel.Event){"without": nil, "metrics": m.Event} {
		d := desk(b, observe)
		args := []byte(`{"text":"x"}`)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d().Invoke(b.Context(), "note.write", args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
