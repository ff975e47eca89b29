package sentinel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// seer is a review that is told of calls ahead; foresee is what it does then.
type seer struct {
	gate
	mu      sync.Mutex
	seen    []sentinel.Call
	foresee func(context.Context, sentinel.Call)
}

func newSeer() *seer { return &seer{gate: says(sentinel.GateReview, sentinel.Pass())} }

func (s *seer) Prejudge(ctx context.Context, c sentinel.Call) {
	s.mu.Lock()
	s.seen = append(s.seen, c)
	s.mu.Unlock()
	if s.foresee != nil {
		s.foresee(ctx, c)
	}
}

// toldOf returns the calls by the digit in their argument.
func (s *seer) toldOf() map[string]sentinel.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]sentinel.Call{}
	for _, c := range s.seen {
		out[strings.Trim(c.Args(), `{"to:}`)] = c
	}
	return out
}

func proposals(args ...string) []skills.Proposed {
	var out []skills.Proposed
	for _, a := range args {
		out = append(out, skills.Proposed{Skill: "test.do", Args: json.RawMessage(`{"to":"` + a + `"}`)})
	}
	return out
}

// about is a gate that answers calls with the argument so, and lets all others
// pass.
func about(name, arg string, v sentinel.Verdict) gate {
	return gate{name, func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		if strings.Contains(c.Args(), `"`+arg+`"`) {
			return v, nil
		}
		return sentinel.Pass(), nil
	}}
}

