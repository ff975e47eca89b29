package exec

import (
	"context"
	"errors"
	"os"
	osexec "os/exec"
	"strings"
	"sync"
	"syscall"

	"github.com/vedette-dev/vedette/internal/scrub"
	"github.com/vedette-dev/vedette/skills"
)

// running is a program under way.
type running struct {
	program        *program
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

// awaitEnd returns when nothing of the program is left, with what os/exec says of
// the process that we started.
func (r *running) awaitEnd() error {
	awaitExit(r.cmd)
	_ = killGroup(r.cmd) // what it left behind
	err := r.cmd.Wait()
	r.awaitNamespaceEnd()
	r.child.close()
	r.stop()
	return err
}

// explainEnd tells an end by itself, which may be no error, from one by force. err is what
// os/exec said.
func (r *running) explainEnd(ctx context.Context, err error) error {
	ended := r.findEnding()
	switch {
	case ctx.Err() != nil && !ended.byItself:
		return ctx.Err()
	case ended.byItself && ended.code == 0 && (err == nil || errors.Is(err, osexec.ErrWaitDelay)):
		return nil
	case ended.byItself && ended.code != 0:
		return r.makeExitError(ended.code)
	case ended.code != 0:
		// The program was killed from inside the sandbox, as by a limit or by itself. How far
		// it got isn't known.
		return &skills.Failure{Code: skills.FailFailed, Unknown: !r.program.readsOnly, Err: r.makeExitError(ended.code)}
	}
	// A signal that wasn't ours killed the program, or its pipes broke. How far it got isn't
	// known. What os/exec said is text alone, no part of the API.
	said := "its end was not seen"
	if err != nil {
		said = err.Error()
	}
	err = errors.New("the program was ended from outside: " + said)
	return &skills.Failure{Code: skills.FailFailed, Unknown: !r.program.readsOnly, Err: err}
}

// makeExitError returns an exit code with what the program said.
func (r *running) makeExitError(code int) *ExitError {
	said := r.clean.Cut(r.stderr.take())
	return &ExitError{Code: code, Stderr: strings.ToValidUTF8(strings.TrimSpace(said), "\uFFFD")}
}

// ending is how a program ended, by itself with a code, or by a signal. A signal's code is
// that of shells, 128 and its number. Without a code it isn't known.
type ending struct {
	byItself bool
	code     int
}

// findEnding reads what PID 1 told, or without it the state of the process itself.
func (r *running) findEnding() ending {
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

// limited keeps the first max bytes and swallows the rest. So a talkative program neither
// fills our memory nor stops at a full pipe.
type limited struct {
	mu  sync.Mutex
	b   []byte
	max int
	cut bool
}

// Write takes all of p and keeps what there is room for.
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
