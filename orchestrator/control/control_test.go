//go:build unix

package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/pause"
)

// process is a Backend that keeps what it is told.
type process struct {
	mu   sync.Mutex
	list []pause.Pause
	by   []string
	fail error
}

func (p *process) Pauses() []pause.Pause {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]pause.Pause(nil), p.list...)
}

func (p *process) Pause(_ context.Context, t pause.Target, by string) (pause.Pause, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.Scope() == "" {
		return pause.Pause{}, pause.ErrTarget
	}
	q := pause.Pause{Target: t, By: by, Since: time.Unix(1_700_000_000, 0).UTC()}
	p.list, p.by = append(p.list, q), append(p.by, by)
	return q, p.fail
}

func (p *process) Lift(_ context.Context, t pause.Target, by string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.by = append(p.by, by)
	n := len(p.list)
	p.list = nil
	return n > 0, p.fail
}

func (p *process) InFlight() []sentinel.InFlight {
	return []sentinel.InFlight{{CallID: "call-1", Skill: "email.send", Phase: sentinel.PhaseRunning}}
}

func (p *process) Top() any { return map[string]int{"pid": 7} }

func (p *process) Status(context.Context) any { return map[string]string{"version": "v1"} }

func serveFor(t *testing.T, peer func(net.Conn) (who, error)) (*process, *Server, *Client) {
	t.Helper()
	p := &process{}
	path := filepath.Join(t.TempDir(), "s.sock")
	s, err := serveAt(t.Context(), path, p, Options{}, peer)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return p, s, Dial(path)
}

// What one end asks the other does, in the name of the user at that end.
func TestRoundTrip(t *testing.T) {
	p, s, c := serveFor(t, readPeer)
	info, err := os.Lstat(s.Path())
	require.NoError(t, err)
	require.Equal(t, fs.ModeSocket|0o600, info.Mode())

	res, err := c.Pause(t.Context(), pause.Target{User: "ann"})
	require.NoError(t, err)
	require.Equal(t, pause.Target{User: "ann"}, res.Pause.Target)
	require.Empty(t, res.Warning)
	require.Equal(t, "call-1", res.InFlight[0].CallID)
	list, err := c.Pauses(t.Context())
	require.NoError(t, err)
	require.Equal(t, p.Pauses(), list)
	calls, err := c.InFlight(t.Context())
	require.NoError(t, err)
	require.Len(t, calls, 1)
	var top map[string]int
	require.NoError(t, c.Top(t.Context(), &top))
	require.Equal(t, 7, top["pid"])
	var status map[string]string
	require.NoError(t, c.Status(t.Context(), &status))
	require.Equal(t, "v1", status["version"])
	lifted, err := c.Lift(t.Context(), pause.Target{User: "ann"})
	require.NoError(t, err)
	require.True(t, lifted.Lifted)
	require.Empty(t, lifted.Left)
	require.Equal(t, []string{me(), me()}, p.by)

	for _, fail := range []error{pause.ErrNotShared, pause.ErrNotWritten} {
		p.fail = fail
		res, err = c.Pause(t.Context(), pause.Target{All: true})
		require.NoError(t, err, "it is in force")
		require.Equal(t, fail.Error(), res.Warning)
		require.Len(t, res.InFlight, 1)
	}
	_, err = c.Lift(t.Context(), pause.Target{All: true})
	require.ErrorContains(t, err, pause.ErrNotWritten.Error())
}

func me() string { return fmt.Sprintf("uid:%d", os.Getuid()) }

// Another user, and one that can't be told, is turned away; root is not.
func TestOtherUsers(t *testing.T) {
	type answer struct {
		uid int
		err error
	}
	var now atomic.Value
	p, _, c := serveFor(t, func(net.Conn) (who, error) { a := now.Load().(answer); return who{uid: a.uid}, a.err })
	for _, a := range []answer{{os.Getuid() + 1, nil}, {0, errors.New("no peer")}} {
		now.Store(a)
		_, err := c.Pause(t.Context(), pause.Target{All: true})
		require.ErrorContains(t, err, "only the user whose process this is")
		require.Error(t, c.Top(t.Context(), new(any)))
		require.Empty(t, p.Pauses())
	}
	now.Store(answer{})
	_, err := c.Pause(t.Context(), pause.Target{All: true})
	require.NoError(t, err)
}

// What is no target changes nothing and is told as such.
func TestBadBodies(t *testing.T) {
	p, _, c := serveFor(t, readPeer)
	for _, b := range []string{``, `null`, `{}`, `[]`, `{"all":true}{"all":true}`, `{"every":true}`, `{"user":7}`,
		`{"user":"` + strings.Repeat("x", maxBody) + `"}`} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://vedette/v1/pauses", strings.NewReader(b))
		require.NoError(t, err)
		res, err := c.http.Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusBadRequest, res.StatusCode, "%.40q: %s", b, text)
	}
	require.Empty(t, p.Pauses())
}

// The socket of a process that died is replaced; anything else in its place is
// left alone. What another process put there since is not removed at the end.
func TestPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	require.ErrorIs(t, func() error { _, err := Dial(path).Pauses(t.Context()); return err }(), ErrNotRunning)
	old, err := net.Listen("unix", path)
	require.NoError(t, err)
	old.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, old.Close())
	require.ErrorIs(t, func() error { _, err := Dial(path).Pauses(t.Context()); return err }(), ErrNotRunning)

	first, err := Listen(t.Context(), path, &process{}, Options{})
	require.NoError(t, err)
	second, err := Listen(t.Context(), path, &process{}, Options{})
	require.NoError(t, err)
	require.NoError(t, first.Close(t.Context()))
	_, err = Dial(path).Pauses(t.Context())
	require.NoError(t, err, "the second still listens")
	require.NoError(t, second.Close(t.Context()))
	require.NoFileExists(t, path)

	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	_, err = Listen(t.Context(), path, &process{}, Options{})
	require.ErrorContains(t, err, "is no socket")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// A backend that panics answers nobody and ends nothing.
func TestBackendPanics(t *testing.T) {
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "s.sock")
	s, err := Listen(t.Context(), path, panics{&process{}}, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	require.Error(t, Dial(path).Top(t.Context(), new(any)))
	_, err = Dial(path).Pauses(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	require.NotContains(t, log.String(), "CANARY")
}

type panics struct{ *process }

func (panics) Top() any { panic("CANARY") }
