package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/vedette-dev/vedette/internal/scrub"
	"github.com/vedette-dev/vedette/skills"
)

// helperPrefix begins the name of every helper.
const helperPrefix = "vedette-helper-"

// HelperName returns argv[0] of this program where it is started as a helper: main looks for it before all else, after
// MaybeChild, and does then what the helper does.
func HelperName(kind string) string { return helperPrefix + kind }

// Limits of a helper. It reads and writes its two pipes and starts nothing.
const (
	helperCPU     = "20s"
	helperFiles   = 64
	helperThreads = 64
)

// Helper is this program, started again in the sandbox to read what an attacker may have written. It sees no file but the
// system's programs and libraries, no network, no variable of ours and no key, and may write no file.
//
// A helper is no way to run a skill: it is this binary under another name, it gets nothing but what is written to it, and
// what it answers is as hostile as what it read.
type Helper struct {
	in, out   *os.File // to its standard input, and from its standard output
	isolation string
	end       context.CancelFunc
	ended     chan struct{}
	err       error // set before ended is closed
}

// StartHelper starts this program as HelperName(kind) in the best sandbox that a program which only reads may have: full,
// else landlock-strict. It returns when the helper runs. End ends it. The error is a *StepError where the sandbox can't
// be had; nothing falls back to none. The program that calls it must have called MaybeChild first.
func StartHelper(ctx context.Context, kind string) (*Helper, error) {
	if !isChildReady() {
		return nil, errors.New("a helper needs exec.MaybeChild to be called first in main")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program can't be found: %w", err)
	}
	p := &program{path: self, readsOnly: true, config: config{
		Argv: []string{HelperName(kind)}, Dir: "/", Isolation: IsolationAuto, OutputLimit: maxStderr,
		Limits: limits{CPU: helperCPU, FileSize: 1, OpenFiles: helperFiles, Processes: helperThreads},
	}}
	theirIn, ourIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ourOut, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), ourIn.Close())
	}
	live, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h := &Helper{in: ourIn, out: ourOut, end: cancel, ended: make(chan struct{})}
	started := make(chan error, 1)
	go h.run(live, p, stdio{in: theirIn, out: theirOut}, started)
	select {
	case err = <-started:
	case <-ctx.Done():
		cancel()
		err = errors.Join(ctx.Err(), <-started)
	}
	if err != nil {
		h.End()
		return nil, err
	}
	return h, nil
}

// run starts the helper and waits for its end. It keeps its thread meanwhile: the kernel kills what a thread started when
// the thread ends.
func (h *Helper) run(ctx context.Context, p *program, files stdio, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(h.ended)
	env := environment{list: []string{"GOMAXPROCS=1", "GOMEMLIMIT=128MiB"}, clean: scrub.New()}
	r, err := p.launchProgram(ctx, p.Argv, env, files)
	for _, theirs := range []any{files.in, files.out} {
		if f, ok := theirs.(*os.File); ok {
			_ = f.Close() // the helper has its own copy
		}
	}
	if err == nil {
		h.isolation = r.isolation
	}
	h.err = err
	started <- err
	if err == nil {
		h.err = r.explainEnd(ctx, r.awaitEnd())
	}
}

// Pipes are the ends to write to the helper's standard input and to read from its standard output. Both take deadlines.
func (h *Helper) Pipes() (in, out *os.File) { return h.in, h.out }

// Isolation is the grade in force: GradeFull and so on.
func (h *Helper) Isolation() string { return h.isolation }

// Ended is closed when the helper has ended.
func (h *Helper) Ended() <-chan struct{} { return h.ended }

// Err says how the helper ended, nil where it did so by itself without an error. It is valid once Ended is closed. What
// the helper printed is not part of it.
func (h *Helper) Err() error {
	var failed *skills.Failure
	if errors.As(h.err, &failed) {
		return errors.New("the helper was ended by a signal")
	}
	var exit *ExitError
	if errors.As(h.err, &exit) {
		return fmt.Errorf("the helper ended with the code %d", exit.Code)
	}
	return h.err
}

// End ends the helper, where it still runs, and returns when nothing of it is left.
func (h *Helper) End() {
	h.end()
	<-h.ended
	_ = h.in.Close()
	_ = h.out.Close()
}

// IsHelper reports whether this process was started as that helper.
func IsHelper(kind string) bool {
	return len(os.Args) == 1 && strings.HasPrefix(os.Args[0], helperPrefix) && os.Args[0] == HelperName(kind)
}
