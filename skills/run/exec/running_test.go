//go:build linux

package exec

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

// held starts a program that holds the write end of a FIFO with all of its
// children, and returns a function that blocks until none of them lives.
func held(t *testing.T, dir string) (gone func()) {
	t.Helper()
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	f, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return func() {
		require.NoError(t, f.SetReadDeadline(time.Now().Add(4*time.Minute)))
		_, err := f.Read(make([]byte, 1))
		for err == nil {
			_, err = f.Read(make([]byte, 1))
		}
		require.ErrorContains(t, err, "EOF", "something of the program is still alive")
	}
}

// At its timeout the program is killed with all that it started, however many
// and, where there is a namespace, even what left the group.
func TestTimeoutKillsTheWholeGroup(t *testing.T) {
	t.Parallel()
	script := `exec 9>"$1/fifo"; echo x >&9; for i in 1 2 3 4 5 6 7 8; do (trap "" TERM HUP INT; while :; do sleep 1000 & wait; done) & done; `
	for mode, leave := range map[string]string{
		IsolationNone: "", IsolationLandlock: "setsid sleep 1000 & ", IsolationNamespaces: "setsid sleep 1000 & ",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			gone := held(t, dir)
			o := opts{"argv": []string{"sh", "-c", script + leave + "wait", "-", "{{a}}"}, "isolation": mode, "env": []string{"PATH"}}
			if mode != IsolationNone {
				o["write"] = []string{dir}
			}
			sp := spec(o)
			sp.Timeout = time.Second
			kit, s := runtest.New(t), runtest.Compile(t, sp, nil)
			e, err := New(s, kit.Redeemer, Options{Dir: dir})
			require.NoError(t, err)
			_, err = kit.Run(t, e, s, opts{"a": dir})
			f := failure(t, err)
			require.Equal(t, skills.FailTimeout, f.Code, "%v", err)
			require.True(t, f.Unknown)
			gone()
		})
	}
}

// What a program leaves behind does not outlive its own regular end.
func TestLeftoversAreKilled(t *testing.T) {
	for _, mode := range []string{IsolationNone, IsolationLandlock, IsolationNamespaces} {
		dir := t.TempDir()
		gone := held(t, dir)
		o := opts{"argv": []string{"sh", "-c", `exec 9>"$1/fifo"; echo x >&9; sleep 1000 & echo done`, "-", "{{a}}"},
			"isolation": mode, "env": []string{"PATH"}}
		if mode != IsolationNone {
			o["write"] = []string{dir}
		}
		res, err := run(t, o, opts{"a": dir})
		require.NoError(t, err, mode)
		require.Equal(t, "done\n", res.Content)
		gone()
	}
}

// A caller that gives up ends the program too.
func TestCancel(t *testing.T) {
	dir := t.TempDir()
	gone := held(t, dir)
	kit, s := runtest.New(t), runtest.Compile(t, spec(opts{"argv": []string{"sh", "-c", `exec 9>"$1/fifo"; echo x >&9; sleep 1000`,
		"-", "{{a}}"}, "write": []string{dir}, "env": []string{"PATH"}}), nil)
	e, err := New(s, kit.Redeemer, Options{Dir: dir})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	o := runtest.Order(t, s, opts{"a": dir})
	w := kit.Issue(t, o)
	done := make(chan error, 1)
	go func() { _, err := e.Execute(ctx, w, o); done <- err }()
	f, err := os.OpenFile(filepath.Join(dir, "fifo"), os.O_RDONLY, 0) // opens when the program has
	require.NoError(t, err)
	require.NoError(t, f.Close())
	cancel()
	require.Equal(t, skills.FailCanceled, failure(t, <-done).Code)
	gone()
}
