package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vedette-dev/vedette/internal/scrub"
	"github.com/vedette-dev/vedette/skills"
)

// drain is how long output is awaited after the program has ended: something
// that it left behind may hold its end of the pipes for ever.
const drain = 2 * time.Second

// ExitError is a program that ended by itself with a code other than zero.
type ExitError struct {
	Code   int
	Stderr string // the beginning of what it said
}

// Error returns the code and what the program said, which may hold values.
func (e *ExitError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return fmt.Sprintf("exit code %d: %s", e.Code, e.Stderr)
}

func (p *program) run(ctx context.Context, o skills.Order) (skills.Result, error) {
	// The kernel kills the program when the thread that started it ends, so
	// that it doesn't survive us; this keeps that thread until the end.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	args, err := arguments(o.Args)
	if err != nil {
		return skills.Result{}, err
	}
	argv, err := expand(p.Argv, args, p.AllowDash)
	if err != nil {
		return skills.Result{}, err
	}
	env, err := p.environ(ctx, o)
	if err != nil {
		return skills.Result{}, err
	}
	keep, err := p.prepareRun(ctx, o)
	if err != nil {
		return skills.Result{}, &skills.Failure{Code: skills.FailNotStarted, Err: env.clean.Error(err)}
	}
	env.layer = keep.layer
	r, err := p.launch(keep.ctx, argv, env, o)
	if err != nil {
		_, err = keep.finish(nil, err)
		if errors.Is(err, errBegun) {
			return skills.Result{}, &skills.Failure{Code: skills.FailFailed, Unknown: keep.mayHaveActed(), Err: env.clean.Error(err)}
		}
		return skills.Result{}, &skills.Failure{Code: skills.FailNotStarted, Err: env.clean.Error(err)}
	}
	keep.first.Store(int64(r.child.firstPID()))
	follow, err := keep.finish(r, p.outcome(keep.ctx, r, r.awaitEnd()))
	text, cut := r.stdout.take()
	return skills.Result{Content: env.clean.Cut(text, cut), Truncated: cut, Isolation: r.isolation, Egress: r.egress, Follow: follow}, err
}

// awaitEnd returns when nothing of the program is left, with what os/exec says of
// the process that we started.
func (r *running) awaitEnd() error {
	awaitExit(r.cmd)
	_ = killGroup(r.cmd) // what it left behind
	err := r.cmd.Wait()
	r.readEnd()
	r.child.close()
	r.stop()
	return err
}

// outcome tells an end by itself from one by force.
func (p *program) outcome(ctx context.Context, r *running, err error) error {
	ended := r.ending()
	switch {
	case ctx.Err() != nil && !ended.byItself:
		return ctx.Err()
	case ended.byItself && ended.code == 0 && (err == nil || errors.Is(err, osexec.ErrWaitDelay)):
		return nil
	case ended.byItself && ended.code != 0:
		return r.exitError(ended.code)
	case ended.code != 0:
		// It was killed from inside the sandbox, as by a limit or by itself: how
		// far it got is anybody's guess.
		return &skills.Failure{Code: skills.FailFailed, Unknown: !p.readsOnly, Err: r.exitError(ended.code)}
	}
	// Killed by a signal that wasn't ours, or its pipes broke: how far it got
	// is anybody's guess. What os/exec said is text alone, no part of the API.
	said := "its end was not seen"
	if err != nil {
		said = err.Error()
	}
	return &skills.Failure{Code: skills.FailFailed, Unknown: !p.readsOnly, Err: errors.New("the program was ended from outside: " + said)}
}

// exitError is an exit code with what the program said.
func (r *running) exitError(code int) *ExitError {
	said := r.clean.Cut(r.stderr.take())
	return &ExitError{Code: code, Stderr: strings.ToValidUTF8(strings.TrimSpace(said), "\uFFFD")}
}

// ending is how a program ended: by itself with a code, or by a signal, whose
// code is that of shells, 128 and its number. Without a code it isn't known.
type ending struct {
	byItself bool
	code     int
}