func does(output skills.Trust) skills.Spec {
	return skills.Spec{Name: "test.do", Effect: skills.Modify, Output: output,
		Parameters: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`)}
}

// The review is told of all calls but the first, each as it will probably be
// asked about: after a step of each before it that passes the rules, tainted by
// those that return what others could have written, with the judge's findings.
// Nothing is recorded, counted or run.
func TestAheadShowsWhatWillBeAsked(t *testing.T) {
	for output, taints := range map[skills.Trust]bool{skills.Untrusted: true, skills.Trusted: false} {
		t.Run(string(output), func(t *testing.T) {
			s := newSeer()
			b := newBenchFor(t, does(output), nil, s,
				says(sentinel.GateJudge, sentinel.Verdict{State: sentinel.Judged, Outcome: sentinel.Allow, Score: 61, HasScore: true}))
			d := b.Desk(grant(t))
			d.Prejudge(t.Context(), proposals("1", "2", "3"))
			told := s.toldOf()
			require.Len(t, told, 2)
			for i, n := range []string{"2", "3"} {
				c, ok := told[n]
				require.True(t, ok)
				require.Equal(t, taints, c.Tainted(), n)
				require.Equal(t, taints, c.Grant().Tainted(), n)
				require.Equal(t, "u1", c.Grant().User())
				require.Equal(t, i+1, c.Trace().Len())
				for j := range i + 1 {
					st := c.Trace().Step(j)
					require.Equal(t, []any{"test.do", fmt.Sprintf(`{"to":"%d"}`, j+1), "", output, skills.Modify},
						[]any{st.Skill, st.Args, st.Result, st.Trust, st.Effect})
				}
				f, ok := c.Findings()
				require.True(t, ok)
				require.Equal(t, 61, f.Score)
			}
			require.Empty(t, b.rec.records)
			require.Zero(t, b.lim.reserved)
			require.Empty(t, b.runs())
			require.False(t, d.Tainted(), "nothing has happened")
			require.Zero(t, d.Trace().Len())
		})
	}
}

// A call that the rules hold back, that is none, that is paused or can't be
// rewritten is not told of and leaves no step; where it was refused for what it
// is, those after it know. One that a person may still allow is told of.
func TestAheadLeavesOutWhatWontBeAsked(t *testing.T) {
	refused := outcome(sentinel.Deny, "guard.no")
	deferred := outcome(sentinel.Defer, "guard.later")
	for name, tc := range map[string]struct {
		gates    []sentinel.Gate
		second   skills.Proposed
		told     bool
		refusals int
	}{
		"allowed":      {nil, proposals("2")[0], true, 0},
		"denied":       {[]sentinel.Gate{about(sentinel.GateGuard, "2", refused)}, proposals("2")[0], false, 1},
		"deferred":     {[]sentinel.Gate{about(sentinel.GateGuard, "2", deferred)}, proposals("2")[0], false, 0},
		"wrong schema": {[]sentinel.Gate{about(sentinel.GateSchema, "2", outcome(sentinel.Deny, "schema.no"))}, proposals("2")[0], false, 0},
		"asked about": {[]sentinel.Gate{about(sentinel.GatePermission, "2", outcome(sentinel.Ask, "permission.ask"))}, proposals("2")[0], true,
			0},
		"skipped": {[]sentinel.Gate{about(sentinel.GateJudge, "2", sentinel.Verdict{State: sentinel.Skipped})}, proposals("2")[0], true, 0},
		"said aside": {[]sentinel.Gate{about(sentinel.GateJudge, "2", sentinel.Verdict{State: sentinel.Shadow, Outcome: sentinel.Deny})},
			proposals("2")[0], false, 0},
		"no call": {nil, skills.Proposed{Skill: "test.do", Args: json.RawMessage(`{"to":"2","to":"3"}`)}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeer()
			b := newBenchFor(t, does(skills.Trusted), nil, append([]sentinel.Gate{s}, tc.gates...)...)
			b.Desk(grant(t)).Prejudge(t.Context(), []skills.Proposed{proposals("1")[0], tc.second, proposals("3")[0]})
			told := s.toldOf()
			_, second := told["2"]
			require.Equal(t, tc.told, second)
			last, ok := told["3"]
			require.True(t, ok)
			require.Len(t, told, 1+map[bool]int{true: 1}[tc.told])
			require.Equal(t, 1+map[bool]int{true: 1}[tc.told], last.Trace().Len())
			require.Len(t, last.Trace().Refusals(), tc.refusals)
			if tc.refusals > 0 {
				no := last.Trace().Refusals()[0]
				require.Equal(t, []any{"test.do", sentinel.GateGuard, "guard.no"}, []any{no.Skill, no.Gate, no.Code})
				require.NotEmpty(t, no.Digest)
			}
		})
	}
}

// Nobody is told of one call alone, of calls while they are paused, by a review
// that is not told ahead, or by a desk of no checkpoint.
func TestAheadOfNothing(t *testing.T) {
	s := newSeer()
	b := newBenchFor(t, does(skills.Trusted), nil, s)
	d := b.Desk(grant(t))
	d.Prejudge(t.Context(), nil)
	d.Prejudge(t.Context(), proposals("1"))
	new(sentinel.Desk).Prejudge(t.Context(), proposals("1", "2"))
	var log bytes.Buffer
	newBenchFor(t, does(skills.Trusted),
		func(o *sentinel.Options, _ *bench) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) }).Desk(grant(t)).Prejudge(t.Context(),
		proposals("1", "2"))
	require.Empty(t, log.String())
	sw := &pauser{}
	sw.set("user")
	newBenchFor(t, does(skills.Trusted), func(o *sentinel.Options, _ *bench) { o.Pauser = sw }, s).Desk(grant(t)).Prejudge(t.Context(),
		proposals("1", "2"))
	require.Empty(t, s.toldOf())
	d.Prejudge(t.Context(), proposals("1", "2"))
	require.Len(t, s.toldOf(), 1)
}

// What has happened before is in the trace of what is told ahead, and the review
// is told and not asked.
func TestAheadGoesOnFromTheTrace(t *testing.T) {
	s := newSeer()
	var asked atomic.Int32
	s.check = func(context.Context, sentinel.Call) (sentinel.Verdict, error) {
		asked.Add(1)
		return sentinel.Pass(), nil
	}
	d := newBenchFor(t, does(skills.Trusted), nil, s).Desk(grant(t))
	_, err := d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"0"}`))
	require.NoError(t, err)
	require.Equal(t, int32(1), asked.Load())
	d.Prejudge(t.Context(), proposals("1", "2"))
	require.Equal(t, int32(1), asked.Load())
	c := s.toldOf()["2"]
	require.Equal(t, 2, c.Trace().Len())
	require.Equal(t, `{"to":"0"}`, c.Trace().Step(0).Args)
	require.Equal(t, "done", c.Trace().Step(0).Result)
}

// What was handed out before the taint is known of what is told ahead, too.
func TestAheadKnowsWhatWasHandedOut(t *testing.T) {
	s := newSeer()
	b := newBenchFor(t, does(skills.Trusted), nil, s)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "p", Conversation: "c", Agent: "o", Scope: scope(t, "test.*", "email.*")})
	require.NoError(t, err)
	d := b.Desk(g)
	_, err = d.Child(sentinel.Child{ID: "a", Agent: "a", Scope: scope(t, "email.read")})
	require.NoError(t, err)
	d.Taint()
	d.Prejudge(t.Context(), proposals("1", "2"))
	c := s.toldOf()["2"]
	require.Equal(t, []string{"email.read"}, c.BeforeTaint().List())
	require.True(t, c.Tainted())
}

