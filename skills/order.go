package skills

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/skills/leak"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// Order is one call as an Executor sees it: exactly what was judged. Its
// digest is what a warrant is for.
type Order struct {
	CallID       string
	GrantID      string
	User         string
	Conversation string
	Skill        string
	SkillDigest  string
	// Args is the canonical JSON (RFC 8785) of the arguments.
	Args string
	// Deadline ends the run early; zero means the skill's timeout alone.
	Deadline time.Time
}

// Digest identifies the call: grant, user, conversation, skill, the skill's
// own digest and the canonical arguments, each framed by its length so that
// no two different calls share a byte string. Call id and deadline are not
// part of it: the same call proposed twice has the same digest.
func (o Order) Digest() string {
	var space [1024]byte // most calls fit, and need no memory of their own
	b := space[:0]
	for _, f := range [...]string{"vedette/call/v1", o.GrantID, o.User, o.Conversation, o.Skill, o.SkillDigest, o.Args} {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(f))), f...)
	}
	sum := sha256.Sum256(b)
	return string(hex.AppendEncode([]byte("sha256:"), sum[:]))
}

// IdempotencyKey is the key a repeat of the same call carries: the call id.
func (o Order) IdempotencyKey() string { return o.CallID }

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

// Failure is an Executor's error: the skill was started and did not succeed.
type Failure struct {
	// Code is one of failed, panic, timeout, canceled, not_started.
	Code string
	// Unknown is set when the effect may or may not have happened.
	Unknown bool
	// Err is the skill's own error; its text may hold values, so it goes to
	// the model and the journal and never to a log.
	Err error
}

// The codes of a Failure.
const (
	FailFailed     = "failed"
	FailPanic      = "panic"
	FailTimeout    = "timeout"
	FailCanceled   = "canceled"
	FailNotStarted = "not_started"
	// FailNotCommitted is the checkpoint's: the skill ran, and what it would have
	// written was thrown away, or is unknown where Unknown is set.
	FailNotCommitted = "not_committed"
)

// Error returns the code and the skill's own message.
func (f *Failure) Error() string {
	if f == nil {
		return "skill " + FailFailed
	}
	if f.Err == nil {
		return "skill " + f.Code
	}
	return "skill " + f.Code + ": " + f.Err.Error()
}

// Unwrap returns the skill's own error.
func (f *Failure) Unwrap() error {
	if f == nil { // a skill that returns its unset *Failure as an error
		return nil
	}
	return f.Err
}

// ErrNoEffect marks an error after which nothing can have happened: arguments
// that the back end refused, a connection that was never made. An executor
// error that wraps it is failed, never unknown.
var ErrNoEffect = errors.New("nothing was done")

// ErrBadInput marks an error that the arguments caused, a file that does not
// exist for example: it speaks against the call, not against the skill, so no
// breaker counts it. It includes ErrNoEffect.
var ErrBadInput = fmt.Errorf("the arguments can't be used: %w", ErrNoEffect)

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
	return e.contain(ctx, o)
}

// contain runs the skill in a goroutine, so that a skill that ignores its context
// doesn't hold up its caller. The goroutine owns nothing but its buffered channel.
func (e *executor) contain(ctx context.Context, o Order) (Result, error) {
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
	done := make(chan outcome, 1)
	go e.guarded(ctx, o, done)
	select {
	case out := <-done:
		return bounded(out.res), out.err
	case <-ctx.Done():
	}
	// A run that heeds its context knows best what had happened by then.
	select {
	case out := <-done:
		return bounded(out.res), out.err
	case <-time.After(grace):
		return Result{}, e.classify(ctx, ctx.Err())
	}
}

// grace is how long a run whose time is up may take to say how it ended.
const grace = 250 * time.Millisecond

type outcome struct {
	res Result
	err error
}

// guarded answers on done exactly once, also when the skill panics or ends its
// goroutine with runtime.Goexit.
func (e *executor) guarded(ctx context.Context, o Order, done chan<- outcome) {
	out := outcome{err: e.classify(ctx, &Failure{Code: FailPanic, Err: errors.New("the skill ended its goroutine")})}
	defer func() {
		if r := recover(); r != nil {
			out = outcome{err: e.classify(ctx, &Failure{Code: FailPanic, Err: &PanicError{Value: r, Stack: debug.Stack()}})}
		}
		done <- out
	}()
	ctx = context.WithValue(ctx, callerKey{}, o.Caller())
	res, err := e.run(leak.Mark(ctx, o.CallID, o.Skill), o)
	out = outcome{res, e.classify(ctx, err)} // here, where a panic of the error's own methods is caught
}

// MaxResult is the greatest size in bytes of a result's content; the rest is
// cut and the result marked.
const MaxResult = 1 << 20

// bounded cuts what is too long and replaces what is no text, so that nothing
// downstream has to survive it.
func bounded(r Result) Result {
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

// MaxError is the greatest size in bytes of a failure's text; the rest is cut.
const MaxError = 16 << 10

// codes are what a Failure may carry: a skill's own word would be a value.
var codes = map[string]bool{FailFailed: true, FailPanic: true, FailTimeout: true, FailCanceled: true, FailNotStarted: true}

// classify makes a Failure of our own out of whatever the skill returned, and
// says how sure we are that nothing happened. A plain error is the skill's word
// that it did not succeed; one that came of a panic, a timeout or a caller that
// left may have had its effect.
func (e *executor) classify(ctx context.Context, err error) error {
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
		f.Err = readable(err)
	}
	return f
}

// text is an error whose words were taken down once, bounded: a skill's own
// Error method may be long, slow, or panic.
type text struct {
	words string
	cause error
}

func (t *text) Error() string { return t.words }
func (t *text) Unwrap() error { return t.cause }

func readable(err error) (out error) {
	defer func() {
		if recover() != nil {
			out = errors.New("the skill's error can't be read")
		}
	}()
	s := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if len(s) > MaxError {
		s = strings.ToValidUTF8(s[:MaxError], "") + "…"
	}
	return &text{s, err}
}

// PanicError is a panic of a skill, caught at its boundary. Its text leaves
// the panic's value out, which may hold arguments.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns a fixed text.
func (p *PanicError) Error() string { return "the skill panicked" }

// MarshalJSON keeps a panic's value out of every record.
func (p *PanicError) MarshalJSON() ([]byte, error) { return json.Marshal(p.Error()) }
