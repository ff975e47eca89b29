package sentinel_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// queue is a sentinel.Queue.
type queue func(context.Context, sentinel.Call) (func(), error)

func (q queue) Enter(ctx context.Context, c sentinel.Call) (func(), error) { return q(ctx, c) }

// A call whose decision is on record as allowed does not begin once it is
// paused: it is refused as such, its record says that it did not start, it
// taints nothing and says nothing about its skill.
func TestPauseCatchesRecordedCalls(t *testing.T) {
	var sw *pauser
	var b *bench
	var waiting []sentinel.InFlight
	left := 0
	cases := map[string]func(*sentinel.Options, *bench){
		"while its decision is written": func(_ *sentinel.Options, b *bench) {
			b.rec.onWrite = func(r sentinel.Record) {
				if r.Kind == sentinel.RecordDecision {
					sw.set("all")
				}
			}
		},
		"while it waits for its skill": func(o *sentinel.Options, _ *bench) {
			o.Queues = map[string]sentinel.Queue{"test.do": queue(func(context.Context, sentinel.Call) (func(), error) {
				waiting = b.InFlight()
				sw.set("all")
				return func() { left++ }, nil
			})}
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			sw = &pauser{}
			b = newBench(t, func(o *sentinel.Options, b *bench) { o.Pauser = sw; change(o, b) })
			d := b.Desk(grant(t))
			_, err := d.Invoke(t.Context(), "test.do", json.RawMessage(`{}`))
			r := refusalOf(t, err)
			require.Equal(t, skills.KindPaused, r.Kind)
			require.Equal(t, sentinel.CodePaused, r.Code)
			require.Empty(t, b.runs())
			require.Equal(t, []string{"decision", "outcome"}, b.rec.kinds())
			require.Equal(t, "allow", b.rec.records[0].Outcome, "what was written down stays")
			last := b.rec.records[1]
			require.Equal(t, sentinel.StatusFailed, last.Outcome)
			require.Equal(t, sentinel.CodeOutcomePaused, last.Code)
			require.Equal(t, b.rec.records[0].DecisionID, last.DecisionID)
			require.Equal(t, r.DecisionID, last.DecisionID)
			require.False(t, d.Tainted())
			require.Zero(t, d.Trace().Len())
			require.Empty(t, b.lim.reported)
			require.Equal(t, 1, b.lim.released)
			require.Empty(t, b.InFlight())
		})
	}
	require.Len(t, waiting, 1)
	require.Equal(t, sentinel.PhaseQueued, waiting[0].Phase)
	require.Equal(t, 1, left, "the place was given back")
}

// Whoever pauses and looks at the calls in flight right after finds every call
// that was not stopped in its last moment before the start.
func TestPausedOrListed(t *testing.T) {
	var b *bench
	asked := 0
	var seen []sentinel.InFlight
	b = newBench(t, func(o *sentinel.Options, _ *bench) {
		o.Pauser = pauserFunc(func() bool {
			if asked++; asked == 3 {
				seen = b.InFlight()
			}
			return false
		})
	})
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{}`))
	require.NoError(t, err)
	require.Equal(t, 3, asked)
	require.Len(t, b.runs(), 1)
	require.Len(t, seen, 1)
	require.Equal(t, sentinel.PhaseRunning, seen[0].Phase)
}

type pauserFunc func() bool

func (f pauserFunc) Paused(string, string) (sentinel.Pause, bool) {
	return sentinel.Pause{Scope: "all"}, f()
}

// A call waits for its skill as queued and runs as running, each since its own
// beginning; one that waits in vain was not started.
func TestQueues(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	full := false
	var b *bench
	var queued, running []sentinel.InFlight
	b = newBench(t, func(o *sentinel.Options, _ *bench) {
		o.Now = func() time.Time { return at }
		o.Queues = map[string]sentinel.Queue{"test.do": queue(func(context.Context, sentinel.Call) (func(), error) {
			if full {
				return nil, errors.New("full")
			}
			queued = b.InFlight()
			at = at.Add(time.Minute)
			return func() {}, nil
		})}
	})
	b.run = func() (skills.Result, error) { running = b.InFlight(); return skills.Result{}, nil }
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{}`))
	require.NoError(t, err)
	require.Equal(t, sentinel.PhaseQueued, queued[0].Phase)
	require.Equal(t, sentinel.PhaseRunning, running[0].Phase)
	require.Equal(t, time.Minute, running[0].Since.Sub(queued[0].Since))

	full = true
	_, err = b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{}`))
	var f *skills.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, skills.FailNotStarted, f.Code)
	require.Len(t, b.runs(), 1)
}
