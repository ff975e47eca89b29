package otp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// SystemOptions configure a System; the zero value is ready for use.
type SystemOptions struct {
	// Logger receives events and Proto.Actor's warnings, never a message's
	// contents. Nil discards them.
	Logger *slog.Logger
	// OnEvent is called with every event, in the supervisor's goroutine. It
	// must not block, and several goroutines may call it at once.
	OnEvent func(Event)
	// Now is the clock of restart intensities and events; time.Now when nil.
	Now func() time.Time
	// AfterFunc runs f after d, in its own goroutine, and returns what stops it;
	// time.AfterFunc when nil. All timers but those of contexts use it.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
}

// System is the root of a process's supervision trees. Make one per program:
// an empty one costs about 3 MB and 20 ms.
type System struct {
	opts   SystemOptions
	log    *slog.Logger
	actors *actor.ActorSystem
	root   *proc
	epoch  atomic.Uint64
	refs   atomic.Uint64
	leaks  gauge
	tasks  gauge
	total  atomic.Int64
	names  sync.Map // string -> *proc
	// mailboxes has the goroutines that callbacks run in.
	mailboxes dispatcher
	stopped   sync.Once
}

// NewSystem starts an empty system. Stop it.
func NewSystem(o SystemOptions) *System {
	s := &System{opts: o, log: o.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.actors = actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
			return slog.New(bareHandler{s.log.Handler()})
		}),
		actor.WithDeadLetterRequestLogging(false),
		// Its throttle keeps a goroutine for one interval after a dead letter.
		actor.WithDeadLetterThrottleInterval(time.Millisecond),
	)
	spec := &ChildSpec{ID: "system", Type: Supervisor, Start: func() Server { return &staticSupervisor{} }}
	s.root = newProc(s, nil, spec)
	if err := s.root.spawnActor(s.actors.Root); err != nil {
		// The first name in an empty registry is free; the root is dead on arrival otherwise.
		s.root.kill()
	}
	return s
}

// Start starts a root: the top of one tree, or a single worker. It waits for
// Init until ctx is done (a deadline is mandatory); a root that is not up by
// then is stopped again. A root is Temporary whatever its spec says: when it
// gives up it is gone; Monitor it. Roots stop in reverse order of their starts.
func (s *System) Start(ctx context.Context, spec ChildSpec) (PID, error) {
	if err := spec.validate(); err != nil {
		return PID{}, err
	}
	spec.Restart, spec.Significant = Temporary, false
	return StartChild(ctx, PID{s.root}, spec)
}

// Stop stops the roots in reverse order and waits for tasks and abandoned goroutines,
// until ctx is done. Each root ends before the next is stopped. What is left then is
// killed, and counted in an error that matches ErrUnstopped. Later calls return nil.
func (s *System) Stop(ctx context.Context) error {
	var err error
	s.stopped.Do(func() {
		s.root.requestStop(Shutdown(nil))
		if _, werr := Wait(ctx, PID{s.root}); werr != nil {
			s.root.kill()
		}
		err = errors.Join(s.tasks.wait(ctx), s.leaks.wait(ctx))
		if err != nil {
			err = fmt.Errorf("%w: %d tasks, %d abandoned processes", ErrUnstopped, s.tasks.count(), s.leaks.count())
		}
		s.actors.Shutdown()
		s.mailboxes.close()
	})
	return err
}

// Tasks returns how many Async goroutines run, also those whose server is gone.
func (s *System) Tasks() int { return s.tasks.count() }

// Leaked returns how many goroutines of abandoned processes still run.
func (s *System) Leaked() int { return s.leaks.count() }

// AbandonedTotal returns how many processes were abandoned since the start.
func (s *System) AbandonedTotal() int64 { return s.total.Load() }

// Whereis returns the live process registered under a ChildSpec's Name.
func (s *System) Whereis(name string) (PID, bool) {
	v, ok := s.names.Load(name)
	if !ok {
		return PID{}, false
	}
	return PID{v.(*proc)}, true
}

// registerName registers p under a name. It reports false when the name is taken.
func (s *System) registerName(name string, p *proc) bool {
	_, taken := s.names.LoadOrStore(name, p)
	if !taken && p.run.Load() == dead {
		s.unregisterName(name, p) // killed meanwhile: publishEnd may have looked before us
	}
	return !taken
}

// unregisterName removes a name that belongs to p.
func (s *System) unregisterName(name string, p *proc) { s.names.CompareAndDelete(name, p) }

// nextRef returns a Ref that the system never used.
func (s *System) nextRef() Ref { return Ref(s.refs.Add(1)) }

// now returns the time of the system's clock.
func (s *System) now() time.Time {
	if s.opts.Now != nil {
		return s.opts.Now()
	}
	return time.Now()
}

// startTimer runs f after d and returns what stops the timer.
func (s *System) startTimer(d time.Duration, f func()) (stop func() bool) {
	if s.opts.AfterFunc != nil {
		return s.opts.AfterFunc(d, f)
	}
	return time.AfterFunc(d, f).Stop
}

// runSafely runs a user's callback outside any process and contains its panic.
func (s *System) runSafely(fn func()) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("monitor callback panicked", slog.String("reason", newExit(r).Error()))
		}
	}()
	fn()
}

// onAbandoned counts and reports a process whose callback still runs after a kill.
func (s *System) onAbandoned(p *proc) {
	s.leaks.add()
	s.total.Add(1)
	s.reportProcess(Abandoned, p, p.exitReason())
}

// onLateReturn counts and reports that an abandoned callback has returned.
func (s *System) onLateReturn(p *proc) {
	s.leaks.done()
	s.reportProcess(LateReturn, p, Reason{})
}
