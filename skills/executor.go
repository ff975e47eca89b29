package skills

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/skills/leak"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// Executor runs orders of one skill. Execute returns a *warrant.Error-family
// error and does nothing where w is not a valid, unspent warrant for o.
// NewExecutor is the way to make one.
type Executor interface {
	Execute(ctx context.Context, w warrant.Warrant, o Order) (Result, error)
}

// RunFunc does a skill's work. It is only ever called by an Executor made by
// NewExecutor. It must return when ctx ends; one that does not is abandoned.
type RunFunc func(ctx context.Context, o Order) (Result, error)

// Redeemer checks and spends a warrant; *warrant.Verifier is one.
type Redeemer interface {
	Redeem(w warrant.Warrant, digest string) error
}

// NewExecutor wraps run so that it can't be called without a warrant: the
// warrant is redeemed against the order's digest first, then run gets the
// skill's timeout, a goroutine of its own and a recover. A run that outlives
// its time is abandoned and reported as unknown unless the skill only reads.
func NewExecutor(r Redeemer, s *Skill, run RunFunc) Executor {
	return &executor{redeem: r, skill: s, run: run}
}

type executor struct {
	redeem Redeemer
	skill  *Skill
	run    RunFunc
}

func (e *executor) Execute(ctx context.Context, w warrant.Warrant, o Order) (Result, error) {
	if o.Skill != e.skill.Name() || o.SkillDigest != e.skill.Digest() {
		return Result{}, fmt.Errorf("%w: the order is for another skill or another version of it", warrant.ErrWrongCall)
	}
	if err := e.redeem.Redeem(w, o.Digest()); err != nil {
		return Result{}, err
	}
	return e.runContained(ctx, o)
}

// runContained runs the skill in a goroutine, so that a skill that ignores its context
// doesn't hold up its caller. The goroutine owns nothing but its buffered channel.
func (e *executor) runContained(ctx context.Context, o Order) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, e.skill.spec.Timeout)
	defer cancel()
	if !o.Deadline.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, o.Deadline)
		defer stop()
	}
	if ctx.Err() != nil {
		return Result{}, &Failure{Code: FailNotStarted, Err: ctx.Err()}
	}
	done := make(chan runResult, 1)
	go e.runGuarded(ctx, o, done)
	select {
	case out := <-done:
		return boundResult(out.res), out.err
	case <-ctx.Done():
	}
	// A run that heeds its context knows best what had happened by then.
	select {
	case out := <-done:
		return boundResult(out.res), out.err
	case <-time.After(grace):
		return Result{}, e.classifyError(ctx, ctx.Err())
	}
}

// grace is how long a run whose time is up may take to say how it ended.
const grace = 250 * time.Millisecond

type runResult struct {
	res Result
	err error
}

// runGuarded answers on done exactly once, also when the skill panics or ends its
// goroutine with runtime.Goexit.
func (e *executor) runGuarded(ctx context.Context, o Order, done chan<- runResult) {
	out := runResult{err: e.classifyError(ctx, &Failure{Code: FailPanic, Err: errors.New("the skill ended its goroutine")})}
	defer func() {
		if r := recover(); r != nil {
			out = runResult{err: e.classifyError(ctx, &Failure{Code: FailPanic, Err: &PanicError{Value: r, Stack: debug.Stack()}})}
		}
		done <- out
	}()
	ctx = context.WithValue(ctx, callerKey{}, o.Caller())
	res, err := e.run(leak.Mark(ctx, o.CallID, o.Skill), o)
	out = runResult{res, e.classifyError(ctx, err)} // here, where a panic of the error's own methods is caught
}

// MaxResult is the greatest size in bytes of a result's content; the rest is
// cut and the result marked.
const MaxResult = 1 << 20

// boundResult cuts what is too long and replaces what is no text, so that nothing
// downstream has to survive it.
func boundResult(r Result) Result {
	if len(r.Content) > MaxResult {
		r.Content, r.Truncated = r.Content[:MaxResult], true
	}
	r.Content = strings.ToValidUTF8(r.Content, "\uFFFD")
	if !isolations[r.Isolation] {
		r.Isolation = ""
	}
	if r.Egress != nil && len(r.Egress.Details) > MaxEgress {
		short := *r.Egress
		short.Details = nil
		r.Egress = &short
	}
	return r
}

// isolations are the words that a result may use: they are recorded, so a
// skill's own would be a way into the record.
var isolations = map[string]bool{
	"in process": true, "os.Root": true, "remote": true, "none": true,
	"landlock": true, "namespaces": true, "landlock+namespaces": true,
	"full": true, "full-noproc": true, "landlock-strict": true,
}

// classifyError makes a Failure of our own out of an error, and says how sure we are that
// nothing happened. A plain error is the skill's word that it did not succeed; one that came
// of a panic, a timeout or a caller that left may have had its effect.
func (e *executor) classifyError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	f := &Failure{Code: FailFailed}
	var own *Failure
	switch {
	case errors.As(err, &own) && own != nil:
		if codes[own.Code] {
			f.Code = own.Code
		}
		f.Unknown, err = own.Unknown, own.Err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		f.Code = FailTimeout
	case ctx.Err() != nil:
		f.Code = FailCanceled
	}
	if f.Code != FailNotStarted && f.Code != FailFailed && !errors.Is(err, ErrNoEffect) {
		f.Unknown = true
	}
	f.Unknown = f.Unknown && e.skill.Effect() != Read
	if err != nil {
		f.Err = readableError(err)
	}
	return f
}