// ending reads what PID 1 told, or without it the state of the process itself.
func (r *running) ending() ending {
	state := r.cmd.ProcessState
	switch {
	case r.spaces && r.exit == nil:
		return ending{}
	case r.spaces && r.exit.Signaled():
		return ending{code: 128 + int(r.exit.Signal())}
	case r.spaces:
		return ending{byItself: true, code: r.exit.ExitStatus()}
	case state != nil && state.Exited():
		return ending{byItself: true, code: state.ExitCode()}
	}
	return ending{}
}

// errIsolation marks a failure before the program itself was reached: the next
// way may work, and nothing has been done.
var errIsolation = errors.New("the isolation can't be set up")

// errBegun marks a failure after the program had begun: it was killed.
var errBegun = errors.New("the program had begun and was ended")

// running is a program under way.
type running struct {
	cmd            *osexec.Cmd
	isolation      string // the grade
	spaces         bool   // it has a PID 1 of its own
	bounded        bool   // the number of its processes has a bound
	child          *child
	listeners      []*os.File
	stop           func()              // ends what serves the listeners
	egress         *skills.Egress      // what they served, when they were stopped
	exit           *syscall.WaitStatus // as PID 1 told it; nil: PID 1 died
	stdout, stderr *limited
	clean          *scrub.Scrubber
}

// launch starts the program in the first way that this system has.
func (p *program) launch(ctx context.Context, argv []string, env environment, o skills.Order) (*running, error) {
	ways, err := p.ways()
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, w := range ways {
		w.layer = env.layer
		r, err := p.start(ctx, w, argv, env, o)
		if err == nil || !errors.Is(err, errIsolation) {
			return r, err
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// start returns when the program is known to run, or why it doesn't; then
// nothing of it is left.
func (p *program) start(ctx context.Context, w way, argv []string, env environment, o skills.Order) (r *running, err error) {
	r = &running{isolation: w.grade, spaces: w.spaces, bounded: p.boundsNumber(w), stop: func() {}, clean: env.clean,
		stdout: &limited{max: p.OutputLimit}, stderr: &limited{max: maxStderr}}
	r.cmd = command(ctx, p.path, argv, env.list, p.Dir)
	r.cmd.Stdout, r.cmd.Stderr = r.stdout, r.stderr
	if p.Stdin == "json" {
		r.cmd.Stdin = strings.NewReader(o.Args)
	}
	if r.child, err = p.wrapCommand(r.cmd, w); err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		r.child.close()
		return nil, startError(err, w)
	}
	if err = r.awaitStart(ctx, w); err == nil && len(r.listeners) > 0 {
		err = p.serveListeners(ctx, r)
	}
	if err != nil {
		_ = killGroup(r.cmd)
		_ = r.cmd.Wait()
		r.readEnd()
		r.child.close()
		closeAll(r.listeners)
		return nil, err
	}
	return r, nil
}

// startError keeps the argument list out of the message.
func startError(err error, w way) error {
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	var errno syscall.Errno
	if w.spaces && errors.As(err, &errno) {
		return cloneFailed(errno)
	}
	return fmt.Errorf("the program can't be started: %w", err)
}

// command returns a Cmd that dies as a group when ctx ends.
func command(ctx context.Context, path string, argv, env []string, dir string) *osexec.Cmd {
	cmd := osexec.CommandContext(ctx, path)
	cmd.Args, cmd.Env, cmd.Dir, cmd.WaitDelay = argv, env, dir, drain
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	return cmd
}

// limited keeps the first max bytes and swallows the rest, so that a talkative
// program neither fills our memory nor stops at a full pipe.
type limited struct {
	mu  sync.Mutex
	b   []byte
	max int
	cut bool
}

func (l *limited) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := l.max - len(l.b)
	if room < len(p) {
		l.cut = true
		l.b = append(l.b, p[:max(room, 0)]...)
		return len(p), nil
	}
	l.b = append(l.b, p...)
	return len(p), nil
}

// take returns what was kept, and whether something was lost.
func (l *limited) take() (text string, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b), l.cut
}
