package parse

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/internal/backoff"
)

// Process is a process of a parser, in a sandbox: an *exec.Helper.
type Process interface {
	// Pipes are the ends to write to and to read from.
	Pipes() (in, out *os.File)
	// Ended is closed when the process has ended.
	Ended() <-chan struct{}
	// End ends it and returns when nothing of it is left.
	End()
}

// StartFunc starts a process that runs MaybeHelper.
type StartFunc func(ctx context.Context) (Process, error)

// startTime bounds the start of one process.
const startTime = 20 * time.Second

// startPauses are the pauses after starts that failed.
var startPauses = backoff.Pauses{First: 100 * time.Millisecond, Longest: 10 * time.Second, Spread: backoff.Spread{Least: 75, Most: 125}}

// pool keeps processes of one parser ready, each for one text.
type pool struct {
	parser string
	start  StartFunc
	setup  setup
	ready  chan Process
	log    *slog.Logger
	using  sync.WaitGroup // texts under way, and processes that are being ended

	mu      sync.Mutex
	problem error // of the newest start; nil after one that worked
	stopped bool
}

func newPool(parser string, s setup, start StartFunc, ahead int, log *slog.Logger) *pool {
	return &pool{parser: parser, start: start, setup: s, ready: make(chan Process, ahead), log: log}
}

// run keeps as many processes ready as were asked for, until ctx ends. Those that wait are ended then.
func (p *pool) run(ctx context.Context) {
	p.setStopped(false)
	defer p.drain()
	var starters sync.WaitGroup
	for range cap(p.ready) {
		starters.Go(func() { p.keepOne(ctx) })
	}
	starters.Wait()
}

// keepOne starts one process after the other, each once there is room for it.
func (p *pool) keepOne(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		one, err := p.startReady(ctx)
		p.noteStart(err)
		if err != nil {
			if failures == 0 && ctx.Err() == nil {
				p.log.Error("a parser's process can't be started, so the parser has no part in votes until one can",
					"parser", p.parser, "error", err)
			}
			failures++
			if !backoff.Wait(ctx, startPauses.Pause(failures-1)) {
				return
			}
			continue
		}
		failures = 0
		select {
		case p.ready <- one:
		case <-one.Ended(): // it ended before it was wanted
			p.end(one)
		case <-ctx.Done():
			p.end(one)
		}
	}
}

// noteStart takes down how the newest start went.
func (p *pool) noteStart(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = err
}

func (p *pool) setStopped(stopped bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = stopped
}

// drain ends the processes that wait.
func (p *pool) drain() {
	p.setStopped(true)
	for {
		select {
		case one := <-p.ready:
			p.end(one)
		default:
			p.using.Wait()
			return
		}
	}
}

// enter counts a text that is under way; leave must be called. ok is false once the pool is stopped.
func (p *pool) enter() (leave func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return nil, false
	}
	p.using.Add(1)
	return p.using.Done, true
}

// end ends a process, while its caller goes on. The caller is counted itself, or is run.
func (p *pool) end(one Process) { p.using.Go(one.End) }

// startReady starts a process and hands it the setup.
func (p *pool) startReady(ctx context.Context) (Process, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	one, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	in, out := one.Pipes()
	stop := context.AfterFunc(ctx, func() { p.expire(one) })
	defer stop()
	err = writeMessage(in, message{Setup: &p.setup})
	if err == nil {
		var m message
		if m, err = readMessage(out); err == nil && !m.Ready {
			err = errFrame
		}
	}
	if err != nil {
		p.end(one)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errors.New("the parser's process is not ready: its main doesn't call parse.MaybeHelper, or its grammar is wrong")
	}
	return one, nil
}

// expire makes all that waits for a process fail.
func (p *pool) expire(one Process) {
	in, out := one.Pipes()
	past := time.Unix(1, 0)
	_ = in.SetDeadline(past)
	_ = out.SetDeadline(past)
}

// Errors of take.
var (
	errNoProcess = errors.New("no process can be started for the parser")
	errStopped   = errors.New("the parser's processes are stopped")
)

// take returns a process that is ready. Where none is and the newest start failed, it doesn't wait.
func (p *pool) take(ctx context.Context) (Process, error) {
	for {
		select {
		case one := <-p.ready:
			if isOver(one) {
				p.end(one)
				continue
			}
			return one, nil
		default:
		}
		p.mu.Lock()
		problem := p.problem
		p.mu.Unlock()
		if problem != nil {
			return nil, errNoProcess
		}
		select {
		case one := <-p.ready:
			if isOver(one) {
				p.end(one)
				continue
			}
			return one, nil
		case <-time.After(takeAgain): // a start may have failed meanwhile
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// takeAgain is how often one who waits for a process looks whether there can be any.
const takeAgain = 50 * time.Millisecond

func isOver(one Process) bool {
	select {
	case <-one.Ended():
		return true
	default:
		return false
	}
}

// read has a process of its own read one text. The code is empty where there is a draft.
func (p *pool) read(ctx context.Context, t task, ask askFunc) ([]byte, Code, error) {
	leave, ok := p.enter()
	if !ok {
		return nil, Isolation, errStopped
	}
	defer leave()
	one, err := p.take(ctx)
	switch {
	case errors.Is(err, errNoProcess):
		return nil, Isolation, err
	case err != nil && codeOfEnd(ctx) == Timeout:
		return nil, Busy, err // that others use all processes is no fault of the parser's
	case err != nil:
		return nil, Canceled, err
	}
	defer p.end(one)
	stop := context.AfterFunc(ctx, func() { p.expire(one) })
	defer stop()
	draft, code, err := exchange(one, t, ask)
	if err != nil && ctx.Err() != nil {
		return nil, codeOfEnd(ctx), ctx.Err()
	}
	return draft, code, err
}

// exchange gives a process its text, asks the model for it, and returns its draft.
func exchange(one Process, t task, ask askFunc) ([]byte, Code, error) {
	in, out := one.Pipes()
	if err := writeMessage(in, message{Task: &t}); err != nil {
		return nil, Killed, err
	}
	for asked := false; ; asked = true {
		m, err := readMessage(out)
		switch {
		case errors.Is(err, errFrame):
			return nil, Schema, err
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err != nil:
			return nil, Killed, err
		case m.Draft != nil:
			return m.Draft, "", nil
		case m.Code != "":
			return nil, readCode(m.Code), errors.New("the parser found no intent")
		case !m.Ask || asked: // one text, one question
			return nil, Schema, errFrame
		}
		content, err := ask()
		if err != nil {
			return nil, "", err
		}
		if err := writeMessage(in, message{Content: &content}); err != nil {
			return nil, Killed, err
		}
	}
}

// codeOfEnd names why a context ended.
func codeOfEnd(ctx context.Context) Code {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Timeout
	}
	return Canceled
}
