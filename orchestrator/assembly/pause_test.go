package assembly_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// What one process pauses is refused in the other, and works again once either
// of them has lifted it. How soon is the Switch's to show, by a clock of its own.
func TestProcessesShareAPause(t *testing.T) {
	url, prefix := redistest.Shared(t)
	text := onRedis(url, prefix, "10s", "agent: {calls: 1000}, turn: {calls: 1000}, conversation: {calls: 1000}")
	var parts []*assembly.Parts
	for range 2 {
		parts = append(parts, build(t, write(t, text), assembly.Options{Skills: []*skills.GoSkill{(&notes{}).skill(t)}}))
	}
	g := grant(t, "add notes", "notes.add")
	add := func() string { return invoke(t, parts[1], g, "notes.add", `{"text":"x"}`) }
	require.Empty(t, add())
	_, err := parts[0].Pauses.Pause(t.Context(), pause.Target{All: true}, "uid:1")
	require.NoError(t, err)
	require.Equal(t, sentinel.CodePaused, until(t, sentinel.CodePaused, add), "in the other process")

	lifted, err := parts[1].Pauses.Lift(t.Context(), pause.Target{All: true}, "uid:1")
	require.NoError(t, err)
	require.True(t, lifted)
	require.Empty(t, add())
	require.Empty(t, until(t, "", func() string { return invoke(t, parts[0], g, "notes.add", `{"text":"x"}`) }))
}

// until asks again for as long as it may take to be told, on a busy machine.
func until(t *testing.T, want string, ask func() string) (got string) {
	t.Helper()
	tick, late := time.NewTicker(50*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for {
		if got = ask(); got == want {
			return got
		}
		select {
		case <-late:
			return got
		case <-tick.C:
		}
	}
}

// slow is a skill whose runs are counted, and wait for out.
type slow struct {
	runs    atomic.Int32
	in, out chan struct{}
}

func newSlow() *slow { return &slow{in: make(chan struct{}, 8), out: make(chan struct{})} }

func (s *slow) skill(t *testing.T) *skills.GoSkill {
	t.Helper()
	g, err := skills.Func(skills.Spec{Name: "slow.do", Effect: skills.Create, Reaches: skills.Self, Output: skills.Trusted,
		Timeout: time.Minute},
		func(context.Context, note) (string, error) {
			s.runs.Add(1)
			s.in <- struct{}{}
			<-s.out
			return "ok", nil
		})
	require.NoError(t, err)
	return g
}

// A call that was allowed and waits for others of its skill is listed as such
// and does not begin once it is paused; its record says so.
func TestPausedWhileItWaitsForItsSkill(t *testing.T) {
	s := newSlow()
	p := build(t, write(t, "limits: {skill: {concurrency: 1}}\n"), assembly.Options{Skills: []*skills.GoSkill{s.skill(t)}})
	g := grant(t, "do it", "slow.do")
	done := make(chan error, 2)
	call := func() {
		_, err := p.Checkpoint.Desk(g).Invoke(context.Background(), "slow.do", json.RawMessage(`{"text":"x"}`))
		done <- err
	}
	go call()
	<-s.in
	go call()
	require.Eventually(t, func() bool { return len(p.Checkpoint.InFlight()) == 2 }, 4*time.Minute, time.Millisecond)
	_, err := p.Pauses.Pause(t.Context(), pause.Target{All: true}, "uid:0")
	require.NoError(t, err)
	var phases []string
	for _, c := range p.Checkpoint.InFlight() {
		phases = append(phases, c.Phase)
	}
	require.Equal(t, []string{sentinel.PhaseRunning, sentinel.PhaseQueued}, phases)
	close(s.out)
	first := <-done
	second := <-done
	if first != nil {
		first, second = second, first
	}
	require.NoError(t, first, "what runs runs on")
	var no *skills.Refusal
	require.ErrorAs(t, second, &no)
	require.Equal(t, skills.KindPaused, no.Kind)
	require.EqualValues(t, 1, s.runs.Load())
	list, err := p.Ledger.List(t.Context(), ledger.Query{Kind: sentinel.RecordOutcome, Code: sentinel.CodeOutcomePaused})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, sentinel.StatusFailed, list[0].Outcome)
	require.Equal(t, no.DecisionID, list[0].Decision)
}

// A call whose decision waits for a disk that stalls does not begin once it is
// paused, nor does a pause wait for the disk or for another pause. After a
// restart it is known to have done nothing, so it may run, once.
func TestPausedWhileTheDiskStalls(t *testing.T) {
	s := newSlow()
	close(s.out)
	p := build(t, write(t, ""), assembly.Options{Skills: []*skills.GoSkill{s.skill(t)}})
	g := grant(t, "do it", "slow.do")
	in, out := make(chan struct{}), make(chan struct{})
	var once sync.Once
	p.Store.OnSeal(func(tx *store.Tx) error { // right before the commit of the decision, not of the maintenance's groups
		n := 0
		if _, err := tx.QueryRow([]any{&n}, "SELECT count(*) FROM ledger_records"); err != nil {
			return err
		}
		if n > 0 {
			once.Do(func() { close(in); <-out })
		}
		return nil
	})
	done, paused := make(chan error, 1), make(chan error, 2)
	go func() {
		_, err := p.Checkpoint.Numbered(g).Invoke(context.Background(), "slow.do", json.RawMessage(`{"text":"x"}`))
		done <- err
	}()
	<-in // its decision is about to be durable
	for _, target := range []pause.Target{{User: "bob"}, {All: true}} {
		go func() { _, err := p.Pauses.Pause(context.Background(), target, "uid:0"); paused <- err }()
	}
	require.Eventually(t, func() bool { return len(p.Pauses.List()) == 2 }, 4*time.Minute, time.Millisecond, "while the disk stalls")
	close(out)
	var no *skills.Refusal
	require.ErrorAs(t, <-done, &no)
	require.Equal(t, skills.KindPaused, no.Kind)
	require.Zero(t, s.runs.Load())
	for range 2 {
		require.NoError(t, <-paused)
	}
	_, err := p.Pauses.Lift(t.Context(), pause.Target{All: true}, "uid:0")
	require.NoError(t, err)

	again := func() error {
		d := p.Checkpoint.Numbered(g)
		_, err := d.Resume(t.Context(), 0, 1)
		require.NoError(t, err)
		_, err = d.Invoke(t.Context(), "slow.do", json.RawMessage(`{"text":"x"}`))
		return err
	}
	require.NoError(t, again())
	require.NoError(t, again(), "answered from the record")
	require.EqualValues(t, 1, s.runs.Load())
}
