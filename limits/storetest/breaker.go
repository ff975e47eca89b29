package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
	"pgregory.net/rapid"
)

var rule = limits.Rule{Failures: 3, Window: time.Minute, OpenFor: 30 * time.Second}

const skill = "skill/email.send"

func admitCall(t *testing.T, h Harness, call string) limits.Admission {
	t.Helper()
	got, err := h.Store.Admit(t.Context(), skill, call, rule)
	require.NoError(t, err)
	return got
}

func settleCall(t *testing.T, h Harness, call string, outcome limits.Outcome) {
	t.Helper()
	require.NoError(t, h.Store.Settle(t.Context(), skill, call, outcome, rule))
}

func requireState(t *testing.T, h Harness, want limits.State) {
	t.Helper()
	got, err := h.Store.State(t.Context(), skill, rule)
	require.NoError(t, err)
	require.Equal(t, want.String(), got.String())
}

// openBreaker opens the breaker now.
func openBreaker(t *testing.T, h Harness) {
	t.Helper()
	for i := range rule.Failures {
		requireState(t, h, limits.Closed)
		settleCall(t, h, fmt.Sprint("trip", i), limits.Failed)
	}
	requireState(t, h, limits.Open)
}

func testBreakerLife(t *testing.T, h Harness) {
	require.Equal(t, limits.Admission{OK: true}, admitCall(t, h, "1"))
	openBreaker(t, h)
	require.Equal(t, limits.Admission{RetryAfter: rule.OpenFor}, admitCall(t, h, "2"))
	h.Shift(rule.OpenFor - time.Millisecond)
	require.Equal(t, limits.Admission{RetryAfter: time.Millisecond}, admitCall(t, h, "2"))
	h.Shift(time.Millisecond)
	requireState(t, h, limits.HalfOpen)
	require.Equal(t, limits.Admission{OK: true, Probe: true}, admitCall(t, h, "3"))
	settleCall(t, h, "3", limits.Failed)
	requireState(t, h, limits.Open)
	require.Equal(t, limits.Admission{RetryAfter: rule.OpenFor}, admitCall(t, h, "4"))
	h.Shift(rule.OpenFor)
	require.True(t, admitCall(t, h, "5").Probe)
	settleCall(t, h, "5", limits.Succeeded)
	requireState(t, h, limits.Closed)
	// The old failures are gone: it takes three new ones.
	openBreaker(t, h)
}

func testFailuresSlide(t *testing.T, h Harness) {
	settleCall(t, h, "1", limits.Failed)
	settleCall(t, h, "1", limits.Failed)
	settleCall(t, h, "1", limits.Failed)
	requireState(t, h, limits.Closed)
	h.Shift(time.Second)
	settleCall(t, h, "1", limits.Failed) // Told again, it counts from when it was told first.
	settleCall(t, h, "2", limits.Failed)
	settleCall(t, h, "ok", limits.Succeeded) // A success between failures excuses none.
	settleCall(t, h, "gone", limits.Abandoned)
	h.Shift(rule.Window - time.Second)
	settleCall(t, h, "3", limits.Failed) // The first has just left.
	requireState(t, h, limits.Closed)
	h.Shift(time.Second - time.Millisecond)
	settleCall(t, h, "4", limits.Failed) // The second is about to.
	requireState(t, h, limits.Open)
}

func testOneProbe(t *testing.T, h Harness) {
	openBreaker(t, h)
	h.Shift(rule.OpenFor)
	got := countYes(t, 200, func(i int) (bool, error) {
		a, err := h.Store.Admit(t.Context(), skill, fmt.Sprint(i), rule)
		return a.OK, err
	})
	require.Equal(t, 1, got)
	require.Equal(t, limits.Admission{RetryAfter: rule.OpenFor}, admitCall(t, h, "late"))
}

