package otp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// logbook is a JSON log that many goroutines write.
type logbook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logbook) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// lines returns the records with this message.
func (l *logbook) lines(t *testing.T, msg string) []map[string]any {
	var out []map[string]any
	for line := range strings.Lines(l.text()) {
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		if v["msg"] == msg {
			out = append(out, v)
		}
	}
	return out
}

// newLoggedRig is a rig that writes everything it logs into a logbook as well.
func newLoggedRig(t *testing.T) (*rig, *logbook) {
	l := &logbook{}
	r := &rig{t: t, clock: newClock(), events: make(chan Event, 1<<16)}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	r.ctx = ctx
	r.System = NewSystem(SystemOptions{Now: r.clock.Now, AfterFunc: r.clock.AfterFunc,
		Logger:  slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})),
		OnEvent: func(e Event) { r.events <- e }})
	t.Cleanup(func() {
		defer cancel()
		require.NoError(t, r.Stop(ctx))
	})
	return r, l
}

// A crash report has the reason, the stack, the child spec and how often the
// child ran before, for the hook and for the log.
func TestR13_CrashReport(t *testing.T) {
	r, l := newLoggedRig(t)
	spec := worker("w", Transient)
	spec.Name, spec.Shutdown, spec.Significant = "the one", 7*time.Second, true
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{AutoShutdown: AutoShutdownAll, Children: []ChildSpec{spec}}))
	for n := range 3 {
		pid := r.children(sup)["w"].PID
		pid.Send(boom)
		e := r.await(ChildCrashed, "w")
		require.Equal(t, []any{pid, sup, n, KindCrash}, []any{e.PID, e.Supervisor, e.Restarts, e.Reason.Kind})
		require.Equal(t, []any{"w", "the one", Transient, Worker, 7 * time.Second, true},
			[]any{e.Spec.ID, e.Spec.Name, e.Spec.Restart, e.Spec.Type, e.Spec.Shutdown, e.Spec.Significant})
		require.Contains(t, e.Reason.Stack(), "otp.boom")
		require.Equal(t, r.clock.Now(), e.Time)
		require.Equal(t, n+1, r.await(ChildRestarted, "w").Restarts)
	}
	r.children(sup)
	lines := l.lines(t, "child crashed")
	require.Len(t, lines, 3)
	last := lines[2]
	require.Equal(t, "ERROR", last["level"])
	require.Equal(t, "crash (panic: value of type string)", last["reason"])
	require.Contains(t, last["stack"], "otp.boom\n\t")
	require.Equal(t, map[string]any{"restart": "transient", "type": "worker", "shutdown": "7s", "restarts": 2.0,
		"name": "the one", "significant": true}, last["spec"])
	require.Contains(t, last["supervisor"], "sup#")
}

// spiteful is an error whose every method panics.
type spiteful struct{ canary string }

func (s *spiteful) Error() string        { panic(s.canary) }
func (s *spiteful) Unwrap() error        { panic(s.canary) }
func (s *spiteful) Is(error) bool        { panic(s.canary) }
func (s *spiteful) As(any) bool          { panic(s.canary) }
func (s *spiteful) LogValue() slog.Value { panic(s.canary) }
func (s *spiteful) Format(fmt.State, rune) {
	panic(s.canary)
}

