package demo_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/cmd/vedette/demo"
)

// watched is a screen on which something is waited for.
type watched struct {
	bytes.Buffer
	on map[string]func()
}

func (w *watched) Write(p []byte) (int, error) {
	for word, f := range w.on {
		if strings.Contains(string(p), word) {
			f()
		}
	}
	return w.Buffer.Write(p)
}

// A demo whose door can't open says so in place of telling how to come in.
func TestHoldWithoutADoor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &watched{on: map[string]func(){
		"scripted server": func() { _ = os.WriteFile(filepath.Join(dir, "vedette.db.sock"), []byte("in its place"), 0o600) },
		"holding":         cancel,
	}}
	require.NoError(t, demo.Run(ctx, demo.Options{Dir: dir, Out: w, Hold: true}))
	require.Equal(t, 1, lines(w.String(), "WARNING", "can't reach this process"), w.String())
	require.Zero(t, lines(w.String(), "from another terminal"))
	require.Zero(t, lines(w.String(), "pause --all"))
}

// A demo with one says how to come in.
func TestHold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &watched{on: map[string]func(){"pause --lift --all": cancel}}
	require.NoError(t, demo.Run(ctx, demo.Options{Dir: filepath.Join(t.TempDir(), "demo"), Out: w, Hold: true}))
	require.Equal(t, 1, lines(w.String(), "from another terminal"))
	require.Zero(t, lines(w.String(), "WARNING"))
}

// A folder that agents may not work in is left as it was.
func TestDirWhereNobodyMayWork(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".ssh") // of those that a test can make
	for range 2 {
		err := demo.Run(t.Context(), demo.Options{Dir: dir, Out: &bytes.Buffer{}})
		require.ErrorContains(t, err, "name another with --dir")
		require.ErrorContains(t, err, "a folder that the guard always refuses")
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// slowToTell is a context that is over before it says so to those that asked to be told.
type slowToTell struct{ context.Context }

func (slowToTell) Value(any) any { return nil } // it is none of the standard library's

func (slowToTell) AfterFunc(func()) (stop func() bool) { return func() bool { return true } }

// The work is drained whoever hears of the interrupt first.
func TestHoldHearsOfTheInterruptFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &watched{on: map[string]func(){"pause --lift --all": cancel}}
	require.NoError(t, demo.Run(slowToTell{ctx}, demo.Options{Dir: filepath.Join(t.TempDir(), "demo"), Out: w, Hold: true}))
	require.Equal(t, 1, lines(w.String(), "all work has ended, after", "nothing was cut off"), w.String())
}
