//go:build unix

package orchestrator

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// A program that is told to end by SIGTERM in the middle of its work is done
// within its deadline: callers are told, calls that heed their context end,
// and the ledger says what was cut off and may have had its effect.
func TestSIGTERMDuringWork(t *testing.T) {
	in, free := make(chan struct{}, 2), make(chan struct{})
	defer close(free)
	heeds, entered, _ := gate(t, "note.gate")
	writes := deaf(t, "note.deaf", skills.Create, 20*time.Second, in, free)
	r := start(t, with(heeds, writes),
		orch("go", []call{dispatch("a", "do-a", "note.gate"), dispatch("b", "do-b", "note.deaf"), dispatch("m", "do-m")}, results("wait_all"),
			"done"),
		agent("do-a", use("note.gate", "x"), "a"), agent("do-b", use("note.deaf", "x"), "b"), agent("do-m", rule{"hang": true}))
	c := r.open("c1", "ann")

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	done := make(chan error, 1)
	go func() {
		_, err := c.Send(ctx, "go")
		done <- err
	}()
	<-entered
	<-in
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	<-ctx.Done()
	deadline, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	require.NoError(t, r.Close(deadline))
	require.NoError(t, deadline.Err())
	err := <-done
	require.True(t, errors.Is(err, context.Canceled) || errors.Is(err, ErrClosed), "%v", err)
	require.Zero(t, r.sys.Tasks())
	require.Zero(t, r.sys.Leaked())
	require.Empty(t, r.Parts().Checkpoint.InFlight())
	r.verify()

	cfg, err := config.Load(filepath.Join(r.dir, "vedette.yaml"), config.Options{KnownSkills: []string{"note.gate", "note.deaf"}})
	require.NoError(t, err)
	p, err := assembly.Build(t.Context(), cfg, assembly.Options{Skills: []*skills.GoSkill{heeds, writes}, NoReview: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	said := map[string][]string{}
	for _, name := range []string{"note.gate", "note.deaf"} {
		list, err := p.Ledger.List(t.Context(), ledger.Query{Skill: name, Kind: "outcome"})
		require.NoError(t, err)
		require.Len(t, list, 1)
		said[name] = []string{list[0].Outcome, list[0].Code}
	}
	require.Equal(t, map[string][]string{"note.gate": {"failed", "canceled"}, "note.deaf": {"unknown", "canceled"}}, said)
}
