package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// drain is how long output is awaited after the program has ended. What it left behind may
// hold its end of the pipes for ever.
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

// runOrder starts the program for one order, awaits its end, and returns what it printed.
func (p *program) runOrder(ctx context.Context, o skills.Order) (skills.Result, error) {
	// The kernel kills the program when the thread that started it ends. This keeps that
	// thread until the end.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	args, err := parseArguments(o.Args)
	if err != nil {
		return skills.Result{}, err
	}
	argv, err := expandArgv(p.Argv, args, p.AllowDash)
	if err != nil {
		return skills.Result{}, err
	}
	env, err := newEnvironment(ctx, p, o)
	if err != nil {
		return skills.Result{}, err
	}
	keep, err := newWriting(ctx, p, o)
	if err != nil {
		return skills.Result{}, &skills.Failure{Code: skills.FailNotStarted, Err: env.clean.Error(err)}
	}
	env.layer = keep.layer
	r, err := p.launchProgram(keep.ctx, argv, env, p.openStdio(o))
	if err != nil {
		_, err = keep.finish(nil, err)
		if errors.Is(err, errBegun) {
			return skills.Result{}, &skills.Failure{Code: skills.FailFailed, Unknown: keep.mayHaveActed(), Err: env.clean.Error(err)}
		}
		return skills.Result{}, &skills.Failure{Code: skills.FailNotStarted, Err: env.clean.Error(err)}
	}
	keep.first.Store(int64(r.child.firstPID()))
	follow, err := keep.finish(r, r.explainEnd(keep.ctx, r.awaitEnd()))
	text, cut := r.stdout.take()
	return skills.Result{Content: env.clean.Cut(text, cut), Truncated: cut, Isolation: r.isolation, Egress: r.egress, Follow: follow}, err
}

// errIsolation marks a failure before the program itself was reached: the next
// way may work, and nothing has been done.
var errIsolation = errors.New("the isolation can't be set up")

// errBegun marks a failure after the program had begun: it was killed.
var errBegun = errors.New("the program had begun and was ended")

// launchProgram starts the program in the first way that this system has.
func (p *program) launchProgram(ctx context.Context, argv []string, env environment, files stdio) (*running, error) {
	ways, err := p.listWays()
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, w := range ways {
		w.layer = env.layer
		r, err := p.startInWay(ctx, w, argv, env, files)
		if err == nil || !errors.Is(err, errIsolation) {
			return r, err
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// stdio is what a program reads and writes.
type stdio struct {
	in  io.Reader // nil: nothing
	out io.Writer // nil: what it prints is kept up to its limit
}

// openStdio returns what a skill's program reads: the call's arguments, or nothing.
func (p *program) openStdio(o skills.Order) stdio {
	if p.Stdin == "json" {
		return stdio{in: strings.NewReader(o.Args)}
	}
	return stdio{}
}

// startInWay returns when the program is known to run, or says why it doesn't. Then nothing of
// it is left.
func (p *program) startInWay(ctx context.Context, w way, argv []string, env environment, files stdio) (r *running, err error) {
	r = &running{program: p, isolation: w.grade, spaces: w.spaces, bounded: w.boundsProcesses(p.Limits), stop: func() {}, clean: env.clean,
		stdout: &limited{max: p.OutputLimit}, stderr: &limited{max: maxStderr}}
	r.cmd = newCommand(ctx, p.path, argv, env.list, p.Dir)
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = files.in, r.stdout, r.stderr
	if files.out != nil {
		r.cmd.Stdout = files.out
	}
	if r.child, err = p.wrapCommand(r.cmd, w); err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		r.child.close()
		return nil, startError(err, w)
	}
	if err = r.awaitStart(ctx, w); err == nil && len(r.listeners) > 0 {
		err = r.serveListeners(ctx)
	}
	if err != nil {
		_ = killGroup(r.cmd)
		_ = r.cmd.Wait()
		r.awaitNamespaceEnd()
		r.child.close()
		closeListeners(r.listeners)
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

// newCommand returns a Cmd that dies as a group when ctx ends.
func newCommand(ctx context.Context, path string, argv, env []string, dir string) *osexec.Cmd {
	cmd := osexec.CommandContext(ctx, path)
	cmd.Args, cmd.Env, cmd.Dir, cmd.WaitDelay = argv, env, dir, drain
	askOwnGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	return cmd
}
