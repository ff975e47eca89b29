package sentinel_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// Ids that a record could not hold are refused where they are given.
func TestGrantIDs(t *testing.T) {
	good := sentinel.GrantOptions{ID: "g", User: "u", Conversation: "c", Turn: "t", Agent: "a"}
	_, err := sentinel.NewGrant(good)
	require.NoError(t, err)
	for _, bad := range []string{strings.Repeat("x", 257), "an\nn", "\xff", "c\x7f", "a\tb"} {
		for i, set := range []func(*sentinel.GrantOptions){
			func(o *sentinel.GrantOptions) { o.ID = bad }, func(o *sentinel.GrantOptions) { o.User = bad },
			func(o *sentinel.GrantOptions) { o.Conversation = bad }, func(o *sentinel.GrantOptions) { o.Turn = bad },
			func(o *sentinel.GrantOptions) { o.Agent = bad },
		} {
			o := good
			set(&o)
			g, err := sentinel.NewGrant(o)
			require.Error(t, err, "%q in field %d", bad, i)
			require.Equal(t, sentinel.Grant{}, g, "no grant beside an error")
		}
	}
}

// Grounding is by whole words of the user and of trusted results, never by
// part of a word, nor by what others could have written.
func TestOutwardIsNotTalkedRound(t *testing.T) {
	target := json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","x-target":true},"n":{"type":"integer",` +
		`"x-target":true},"url":{"type":"string","x-url":true}}}`)
	plain := json.RawMessage(`{"type":"object","properties":{"who":{"type":"string"}}}`)
	mail := "mail alice@corp.com and look at evil.company.org, order 17."
	for _, tc := range []struct {
		name   string
		effect skills.Effect
		params json.RawMessage
		args   string
		trace  []sentinel.Step
		want   bool
	}{
		{"the whole address", skills.Modify, target, `{"to":"Alice@corp.com"}`, nil, false},
		{"the end of an address", skills.Modify, target, `{"to":"ce@corp.com"}`, nil, true},
		{"a letter", skills.Modify, target, `{"to":"e"}`, nil, true},
		{"the whole number", skills.Modify, target, `{"n":17}`, nil, false},
		{"another number", skills.Modify, target, `{"n":7}`, nil, true},
		{"an unmarked skill's string", skills.Create, plain, `{"who":"mallory@evil.com"}`, nil, true},
		{"the beginning of a host", skills.Read, target, `{"url":"https://evil.com/?q=1"}`, nil, true},
		{"a host from an untrusted result", skills.Read, target, `{"url":"https://evil.com/"}`,
			[]sentinel.Step{{Result: "see evil.com", Trust: skills.Untrusted}}, true},
		{"a host from a trusted result", skills.Read, target, `{"url":"https://evil.com/"}`,
			[]sentinel.Step{{Result: "see evil.com", Trust: skills.Trusted}}, false},
		{"the whole host", skills.Read, target, `{"url":"https://evil.company.org/a"}`, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := skills.Compile(skills.Spec{Name: "test.do", Effect: tc.effect, Parameters: tc.params})
			require.NoError(t, err)
			reg, err := skills.NewRegistry(s)
			require.NoError(t, err)
			g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", Request: &mail})
			require.NoError(t, err)
			c, err := sentinel.NewCall(reg, touch.Env{NoFS: true},
				sentinel.Proposal{Skill: "test.do", Args: []byte(tc.args), Grant: g, Trace: sentinel.NewTrace(tc.trace...)})
			require.NoError(t, err)
			require.Equal(t, tc.want, c.Outward())
		})
	}
}

// Calls of any size that NewCall admits can be recorded, in every mode, and a
// name that can't is no call.
func TestRecordsFit(t *testing.T) {
	list := "[" + strings.TrimSuffix(strings.Repeat("7,", 9000), ",") + "]"
	for _, args := range []string{`{"x":"` + strings.Repeat("<", 900<<10) + `"}`, `{"x":` + list + `}`} {
		for _, mode := range []sentinel.ValuesMode{sentinel.ValuesKeys, sentinel.ValuesHMAC, sentinel.ValuesFull} {
			b := newBenchFor(t,
				skills.Spec{Name: "test.do", Effect: skills.Modify, Parameters: json.RawMessage(`{"type":"object","properties":{"x":{}}}`)},
				func(o *sentinel.Options, _ *bench) { o.Values = mode }, says("judge", sentinel.Verdict{
					State: sentinel.Judged, Outcome: sentinel.Allow, Reason: strings.Repeat("r", 1<<20), Detail: strings.Repeat("d", 1<<20),
					Evidence: make([]sentinel.Evidence, 100_000),
				}))
			_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(args))
			require.NoError(t, err)
			require.Less(t, len(b.rec.records[0].Body), 128<<10, mode)
			for _, v := range b.rec.records[0].Values {
				require.Less(t, len(v.Data), 2<<20)
			}
		}
	}
	b := newBench(t, nil)
	_, err := b.Desk(grant(t)).Invoke(t.Context(), strings.Repeat("a", 5<<20), nil)
	require.Equal(t, sentinel.CodeSkillName, refusalOf(t, err).Code)
	require.Equal(t, []string{"refused"}, b.rec.kinds())
}

