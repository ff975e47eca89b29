package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/internal/textcut"
)

// Failure is an Executor's error: the skill was started and did not succeed.
type Failure struct {
	// Code is one of failed, panic, timeout, canceled, not_started.
	Code string
	// Unknown is set when the effect may or may not have happened.
	Unknown bool
	// Err is the skill's own error. Its text may hold values, so it goes to the model and the
	// journal and never to a log.
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

// MaxError is the greatest size in bytes of a failure's text; the rest is cut.
const MaxError = 16 << 10

// codes are what a Failure may carry: a skill's own word would be a value.
var codes = map[string]bool{FailFailed: true, FailPanic: true, FailTimeout: true, FailCanceled: true, FailNotStarted: true}

// errorText is an error whose words were taken down once, bounded: a skill's own
// Error method may be long, slow, or panic.
type errorText struct {
	words string
	cause error
}

func (t *errorText) Error() string { return t.words }

func (t *errorText) Unwrap() error { return t.cause }

func readableError(err error) (out error) {
	defer func() {
		if recover() != nil {
			out = errors.New("the skill's error can't be read")
		}
	}()
	s := textcut.Head(strings.ToValidUTF8(err.Error(), "\uFFFD"), MaxError)
	return &errorText{s, err}
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
