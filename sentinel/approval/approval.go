// Package approval asks people about calls whose outcome is Ask. Terminal asks
// at a terminal; other ways implement sentinel.Approver too.
//
// An approver sees the call as it will run: the canonical arguments, what they
// would touch, the user's request, and every reason for asking. x-secret values
// are hidden. A value too long for the screen is cut, and it says so: the size
// of the whole and the beginning of its SHA-256 stand beside it. What is shown
// comes from models and tools, so it is quoted, escaped, and broken into lines
// that are marked as its own: it can't move the cursor, forge a line, or answer
// the question.
//
// Who waits how long is the checkpoint's business (sentinel.Options.AskTimeout):
// an approver waits until its context ends. It returns an error where no person
// has answered, and the checkpoint decides by the context's cause whether the
// call has expired, was withdrawn, or stays held and is asked about again.
//
// What not to do: don't answer Allow for a call without having shown it; don't
// take a timeout or a closed input for a yes; don't take the end of the context
// for a no.
package approval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
)

// The codes of an approval verdict.
const (
	CodeDenied  = "approval.denied"            // a person said no
	CodeExpired = sentinel.CodeApprovalExpired // no person answered in time
	CodeNobody  = sentinel.CodeApprovalNobody  // there is no person to ask
)

// Nobody is the approver of programs without people to ask: it refuses every call
// that needs a person's approval.
type Nobody struct{}

// Approve refuses the call: no person can approve it.
func (Nobody) Approve(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
	v := sentinel.Refuse(CodeNobody, "the call needs a person's approval and nobody can give it")
	v.WhatYouCanDo = "Tell the user what needs their approval."
	return v, nil
}

// TerminalOptions are the parts of a Terminal.
type TerminalOptions struct {
	In  io.Reader
	Out io.Writer
	// Timeout ends a question before the checkpoint does. Zero leaves that to
	// the checkpoint; a Timeout beyond its own has no effect.
	Timeout time.Duration
	// Who is recorded as the one who decided; empty means "terminal".
	Who string
}

// Terminal asks one question at a time at a terminal: y approves, anything
// else refuses, and the end of the input refuses. It is safe for concurrent
// use.
//
// A line answers a question only if reading it began after the question was
// printed. What was typed into a Linux terminal before that is thrown away.
// Where In is a pipe, lines that wait in it are answers in their order, one for
// each question, as with any program; but once a question has expired, what
// comes is read and dropped until the next one, whose first line may have been
// begun before it and is therefore asked for again.
//
// One goroutine reads In, while a question is open; after one that expired it
// goes on until the next answer or the end of In.
type Terminal struct {
	o    TerminalOptions
	turn chan struct{}
	in   input
}

// NewTerminal returns an approver that reads answers from o.In.
func NewTerminal(o TerminalOptions) *Terminal {
	if o.Who == "" {
		o.Who = "terminal"
	}
	return &Terminal{o: o, turn: make(chan struct{}, 1), in: input{from: o.In, ended: make(chan struct{})}}
}

// Approve shows the call and waits for an answer until ctx ends. Time spent
// waiting for another question to be answered counts. An error says that no
// person answered: it is sentinel.ErrNoApprover where the screen is gone, and
// otherwise the cause of ctx.
func (t *Terminal) Approve(ctx context.Context, c sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
	if t.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.o.Timeout, sentinel.ErrExpired)
		defer cancel()
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return endQuestion(ctx)
	}
	discardPending(t.o.In)
	if err := t.show(Describe(c, d) + prompt); err != nil {
		return sentinel.Verdict{}, err
	}
	q := t.in.open()
	for {
		select {
		case line := <-q.answer:
			return t.answer(line, true), nil
		case <-q.stale:
			if err := t.show("that line may have been meant for an earlier question, so it does not count.\n" + prompt); err != nil {
				t.in.expire(q)
				return sentinel.Verdict{}, err
			}
		case <-t.in.ended:
			select {
			case line := <-q.answer: // the last line, without its end
				return t.answer(line, true), nil
			default:
				return t.answer("", false), nil
			}
		case <-ctx.Done():
			t.in.expire(q)
			_, _ = io.WriteString(t.o.Out, "\n") // the question stays open on the screen otherwise
			return endQuestion(ctx)
		}
	}
}

// show writes to the screen. Without one no person can be asked.
func (t *Terminal) show(text string) error {
	if _, err := io.WriteString(t.o.Out, text); err != nil {
		return fmt.Errorf("%w: the screen can't be written to: %w", sentinel.ErrNoApprover, err)
	}
	return nil
}

const prompt = "approve this call? [y/N] "

func (t *Terminal) answer(line string, ok bool) sentinel.Verdict {
	v := sentinel.Pass()
	v.Meta = map[string]string{"by": t.o.Who, "via": "terminal"}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		if ok {
			v.Reason = "approved by " + t.o.Who
			return v
		}
	}
	no := sentinel.Refuse(CodeDenied, "refused by "+t.o.Who)
	if !ok {
		no = sentinel.Refuse(CodeNobody, "the terminal was closed before anybody answered")
	}
	no.Meta = v.Meta
	return no
}

// endQuestion is what a question comes to that ended without an answer.
func endQuestion(ctx context.Context) (sentinel.Verdict, error) {
	cause := context.Cause(ctx)
	if errors.Is(cause, sentinel.ErrExpired) {
		return sentinel.Refuse(CodeExpired, "no person answered in time"), nil
	}
	return sentinel.Verdict{}, cause
}