// Whatever a child panics with, stops with, fails its start with or fails a
// task with, its value is in no log, and its methods harm no supervisor.
func TestR13_ReportsHoldNoValues(t *testing.T) {
	const canary = "canary-7f3a"
	for name, v := range map[string]any{
		"string":         canary,
		"bytes":          []byte(canary),
		"struct":         struct{ Token string }{canary},
		"pointer":        &struct{ Token string }{canary},
		"map":            map[string]string{canary: canary},
		"error":          errors.New(canary),
		"wrapped":        fmt.Errorf("%s: %w", canary, context.Canceled),
		"ours wrapped":   fmt.Errorf("%s: %w", canary, ErrBadSpec),
		"exit":           &Exit{Value: canary},
		"wrapped exit":   fmt.Errorf("%s: %w", canary, &Exit{Value: canary}),
		"spiteful":       &spiteful{canary},
		"wraps spiteful": fmt.Errorf("%w", error(&Exit{Value: &spiteful{canary}})),
		"joined":         errors.Join(errors.New(canary), &spiteful{canary}),
		"nil map write":  func() { var m map[string]int; m[canary] = 1 }, //nolint:staticcheck // that is the panic
		"conversion":     func() { _ = any(canary).(int) },
		"runtime wrapped": func() {
			defer func() { panic(fmt.Errorf("%s: %w", canary, recover().(error))) }()
			_ = any(canary).(int)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, l := newLoggedRig(t)
			throw := func() {
				if f, ok := v.(func()); ok {
					f()
				}
				panic(v)
			}
			sup := r.start(DynamicSupervisorSpec("sup", DynamicSupervisorOptions{MaxRestarts: -1}))
			top := r.start(SupervisorSpec("top", SupervisorOptions{Children: []ChildSpec{worker("sibling", Permanent)}}))
			out := make(chan any, 1)
			pid, err := StartChild(r.ctx, sup, results(out))
			require.NoError(t, err)
			pid.Send(func(c *Context) { c.Async(0, func(context.Context) (any, error) { throw(); return nil, nil }) })
			require.Error(t, (<-out).(TaskResult).Err)
			require.Equal(t, pid, r.await(TaskCrashed, "server").PID)
			pid.Send(func(*Context) { throw() })
			require.Equal(t, KindCrash, r.await(ChildCrashed, "server").Reason.Kind)
			for _, where := range []PID{sup, top} {
				bad := ChildSpec{ID: "start", Start: func() Server { throw(); return nil }}
				_, err = StartChild(r.ctx, where, bad)
				require.Error(t, err)
				if e, ok := v.(error); ok {
					bad.Start = func() Server { return &fake{init: func(*Context) error { return e }} }
					_, err = StartChild(r.ctx, where, bad)
					require.Error(t, err)
					pid, err = StartChild(r.ctx, where, ChildSpec{ID: "stops", Restart: Temporary, Start: func() Server { return &fake{} }})
					require.NoError(t, err)
					pid.Send(end(Crash(e)))
					r.ended(pid)
				}
			}
			pid, err = StartChild(r.ctx, sup, ChildSpec{ID: "terminates", Restart: Temporary, Start: func() Server {
				return &fake{term: func(*Context, Reason) { throw() }}
			}})
			require.NoError(t, err)
			Monitor(pid, func(Down) { throw() })
			require.NoError(t, TerminateChild(r.ctx, sup, pid))
			require.Equal(t, 1, r.call(r.children(top)["sibling"].PID, func(c *Context) { c.Reply(1, nil) }))
			require.True(t, sup.Alive())
			require.Contains(t, l.text(), "child start failed")
			require.Contains(t, l.text(), "task crashed")
			require.NotContains(t, l.text(), canary)
		})
	}
}

// A task that ends its goroutine is reported like one that panics; one that
// returns an error is its server's business alone.
func TestR15_TaskReports(t *testing.T) {
	r, out := newRig(t), make(chan any, 1)
	pid := r.start(results(out))
	pid.Send(func(c *Context) { c.Async(0, func(context.Context) (any, error) { return nil, errFlaky }) })
	require.ErrorIs(t, (<-out).(TaskResult).Err, errFlaky)
	pid.Send(func(c *Context) { c.Async(0, func(context.Context) (any, error) { runtime.Goexit(); return nil, nil }) })
	require.ErrorIs(t, (<-out).(TaskResult).Err, ErrGoexit)
	require.ErrorIs(t, r.await(TaskCrashed, "server").Reason.Err(), ErrGoexit)
	require.Empty(t, r.events)
	require.True(t, pid.Alive())
}

// Nothing a message, panic value or error carries reaches the log.
func TestLogsHoldNoContents(t *testing.T) {
	var buf bytes.Buffer
	var mu sync.Mutex
	w := writer(func(b []byte) (int, error) { mu.Lock(); defer mu.Unlock(); return buf.Write(b) })
	s := NewSystem(SystemOptions{Logger: slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	sup, err := s.Start(ctx, SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{{ID: "w", Start: func() Server {
		return &fake{handle: func(c *Context, msg any) {
			if err, ok := msg.(error); ok {
				c.Stop(Crash(err))
				return
			}
			panic(msg)
		}}
	}}}}))
	require.NoError(t, err)
	for _, msg := range []any{"canary-string", errors.New("canary-error"), struct{ S string }{"canary-struct"}} {
		kids, err := WhichChildren(ctx, sup)
		require.NoError(t, err)
		kids[0].PID.Send(msg)
		_, err = Wait(ctx, kids[0].PID)
		require.NoError(t, err)
		kids[0].PID.Send("canary-dead")
	}
	s.actors.Root.Send(s.actors.NewLocalPID("nobody"), "canary-deadletter")
	require.NoError(t, s.Stop(ctx))
	mu.Lock()
	defer mu.Unlock()
	require.Contains(t, buf.String(), "child crashed")
	require.Contains(t, buf.String(), "otp.(*fake).Handle")
	require.NotContains(t, buf.String(), "canary")
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