// An outcome that can't be written with its values is written without.
func TestOutcomeWithoutValuesIsBetterThanNone(t *testing.T) {
	b := newBench(t, nil)
	b.rec.fail = func(r sentinel.Record) error {
		if r.Kind == sentinel.RecordOutcome && len(r.Values) > 0 {
			return errors.New("too much")
		}
		return nil
	}
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"decision", "outcome"}, b.rec.kinds())
}

// A malformed proposal over budget is told of the budget, and the record shows
// the slot.
func TestMalformedOverBudget(t *testing.T) {
	b := newBench(t, func(_ *sentinel.Options, b *bench) { b.lim.verdict = outcome(sentinel.Deny, "limits.agent_calls") })
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`[`))
	r := refusalOf(t, err)
	require.Equal(t, skills.KindBudget, r.Kind)
	require.Equal(t, "limits.agent_calls", r.Code)
	require.Contains(t, string(b.rec.records[0].Body), `"code":"limits.agent_calls"`)
}

// What the rate limit leaves out of the ledger is counted there.
func TestSuppressedRefusalsAreCounted(t *testing.T) {
	now := time.Unix(1e9, 0)
	b := newBench(t, func(o *sentinel.Options, _ *bench) { o.Now = func() time.Time { return now } })
	desk := b.Desk(grant(t))
	for range 50 {
		_, _ = desk.Invoke(t.Context(), "", nil)
	}
	require.Len(t, b.rec.kinds(), 20)
	now = now.Add(time.Minute)
	_, _ = desk.Invoke(t.Context(), "", nil)
	require.Len(t, b.rec.kinds(), 21)
	require.Contains(t, string(b.rec.records[20].Body), `"suppressed":30`)
}

// brokenExecutor panics where no executor of ours would.
type brokenExecutor struct{}

func (brokenExecutor) Execute(context.Context, warrant.Warrant, skills.Order) (skills.Result, error) {
	panic("SECRET")
}

// An executor that breaks takes neither the desk nor the record with it.
func TestBrokenExecutor(t *testing.T) {
	b := newBench(t, func(o *sentinel.Options, _ *bench) { o.Executors["test.do"] = brokenExecutor{} })
	desk := b.Desk(grant(t))
	_, err := desk.Invoke(t.Context(), "test.do", nil)
	var f *skills.Failure
	require.ErrorAs(t, err, &f)
	require.True(t, f.Unknown)
	require.Equal(t, []string{"decision", "outcome"}, b.rec.kinds())
	require.Equal(t, "unknown", b.rec.records[1].Outcome)
	require.Equal(t, []bool{false}, b.lim.reported)
	require.True(t, desk.Tainted())
}

// A caller that left before the start runs nothing, and that is on record; one
// that leaves while the skill runs does not take the outcome with it.
func TestCallersThatLeave(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := newBench(t, nil, gate{"judge", func(context.Context, sentinel.Call) (sentinel.Verdict, error) {
		cancel()
		return sentinel.Pass(), nil
	}})
	_, err := b.Desk(grant(t)).Invoke(ctx, "test.do", nil)
	r := refusalOf(t, err)
	require.Equal(t, "limits.canceled", r.Code)
	require.Equal(t, skills.KindDeny, r.Kind)
	require.Empty(t, b.runs())
	require.Equal(t, []string{"decision"}, b.rec.kinds())

	ctx, cancel = context.WithCancel(t.Context())
	b = newBench(t, func(o *sentinel.Options, b *bench) {
		o.Recorder = strict{b.rec}
		b.run = func() (skills.Result, error) { cancel(); return skills.Result{Content: "x"}, nil }
	})
	_, _ = b.Desk(grant(t)).Invoke(ctx, "test.do", nil)
	require.Equal(t, []string{"decision", "outcome"}, b.rec.kinds())
	require.Len(t, b.lim.reported, 1)
}

