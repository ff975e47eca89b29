package sentinel_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

type pauser struct{ scope atomic.Pointer[string] }

func (p *pauser) set(scope string) { p.scope.Store(&scope) }

func (p *pauser) Paused(user, skill string) (sentinel.Pause, bool) {
	s := p.scope.Load()
	if s == nil || user != "u1" || skill == "" {
		return sentinel.Pause{}, false
	}
	return sentinel.Pause{Scope: *s}, true
}

// A paused proposal is refused as such, on record with every gate, uses no
// slot and runs nothing; also one that is malformed.
func TestPausedCallsAreRefused(t *testing.T) {
	sw := &pauser{}
	b := newBench(t, func(o *sentinel.Options, _ *bench) { o.Pauser = sw })
	d := b.Desk(grant(t))
	_, err := d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"x"}`))
	require.NoError(t, err)
	require.Equal(t, 1, b.lim.reserved)

	sw.set("user")
	_, err = d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"x"}`))
	r := refusalOf(t, err)
	require.Equal(t, skills.KindPaused, r.Kind)
	require.Equal(t, sentinel.CodePaused, r.Code)
	require.Contains(t, r.Reason, "this user's work")
	last := b.rec.records[len(b.rec.records)-1]
	require.Equal(t, sentinel.RecordDecision, last.Kind)
	require.Equal(t, "deny", last.Outcome)
	require.Equal(t, sentinel.GateLimits, last.Gate)
	require.Empty(t, last.Spend)

	_, err = d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"x","to":"y"}`))
	require.Equal(t, skills.KindPaused, refusalOf(t, err).Kind)
	require.Equal(t, 1, b.lim.reserved, "no slot was used")
	require.Len(t, b.runs(), 1)
}

// Calls that were allowed before the pause, by the gates or by a person, don't
// start after it.
func TestPauseCatchesAllowedCalls(t *testing.T) {
	t.Run("while the gates judged", func(t *testing.T) {
		sw := &pauser{}
		judge := gate{"judge", func(context.Context, sentinel.Call) (sentinel.Verdict, error) {
			sw.set("skill")
			return sentinel.Pass(), nil
		}}
		b := newBench(t, func(o *sentinel.Options, _ *bench) { o.Pauser = sw }, judge)
		_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{}`))
		require.Equal(t, skills.KindPaused, refusalOf(t, err).Kind)
		require.Equal(t, []string{"decision"}, b.rec.kinds())
		require.Empty(t, b.runs())
	})
	t.Run("while a person was asked", func(t *testing.T) {
		sw := &pauser{}
		var waiting []sentinel.InFlight
		var b *bench
		b = newBench(t, func(o *sentinel.Options, _ *bench) {
			o.Pauser = sw
			o.Approver = approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
				waiting = b.InFlight()
				sw.set("all")
				return sentinel.Pass(), nil
			})
		}, says("judge", sentinel.Hold("judge.ask_below", "unsure")))
		_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{}`))
		require.Equal(t, skills.KindPaused, refusalOf(t, err).Kind)
		require.Equal(t, []string{"held", "decision"}, b.rec.kinds())
		require.Empty(t, b.runs())
		require.Len(t, waiting, 1)
		require.Equal(t, sentinel.PhaseApproval, waiting[0].Phase)
		require.Empty(t, b.InFlight())
	})
}

// A call that a person has approved is listed as one that waits for its places, until it
// has them.
func TestWaitForPlacesIsAPhase(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	var asked, readmitted, running []sentinel.InFlight
	var b *bench
	b = newBench(t, func(o *sentinel.Options, _ *bench) {
		o.Now = func() time.Time { return at }
		o.Approver = approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
			asked = b.InFlight()
			at = at.Add(time.Minute)
			return yesFrom("ann", "web"), nil
		})
		o.Readmit = func(context.Context, sentinel.Call) error {
			readmitted = b.InFlight()
			at = at.Add(time.Minute)
			return nil
		}
	}, askingJudge())
	b.run = func() (skills.Result, error) { running = b.InFlight(); return skills.Result{}, nil }
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{}`))
	require.NoError(t, err)
	require.Len(t, asked, 1)
	require.Equal(t, sentinel.PhaseApproval, asked[0].Phase)
	require.Len(t, readmitted, 1, "it is in flight while it waits for its places")
	require.Equal(t, "awaiting_places", readmitted[0].Phase)
	require.Equal(t, asked[0].CallID, readmitted[0].CallID)
	require.Equal(t, time.Minute, readmitted[0].Since.Sub(asked[0].Since), "since the yes")
	require.Len(t, running, 1)
	require.Equal(t, sentinel.PhaseRunning, running[0].Phase)
	require.Empty(t, b.InFlight())
}

// What runs is listed while it runs, and no longer.
func TestInFlight(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	b := newBench(t, func(o *sentinel.Options, _ *bench) { o.Now = func() time.Time { return at } })
	var seen []sentinel.InFlight
	b.run = func() (skills.Result, error) {
		seen = b.InFlight()
		panic("boom")
	}
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{}`))
	require.Error(t, err)
	require.Equal(t, []sentinel.InFlight{{
		CallID: seen[0].CallID, Conversation: "c1", User: "u1", Agent: "a1", Skill: "test.do", Phase: sentinel.PhaseRunning, Since: at,
	}}, seen)
	require.NotEmpty(t, seen[0].CallID)
	require.Empty(t, b.InFlight())
}