func testLostProbe(t *testing.T, h Harness) {
	openBreaker(t, h)
	h.Shift(rule.OpenFor)
	require.True(t, admitCall(t, h, "1").Probe)
	require.True(t, admitCall(t, h, "1").Probe, "asking again is the same probe")
	require.False(t, admitCall(t, h, "2").OK)
	settleCall(t, h, "2", limits.Abandoned) // Not the probe's to give back.
	require.False(t, admitCall(t, h, "2").OK)
	settleCall(t, h, "1", limits.Abandoned)
	require.True(t, admitCall(t, h, "2").Probe)

	h.Shift(rule.OpenFor - time.Millisecond)
	require.Equal(t, limits.Admission{RetryAfter: time.Millisecond}, admitCall(t, h, "3"))
	h.Shift(time.Millisecond)
	require.True(t, admitCall(t, h, "3").Probe, "the second never came back")
	settleCall(t, h, "2", limits.Succeeded)
	requireState(t, h, limits.HalfOpen)
	settleCall(t, h, "3", limits.Succeeded)
	requireState(t, h, limits.Closed)
}

func testLateAnswers(t *testing.T, h Harness) {
	require.True(t, admitCall(t, h, "slow1").OK)
	require.True(t, admitCall(t, h, "slow2").OK)
	openBreaker(t, h)
	settleCall(t, h, "slow1", limits.Succeeded)
	requireState(t, h, limits.Open)
	h.Shift(rule.OpenFor - time.Second)
	settleCall(t, h, "slow2", limits.Failed)
	h.Shift(time.Second)
	requireState(t, h, limits.HalfOpen) // The late failure didn't prolong it,
	require.True(t, admitCall(t, h, "probe").Probe)
	settleCall(t, h, "slow2", limits.Failed)
	settleCall(t, h, "slow1", limits.Succeeded)
	requireState(t, h, limits.HalfOpen) // nor decide in the probe's place.
}

func testBreakersApart(t *testing.T, h Harness) {
	openBreaker(t, h)
	got, err := h.Store.Admit(t.Context(), "skill/email.read", "1", rule)
	require.NoError(t, err)
	require.Equal(t, limits.Admission{OK: true}, got)
	// Forgetting is for buckets.
	require.NoError(t, h.Store.Forget(t.Context(), "skill"))
	requireState(t, h, limits.Open)
}

func testBreakerClockSetBack(t *testing.T, h Harness) {
	h.Shift(time.Hour)
	settleCall(t, h, "1", limits.Failed)
	settleCall(t, h, "2", limits.Failed)
	h.Shift(-2 * time.Hour)
	settleCall(t, h, "3", limits.Failed)
	require.Equal(t, limits.Admission{RetryAfter: rule.OpenFor}, admitCall(t, h, "4"))
	h.Shift(2 * time.Hour)
	requireState(t, h, limits.Open)
	h.Shift(rule.OpenFor)
	require.True(t, admitCall(t, h, "4").Probe)
	h.Shift(-time.Hour)
	require.False(t, admitCall(t, h, "5").OK)
}

func testMalformedBreaker(t *testing.T, h Harness) {
	bad := []limits.Rule{
		{}, {Failures: 1, Window: time.Second}, {Failures: 1, OpenFor: time.Second}, {Window: time.Second, OpenFor: time.Second},
	}
	for _, r := range bad {
		got, err := h.Store.Admit(t.Context(), skill, "1", r)
		require.ErrorIs(t, err, limits.ErrRequest)
		require.False(t, got.OK)
		require.ErrorIs(t, h.Store.Settle(t.Context(), skill, "1", limits.Failed, r), limits.ErrRequest)
		_, err = h.Store.State(t.Context(), skill, r)
		require.ErrorIs(t, err, limits.ErrRequest)
	}
	_, err := h.Store.Admit(t.Context(), "", "1", rule)
	require.ErrorIs(t, err, limits.ErrRequest)
	_, err = h.Store.Admit(t.Context(), skill, "", rule)
	require.ErrorIs(t, err, limits.ErrRequest)
	require.ErrorIs(t, h.Store.Settle(t.Context(), skill, "1", 0, rule), limits.ErrRequest)
	require.ErrorIs(t, h.Store.Settle(t.Context(), skill, "1", limits.Abandoned+1, rule), limits.ErrRequest)
	requireState(t, h, limits.Closed)
}