// strict records nothing for a context that has ended, as a store would.
type strict struct{ r *recorder }

func (s strict) Record(ctx context.Context, r sentinel.Record) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.r.Record(ctx, r)
}

// A degraded verdict marks the decision.
func TestDegradedIsMarked(t *testing.T) {
	v := sentinel.Pass()
	v.Degraded = true
	b := newBench(t, nil, says("review", v))
	c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Grant: grant(t)})
	require.NoError(t, err)
	d, err := b.Decide(t.Context(), c)
	require.NoError(t, err)
	require.True(t, d.Degraded)
	require.True(t, d.Line("1").Degraded)
}

// Only what was handed out before the taint counts as handed out before it.
func TestDelegatedBeforeTheTaint(t *testing.T) {
	var seen skills.Scope
	b := newBench(t, nil, gate{"scope", func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		seen = c.BeforeTaint()
		return sentinel.Pass(), nil
	}})
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "p", Conversation: "c", Agent: "o", Scope: scope(t, "test.*", "email.*")})
	require.NoError(t, err)
	desk := b.Desk(g)
	_, err = desk.Child(sentinel.Child{ID: "a", Agent: "a", Scope: scope(t, "email.read")})
	require.NoError(t, err)
	desk.Taint()
	_, err = desk.Child(sentinel.Child{ID: "b", Agent: "b", Scope: scope(t, "email.send")})
	require.NoError(t, err)
	_, err = desk.Invoke(t.Context(), "test.do", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"email.read"}, seen.List())
}

// A call keeps the trace it was judged with, whatever its desk does later.
func TestTraceIsASnapshot(t *testing.T) {
	var traces []sentinel.Trace
	b := newBench(t, nil, gate{"judge", func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		traces = append(traces, c.Trace())
		return sentinel.Pass(), nil
	}})
	desk := b.Desk(grant(t))
	for range 5 {
		_, err := desk.Invoke(t.Context(), "test.do", nil)
		require.NoError(t, err)
	}
	for i, tr := range traces {
		require.Equal(t, i, tr.Len())
	}
}

// A checkpoint that records needs the key that salts its digests.
func TestDigestKeyIsNeeded(t *testing.T) {
	reg, err := skills.NewRegistry()
	require.NoError(t, err)
	_, err = sentinel.New(sentinel.Options{Registry: reg, Gates: passing(), Recorder: &recorder{}})
	require.ErrorContains(t, err, "key that salts digests")
}

// A recorder that panics takes no slot with it.
func TestBrokenRecorderKeepsNoSlot(t *testing.T) {
	b := newBench(t, nil)
	b.rec.before = func(sentinel.Record) { panic("the recorder broke") }
	require.Panics(t, func() {
		_, _ = b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":1,"to":2}`))
	})
	b.lim.mu.Lock()
	defer b.lim.mu.Unlock()
	require.Equal(t, []int{1, 1}, []int{b.lim.reserved, b.lim.released})
}

// slowReleases is a limiter that hears of calls that did not run only once gate is closed.
type slowReleases struct {
	*limiter
	gate chan struct{}
}

func (l slowReleases) Release(ctx context.Context, skill, callID string) {
	<-l.gate
	l.limiter.Release(ctx, skill, callID)
}

// A call whose caller left waits for no person any more, however slow the limiter is.
func TestLeftCallIsCountedOffBeforeItsSlot(t *testing.T) {
	gate, asked := make(chan struct{}), make(chan struct{}, 1)
	b := newBench(t, func(o *sentinel.Options, b *bench) {
		o.Limiter = slowReleases{b.lim, gate}
		o.Approver = approver(func(ctx context.Context, _ sentinel.Call, _ sentinel.Decision) (sentinel.Verdict, error) {
			asked <- struct{}{}
			<-ctx.Done()
			return sentinel.Verdict{}, ctx.Err()
		})
	}, says("judge", outcome(sentinel.Ask, "judge.x")))
	d := b.Desk(grant(t))
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := d.Invoke(ctx, "test.do", json.RawMessage(`{"to":"x"}`))
		done <- err
	}()
	<-asked
	leave()
	require.NoError(t, d.Withdraw(t.Context()), "the limiter is still waited for")
	close(gate)
	require.ErrorIs(t, <-done, sentinel.ErrHeld)
}
