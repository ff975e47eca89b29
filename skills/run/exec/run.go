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
	"time"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/scrub"
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
	l, err := p.launch(ctx, argv, env, o.Args)
	if err != nil {
		return skills.Result{}, &skills.Failure{Code: skills.FailNotStarted, Err: env.clean.Error(err)}
	}
	awaitExit(l.cmd)
	_ = killGroup(l.cmd) // what it left behind
	err = l.cmd.Wait()
	text, cut := l.stdout.take()
	res := skills.Result{Content: env.clean.Cut(text, cut), Truncated: cut, Isolation: l.isolation}
	return res, p.outcome(ctx, l, err)
}

// outcome tells an end by itself from one by force.
func (p *program) outcome(ctx context.Context, r *running, err error) error {
	state := r.cmd.ProcessState
	switch {
	case ctx.Err() != nil && (state == nil || !state.Exited()):
		return ctx.Err()
	case err == nil, errors.Is(err, osexec.ErrWaitDelay) && state.Success():
		return nil
	case state != nil && state.Exited() && state.ExitCode() != 0:
		said := r.clean.Cut(r.stderr.take())
		return &ExitError{Code: state.ExitCode(), Stderr: strings.ToValidUTF8(strings.TrimSpace(said), "\uFFFD")}
	}
	// Killed by a signal that wasn't ours, or its pipes broke: how far it got
	// is anybody's guess. What os/exec said is text alone, no part of the API.
	return &skills.Failure{Code: skills.FailFailed, Unknown: !p.readsOnly, Err: errors.New("the program was ended from outside: " + err.Error())}
}

// way is one way to isolate.
type way struct {
	name     string
	landlock bool
	spaces   bool // namespaces for processes, network and IPC
	mounts   bool // a file system of its own
}

// errIsolation marks a failure before the program itself was reached: the next
// way may work, and nothing has been done.
var errIsolation = errors.New("the isolation can't be set up")

// running is a program under way.
type running struct {
	cmd            *osexec.Cmd
	isolation      string
	stdout, stderr *limited
	clean          *scrub.Scrubber
}

// launch starts the program in the first way that this system has.
func (p *program) launch(ctx context.Context, argv []string, env environment, stdin string) (*running, error) {
	ways, err := p.ways()
	if err != nil {
		return nil, err
	}
	for _, w := range ways {
		var r *running
		if r, err = p.start(ctx, w, argv, env, stdin); err == nil || !errors.Is(err, errIsolation) {
			return r, err
		}
	}
	return nil, err
}

// start returns when the program is known to run, or why it doesn't; then
// nothing of it is left.
func (p *program) start(ctx context.Context, w way, argv []string, env environment, stdin string) (*running, error) {
	r := &running{isolation: w.name, stdout: &limited{max: p.OutputLimit}, stderr: &limited{max: maxStderr}, clean: env.clean}
	r.cmd = command(ctx, p.path, argv, env.list, p.Dir)
	r.cmd.Stdout, r.cmd.Stderr = r.stdout, r.stderr
	if p.Stdin == "json" {
		r.cmd.Stdin = strings.NewReader(stdin)
	}
	started, closers, err := p.wrap(r.cmd, w)
	defer func() {
		for _, c := range closers {
			_ = c.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, startError(err, w)
	}
	if started == nil {
		return r, nil
	}
	if err := started(); err != nil {
		_ = killGroup(r.cmd)
		_ = r.cmd.Wait()
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
	if w.spaces && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", errIsolation, err)
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