// breakerModel is a breaker that keeps its failures in a list for ever.
type breakerModel struct {
	bucketModel
	failed          []event
	closedAt        int // failures before this index are settled
	openUntil       time.Duration
	probe           string
	probeUntil      time.Duration
	probed, tripped bool
}

func (m *breakerModel) stateNow() limits.State {
	switch {
	case !m.tripped:
		return limits.Closed
	case m.latest < m.openUntil:
		return limits.Open
	}
	return limits.HalfOpen
}

func (m *breakerModel) admitCall(call string, r limits.Rule) limits.Admission {
	switch m.stateNow() {
	case limits.Closed:
		return limits.Admission{OK: true}
	case limits.Open:
		return limits.Admission{RetryAfter: m.openUntil - m.latest}
	}
	if m.probed && m.probe != call {
		if wait := m.probeUntil - m.latest; wait > 0 {
			return limits.Admission{RetryAfter: wait}
		}
	}
	if !m.probed || m.probe != call {
		m.probed, m.probe, m.probeUntil = true, call, m.latest+r.OpenFor
	}
	return limits.Admission{OK: true, Probe: true}
}

func (m *breakerModel) settleCall(call string, o limits.Outcome, r limits.Rule) {
	open := func() { m.tripped, m.probed, m.openUntil = true, false, m.latest+r.OpenFor }
	if m.stateNow() == limits.Closed {
		if o != limits.Failed {
			return
		}
		calls := map[string]bool{}
		for _, e := range m.failed[m.closedAt:] {
			if e.at+r.Window > m.latest {
				calls[e.id] = true
			}
		}
		if !calls[call] {
			m.failed, calls[call] = append(m.failed, event{id: call, at: m.latest}), true
		}
		if len(calls) >= r.Failures {
			open()
		}
		return
	}
	if !m.probed || m.probe != call {
		return
	}
	switch o {
	case limits.Succeeded:
		m.tripped, m.probed, m.closedAt = false, false, len(m.failed)
	case limits.Failed:
		open()
	case limits.Abandoned:
		m.probed = false
	}
}

func testBreakerModel(t *testing.T, open Open) {
	r := limits.Rule{Failures: 3, Window: 20 * time.Millisecond, OpenFor: 8 * time.Millisecond}
	rapid.Check(t, func(rt *rapid.T) {
		h, m := open(t), &breakerModel{}
		call := rapid.Map(rapid.IntRange(0, 5), func(n int) string { return fmt.Sprint(n) })
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				if got, err := h.Store.State(t.Context(), skill, r); err != nil || got != m.stateNow() {
					rt.Fatalf("state: got %v, %v; want %v", got, err, m.stateNow())
				}
			},
			"admit": func(rt *rapid.T) {
				id := call.Draw(rt, "call")
				got, err := h.Store.Admit(t.Context(), skill, id, r)
				if want := m.admitCall(id, r); err != nil || got != want {
					rt.Fatalf("admit %s: got %+v, %v; want %+v", id, got, err, want)
				}
			},
			"settle": func(rt *rapid.T) {
				id := call.Draw(rt, "call")
				o := rapid.SampledFrom([]limits.Outcome{limits.Failed, limits.Failed, limits.Succeeded, limits.Abandoned}).Draw(rt, "outcome")
				if err := h.Store.Settle(t.Context(), skill, id, o, r); err != nil {
					rt.Fatal(err)
				}
				m.settleCall(id, o, r)
			},
			"shift": func(rt *rapid.T) {
				d := drawMillis(0, 12).Draw(rt, "by")
				h.Shift(d)
				m.latest += d
			},
		})
	})
}
