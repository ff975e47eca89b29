package sentinel_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// gate answers with what check returns.
type gate struct {
	name  string
	check func(context.Context, sentinel.Call) (sentinel.Verdict, error)
}

func (g gate) Name() string { return g.name }

func (g gate) Check(ctx context.Context, c sentinel.Call) (sentinel.Verdict, error) {
	return g.check(ctx, c)
}

func says(name string, v sentinel.Verdict) gate {
	return gate{name, func(context.Context, sentinel.Call) (sentinel.Verdict, error) { return v, nil }}
}

func outcome(o sentinel.Outcome, code string) sentinel.Verdict {
	return sentinel.Verdict{State: sentinel.Judged, Outcome: o, Code: code, Reason: "because " + code}
}

// passing returns the six gates, all allowing, with replacements by name.
func passing(replace ...sentinel.Gate) []sentinel.Gate {
	var gs []sentinel.Gate
	for _, n := range []string{"schema", "scope", "permission", "guard", "judge", "review"} {
		var g sentinel.Gate = says(n, sentinel.Pass())
		for _, r := range replace {
			if r.Name() == n {
				g = r
			}
		}
		gs = append(gs, g)
	}
	return gs
}

// recorder keeps what was recorded and can be told to fail.
type recorder struct {
	mu      sync.Mutex
	records []sentinel.Record
	fail    func(sentinel.Record) error
	onWrite func(sentinel.Record)
	before  func(sentinel.Record) // anything of the record is looked at
}

func (r *recorder) Record(_ context.Context, rec sentinel.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.before != nil {
		r.before(rec)
	}
	if rec.Check != nil {
		if err := rec.Check(); err != nil {
			return err
		}
	}
	if r.fail != nil {
		if err := r.fail(rec); err != nil {
			return err
		}
	}
	if r.onWrite != nil {
		r.onWrite(rec)
	}
	r.records = append(r.records, rec)
	return nil
}

func (r *recorder) kinds() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, rec := range r.records {
		out = append(out, rec.Kind)
	}
	return out
}

// limiter answers with verdict and counts what it is told.
type limiter struct {
	mu       sync.Mutex
	verdict  sentinel.Verdict
	err      error
	reserved int
	last     string // the call that was reserved for
	reported []bool
	released int
}

func (l *limiter) Reserve(_ context.Context, s sentinel.Slot) (sentinel.Verdict, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = s.CallID
	l.reserved++
	return l.verdict, l.err
}

func (l *limiter) Report(_ context.Context, _, _ string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reported = append(l.reported, ok)
}

func (l *limiter) Release(context.Context, string, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released++
}

type approver func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error)

func (a approver) Approve(ctx context.Context, c sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
	return a(ctx, c, d)
}

// bench is a checkpoint with one skill, "test.do", that counts its runs.
type bench struct {
	*sentinel.Checkpoint
	rec  *recorder
	lim  *limiter
	mu   sync.Mutex
	args []string
	run  func() (skills.Result, error)
}

func (b *bench) runs() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.args...)
}

func newBench(t testing.TB, change func(*sentinel.Options, *bench), gates ...sentinel.Gate) *bench {
	t.Helper()
	return newBenchFor(t, skills.Spec{
		Name: "test.do", Effect: skills.Modify,
		Parameters: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"},"key":{"type":"string","x-secret":true}}}`),
	}, change, gates...)
}

func newBenchFor(t testing.TB, spec skills.Spec, change func(*sentinel.Options, *bench), gates ...sentinel.Gate) *bench {
	t.Helper()
	s, err := skills.Compile(spec)
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	sign, verify, err := warrant.NewPair(warrant.Options{})
	require.NoError(t, err)
	b := &bench{rec: &recorder{}, lim: &limiter{verdict: sentinel.Pass()}}
	exec := skills.NewExecutor(verify, s, func(_ context.Context, o skills.Order) (skills.Result, error) {
		b.mu.Lock()
		b.args = append(b.args, o.Args)
		b.mu.Unlock()
		if b.run != nil {
			return b.run()
		}
		return skills.Result{Content: "done"}, nil
	})
	o := sentinel.Options{
		Registry: reg, Gates: passing(gates...), Limiter: b.lim, Recorder: b.rec, Issuer: sign,
		Executors: map[string]skills.Executor{spec.Name: exec}, DigestKey: [32]byte{1},
	}
	if change != nil {
		change(&o, b)
	}
	b.Checkpoint, err = sentinel.New(o)
	require.NoError(t, err)
	return b
}

func grant(t testing.TB) sentinel.Grant {
	t.Helper()
	sc, err := skills.NewScope("test.*")
	require.NoError(t, err)
	req := "please do it"
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "g1", User: "u1", Conversation: "c1", Turn: "t1", Agent: "a1", Mission: "do it",
		MissionBy: sentinel.ByOrchestrator, Request: &req, Scope: sc,
	})
	require.NoError(t, err)
	return g
}

func refusalOf(t *testing.T, err error) *skills.Refusal {
	t.Helper()
	var r *skills.Refusal
	require.ErrorAs(t, err, &r)
	return r
}