// second is a pauser that pauses the second call that it is asked about.
type second struct{ asked atomic.Int32 }

func (p *second) Paused(string, string) (sentinel.Pause, bool) {
	return sentinel.Pause{Scope: "user"}, p.asked.Add(1) == 2
}

// A call that is paused meanwhile takes nothing from those after it.
func TestAheadOfAPausedCall(t *testing.T) {
	s := newSeer()
	b := newBenchFor(t, does(skills.Trusted), func(o *sentinel.Options, _ *bench) { o.Pauser = &second{} }, s)
	b.Desk(grant(t)).Prejudge(t.Context(), proposals("1", "2", "3"))
	require.Len(t, s.toldOf(), 1)
	c := s.toldOf()["3"]
	require.Equal(t, 1, c.Trace().Len())
}

// brittle is a pauser that breaks.
type brittle struct{}

func (brittle) Paused(string, string) (sentinel.Pause, bool) { panic("broken") }

// Whatever breaks while calls are looked at ahead is told, and nobody is asked.
func TestAheadContainsABrokenPauser(t *testing.T) {
	var log bytes.Buffer
	s := newSeer()
	b := newBenchFor(t, does(skills.Trusted), func(o *sentinel.Options, _ *bench) {
		o.Pauser, o.Log = brittle{}, slog.New(slog.NewTextHandler(&log, nil))
	}, s)
	require.NotPanics(t, func() { b.Desk(grant(t)).Prejudge(t.Context(), proposals("1", "2")) })
	require.Empty(t, s.toldOf())
}

// Eight are judged ahead at a time, and Prejudge returns when all have ended, or
// soon after its caller has.
func TestAheadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, ended atomic.Int32
		s := newSeer()
		s.foresee = func(ctx context.Context, _ sentinel.Call) {
			most.Store(max(most.Load(), now.Add(1)))
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			now.Add(-1)
			ended.Add(1)
		}
		d := newBenchFor(t, does(skills.Trusted), nil, s).Desk(grant(t))
		var args []string
		for i := range 21 {
			args = append(args, fmt.Sprint(i))
		}
		began := time.Now()
		d.Prejudge(t.Context(), proposals(args...))
		require.Equal(t, int32(20), ended.Load())
		require.Equal(t, int32(8), most.Load())
		require.Equal(t, 3*time.Second, time.Since(began))

		ended.Store(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		d.Prejudge(ctx, proposals(args...))
		require.Equal(t, int32(8), ended.Load(), "those that were begun have ended, and no other was")
	})
}

// A review or a rule that breaks ahead of time breaks nothing else, and is told.
func TestAheadContainsPanics(t *testing.T) {
	var log bytes.Buffer
	s := newSeer()
	s.foresee = func(_ context.Context, c sentinel.Call) {
		if strings.Contains(c.Args(), "2") {
			panic("broken")
		}
	}
	b := newBenchFor(t, does(skills.Trusted), func(o *sentinel.Options, _ *bench) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) }, s)
	b.Desk(grant(t)).Prejudge(t.Context(), proposals("1", "2", "3"))
	require.Len(t, s.toldOf(), 2)
	require.Equal(t, 1, strings.Count(log.String(), "judging ahead panicked"))
}

// rewriter is a permission gate that rewrites, or can't.
type rewriter struct {
	gate
	modify func(sentinel.Call) (sentinel.Rewrite, error)
}

func (r rewriter) Modify(_ context.Context, c sentinel.Call) (sentinel.Rewrite, error) {
	return r.modify(c)
}

// What can't be rewritten won't be asked about, and a rule that panics ahead of
// time leaves the others.
func TestAheadOfRulesThatRewrite(t *testing.T) {
	for name, fails := range map[string]func() (sentinel.Rewrite, error){
		"an error": func() (sentinel.Rewrite, error) { return sentinel.Rewrite{}, fmt.Errorf("no") },
		"a panic":  func() (sentinel.Rewrite, error) { panic("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeer()
			r := rewriter{says(sentinel.GatePermission, sentinel.Pass()), func(c sentinel.Call) (sentinel.Rewrite, error) {
				if strings.Contains(c.Args(), "2") {
					return fails()
				}
				return sentinel.Rewrite{}, nil
			}}
			newBenchFor(t, does(skills.Trusted), nil, s, r).Desk(grant(t)).Prejudge(t.Context(), proposals("1", "2", "3"))
			told := s.toldOf()
			require.Len(t, told, 1)
			require.Equal(t, 1, told["3"].Trace().Len())
		})
	}
}
