package eval

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vedette-dev/vedette/internal/backoff"
	"github.com/vedette-dev/vedette/orchestrator/cases"
)

// Each decides every line of in and tells fn of each in their order, n counted
// from 1. With jobs of more than one, so many are decided at a time. fn is
// called in the caller's goroutine; its error ends the work and is returned, as
// is one of the input and the end of ctx. When ctx ends, or a model was away for too
// long (*Away), fn is still told of what had been decided by then behind a line
// that hadn't.
func (e *Evaluator) Each(ctx context.Context, in io.Reader, jobs int, fn func(n int, r Result) error) error {
	if jobs > 1 || e.o.Retry != nil {
		return e.decideParallel(ctx, cases.NewReader(in), jobs, fn)
	}
	for r := cases.NewReader(in); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := r.Next()
		var long *cases.Error
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.As(err, &long):
			return err
		}
		res := Result{Err: long}
		if long == nil {
			if res, err = e.Evaluate(ctx, line); err != nil {
				return err
			}
		}
		if err := fn(r.Line(), res); err != nil {
			return err
		}
	}
}

// pendingLine is one line on its way: done gets exactly one result, or is abandoned
// when ctx ends. begun is closed once it has its slot, so that lines are begun in
// their order.
type pendingLine struct {
	n     int
	line  []byte
	done  chan Result
	begun chan struct{}
}

func (e *Evaluator) decideParallel(ctx context.Context, r *cases.Reader, jobs int, fn func(int, Result) error) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	g, inner := errgroup.WithContext(inner)
	work, order := make(chan pendingLine), make(chan pendingLine, 4*jobs)
	g.Go(func() error {
		defer close(work)
		defer close(order)
		return splitLines(inner, r, work, order)
	})
	workers, s := jobs, slots(nil)
	if e.o.Retry != nil {
		workers, s = jobs+spare, make(slots, jobs)
	}
	for range workers {
		g.Go(func() error { return e.decideTasks(inner, work, s) })
	}
	head, err := collectResults(inner, order, fn)
	if err != nil {
		cancel()
	}
	// The cause is what a goroutine or fn said first; that the others were
	// told to stop says nothing.
	if werr := g.Wait(); werr != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = werr
	}
	var away *Away
	if ctx.Err() != nil || errors.As(err, &away) {
		err = errors.Join(err, handOutRest(head, order, fn))
	}
	return err
}

// handOutRest hands out, in order, what was decided behind a line that wasn't. It was
// paid for, though the caller's context ended.
func handOutRest(head *pendingLine, order <-chan pendingLine, fn func(int, Result) error) error {
	hand := func(t pendingLine) error {
		select {
		case res := <-t.done:
			return fn(t.n, res)
		default:
			return nil
		}
	}
	if head == nil {
		return nil // fn failed, or all was handed out
	}
	if err := hand(*head); err != nil {
		return err
	}
	for t := range order { // closed: split has ended
		if err := hand(t); err != nil {
			return err
		}
	}
	return nil
}

// splitLines hands out the lines: to order first, so that collect sees each one.
func splitLines(ctx context.Context, r *cases.Reader, work, order chan<- pendingLine) error {
	for {
		line, err := r.Next()
		var long *cases.Error
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.As(err, &long):
			return err
		}
		t := pendingLine{r.Line(), bytes.Clone(line), make(chan Result, 1), make(chan struct{})}
		if long != nil {
			t.done <- Result{Err: long}
		}
		select {
		case order <- t:
		case <-ctx.Done():
			return ctx.Err()
		}
		if long != nil {
			continue
		}
		select {
		case work <- t:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-t.begun:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (e *Evaluator) decideTasks(ctx context.Context, work <-chan pendingLine, s slots) error {
	for {
		select {
		case t, ok := <-work:
			if !ok {
				return nil
			}
			if err := s.take(ctx); err != nil {
				return err
			}
			close(t.begun)
			res, err := e.decideLine(ctx, t.line, s)
			if err != nil {
				return err // it ends the run: the slot stays taken, so that no further case begins before the others are stopped
			}
			s.free()
			t.done <- res
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// collectResults hands out the results in order. Where ctx ends first, it returns the
// task that it was waiting for.
func collectResults(ctx context.Context, order <-chan pendingLine, fn func(int, Result) error) (*pendingLine, error) {
	for t := range order {
		select {
		case res := <-t.done:
			if err := fn(t.n, res); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return &t, ctx.Err()
		}
	}
	return nil, nil
}

// slots are how many cases are decided at a time. One that waits for a model
// leaves its slot to another. Nil has no end of them.
type slots chan struct{}

// spare is how many cases may wait besides those that are decided.
const spare = 3

func (s slots) take(ctx context.Context) error {
	if s == nil {
		return ctx.Err()
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slots) free() {
	if s != nil {
		<-s
	}
}

// waitOutside waits without its slot, and reports whether it was for the whole time and
// has its slot again. A run that ends gives no slot back.
func (s slots) waitOutside(ctx context.Context, d time.Duration) bool {
	s.free()
	backoff.Wait(ctx, d)
	return s.take(ctx) == nil && ctx.Err() == nil
}
