package otp

import (
	"context"
	"log/slog"
	"time"
)

// EventType says what happened.
type EventType uint8

const (
	// ChildStarted says that a child's Init returned for the first time.
	ChildStarted EventType = iota
	// ChildRestarted says that a child runs again under a new PID.
	ChildRestarted
	// ChildCrashed says that a child ended by a crash or was killed; Reason has value and stack.
	ChildCrashed
	// ChildExited says that a permanent child ended without a failure.
	ChildExited
	// StartFailed says that a start or a restart failed.
	StartFailed
	// GaveUp says that a supervisor passed its restart intensity and stops.
	GaveUp
	// Abandoned says that a child did not stop in time; its goroutine still runs and is counted by Leaked.
	Abandoned
	// LateReturn says that the goroutine of an abandoned child ended after all.
	LateReturn
	// TaskCrashed says that a function of Context.Async panicked or ended its
	// goroutine. The process that began it lives on and gets the TaskResult.
	TaskCrashed
)

// String returns the name that logs use.
func (t EventType) String() string {
	names := [...]string{"child started", "child restarted", "child crashed", "child exited",
		"child start failed", "supervisor gave up", "child abandoned", "abandoned child returned", "task crashed"}
	if int(t) < len(names) {
		return names[t]
	}
	return "unknown"
}

// logLevel returns the level at which logs have the event.
func (t EventType) logLevel() slog.Level {
	switch t {
	case ChildStarted:
		return slog.LevelDebug
	case ChildRestarted, ChildExited, LateReturn:
		return slog.LevelInfo
	case StartFailed:
		return slog.LevelWarn
	}
	return slog.LevelError
}

// Event is one fact about supervision. It never holds a message. Reason.Detail
// of a crash is the raw panic value: print Reason.String() instead.
type Event struct {
	Type       EventType
	Time       time.Time
	Supervisor PID // zero for a root
	ChildID    string
	PID        PID
	Reason     Reason // ChildCrashed, ChildExited, StartFailed, GaveUp, Abandoned, TaskCrashed
	// Spec is what the process was started from. Restarts is how many
	// incarnations of the child ran before this one.
	Spec     ChildSpec
	Restarts int
}

// reportProcess makes and emits an event about p.
func (s *System) reportProcess(t EventType, p *proc, r Reason) {
	s.emitEvent(Event{Type: t, Supervisor: p.supervisorPID(), ChildID: p.spec.ID, PID: PID{p}, Reason: r, Spec: *p.spec, Restarts: p.restarts})
}

// emitEvent hands the event to the hook and to slog. A panicking hook loses its
// event, never the supervisor.
func (s *System) emitEvent(e Event) {
	e.Time = s.now()
	if s.opts.OnEvent != nil {
		s.callHook(e)
	}
	ctx, level := context.Background(), e.Type.logLevel()
	if !s.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("child", e.ChildID), slog.String("pid", e.PID.String()),
		slog.String("supervisor", e.Supervisor.String())}
	if e.Type.hasReason() {
		attrs = append(attrs, slog.String("reason", e.Reason.String()), e.describeSpec())
	}
	if stack := e.Reason.Stack(); stack != "" {
		attrs = append(attrs, slog.String("stack", stack))
	}
	s.log.LogAttrs(ctx, level, e.Type.String(), attrs...)
}

// hasReason reports whether events of this type have a Reason.
func (t EventType) hasReason() bool {
	return t != ChildStarted && t != ChildRestarted && t != LateReturn
}

// describeSpec returns the child spec as a log shows it: nothing in it comes from a
// message.
func (e *Event) describeSpec() slog.Attr {
	attrs := []slog.Attr{slog.String("restart", e.Spec.Restart.String()), slog.String("type", e.Spec.Type.String()),
		slog.String("shutdown", formatShutdown(e.Spec.shutdownTime())), slog.Int("restarts", e.Restarts)}
	if e.Spec.Name != "" {
		attrs = append(attrs, slog.String("name", e.Spec.Name))
	}
	if e.Spec.Significant {
		attrs = append(attrs, slog.Bool("significant", true))
	}
	return slog.Attr{Key: "spec", Value: slog.GroupValue(attrs...)}
}

// formatShutdown returns a shutdown time in OTP's words.
func formatShutdown(d time.Duration) string {
	switch d {
	case Infinity:
		return "infinity"
	case BrutalKill:
		return "brutal_kill"
	}
	return d.String()
}

// callHook hands the event to the program's hook and contains its panic.
func (s *System) callHook(e Event) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("event hook panicked", slog.String("reason", newExit(r).Error()))
		}
	}()
	s.opts.OnEvent(e)
}
