package approval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/sentinel"
)

const prompt = "approve this call? [y/N] "

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
	terminal.DiscardTyped(t.o.In)
	if err := t.writeScreen(Describe(c, d) + prompt); err != nil {
		return sentinel.Verdict{}, err
	}
	q := t.in.openQuestion()
	for {
		select {
		case line := <-q.answer:
			return t.verdictOn(line, true), nil
		case <-q.stale:
			if err := t.writeScreen("that line may have been meant for an earlier question, so it does not count.\n" + prompt); err != nil {
				t.in.expireQuestion(q)
				return sentinel.Verdict{}, err
			}
		case <-t.in.ended:
			select {
			case line := <-q.answer: // the last line, without its end
				return t.verdictOn(line, true), nil
			default:
				return t.verdictOn("", false), nil
			}
		case <-ctx.Done():
			t.in.expireQuestion(q)
			_, _ = io.WriteString(t.o.Out, "\n") // the question stays open on the screen otherwise
			return endQuestion(ctx)
		}
	}
}

// writeScreen writes to the screen. Without one no person can be asked.
func (t *Terminal) writeScreen(text string) error {
	if _, err := io.WriteString(t.o.Out, text); err != nil {
		return fmt.Errorf("%w: the screen can't be written to: %w", sentinel.ErrNoApprover, err)
	}
	return nil
}

func (t *Terminal) verdictOn(line string, ok bool) sentinel.Verdict {
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
