package assembly_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// hands is a clock that a test moves.
type hands struct{ ns atomic.Int64 }

func newHands() *hands {
	h := &hands{}
	h.ns.Store(time.Now().UnixNano())
	return h
}

func (h *hands) now() time.Time       { return time.Unix(0, h.ns.Load()) }
func (h *hands) move(d time.Duration) { h.ns.Add(int64(d)) }

// tick lets the maintenance begin its next round, once the last has ended.
func tick(t *testing.T, ticks chan<- time.Time) {
	t.Helper()
	select {
	case ticks <- time.Time{}:
	case <-time.After(4 * time.Minute):
		t.Fatal("nobody takes the tick: the maintenance does not run")
	}
}

// spent counts the spent warrants that are remembered.
func spent(t *testing.T, p *assembly.Parts) (n int) {
	t.Helper()
	require.NoError(t, p.Store.Reader().QueryRow(t.Context(), "SELECT count(*) FROM store_spent").Scan(&n))
	return n
}

// kept counts the values that are still in the database, expired or not.
func kept(t *testing.T, p *assembly.Parts) (n int) {
	t.Helper()
	require.NoError(t, p.Store.Reader().QueryRow(t.Context(), "SELECT count(*) FROM journal_values").Scan(&n))
	return n
}

// Values are gone when their retention is over, spent warrants a day after
// they expired: at a tick, or at the next start. The ledger stays whole.
func TestRetention(t *testing.T) {
	clock, ticks, n := newHands(), make(chan time.Time), &notes{}
	file := write(t, "journal: {retention: 1h}\n")
	o := assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}, Now: clock.now, Maintain: ticks}
	p, err := assembly.Build(t.Context(), load(t, file), o)
	require.NoError(t, err)
	// A tick is taken when the round before it has ended.
	round := func() { tick(t, ticks); tick(t, ticks) }
	add := func(p *assembly.Parts) {
		_, err := p.Checkpoint.Desk(grant(t, "add a note", "notes.add")).Invoke(t.Context(), "notes.add", json.RawMessage(`{"text":"milk"}`))
		require.NoError(t, err)
	}
	add(p)
	call := records(t, p.Config, ledger.Query{})[0].Call
	values, err := p.Journal.ByCall(t.Context(), call)
	require.NoError(t, err)
	require.NotEmpty(t, values)
	for _, v := range values {
		require.Equal(t, time.Hour, v.Expires.Sub(v.Created), "the configured retention")
	}
	clock.move(59 * time.Minute)
	round()
	require.Equal(t, len(values)+1, kept(t, p), "and the part that premises share")
	clock.move(2 * time.Minute)
	round()
	require.Zero(t, kept(t, p))
	_, err = p.Journal.Get(t.Context(), values[0].ID)
	require.ErrorIs(t, err, journal.ErrErased)
	require.Equal(t, 1, spent(t, p), "an expired warrant is remembered for a day")
	clock.move(25 * time.Hour)
	round()
	require.Zero(t, spent(t, p))

	add(p)
	require.NoError(t, p.Close())
	clock.move(26 * time.Hour)
	p, err = assembly.Build(t.Context(), load(t, file), o)
	require.NoError(t, err)
	tick(t, ticks)
	require.Zero(t, kept(t, p)+spent(t, p), "a start makes up for the time that nothing ran")
	require.Len(t, records(t, p.Config, ledger.Query{}), 4)
	require.NoError(t, p.Close())
}

// Maintenance that fails or panics is logged without values, ends nothing, and
// stops with Close.
func TestMaintenanceSurvivesFailure(t *testing.T) {
	ticks, logs := make(chan time.Time), &buffer{}
	var broken atomic.Bool
	now := func() time.Time {
		if broken.Load() {
			panic(canary)
		}
		return time.Now()
	}
	p, err := assembly.Build(t.Context(), load(t, write(t, "")), assembly.Options{Maintain: ticks, Log: logs.logger(), Now: now})
	require.NoError(t, err)
	round := func() { tick(t, ticks); tick(t, ticks) }
	round()
	require.Empty(t, logs.String())
	broken.Store(true)
	round()
	require.Contains(t, logs.String(), "maintenance panicked")
	broken.Store(false)
	require.NoError(t, p.Store.Close())
	round()
	require.Contains(t, logs.String(), store.ErrClosed.Error())
	require.NotContains(t, logs.String(), canary)
	require.NoError(t, p.Close())
	require.NoError(t, p.Close(), "twice is fine")
}
