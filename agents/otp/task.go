package otp

import (
	"context"
	"sync/atomic"
	"time"
)

// TaskResult is how an Async task ended, delivered to the server that began it
// as one message. Err is nil, the function's error, an *Exit for a panic,
// ErrGoexit, ErrTaskTimeout or ErrTaskCancelled; Value is set only when Err is nil.
type TaskResult struct {
	Ref   Ref
	Value any
	Err   error
}

// task is one supervised goroutine, which reports once. The first to set done decides
// what the task reports: the function, the timeout, CancelTask or the incarnation's end.
type task struct {
	p      *proc
	ref    Ref
	done   atomic.Bool
	cancel context.CancelCauseFunc
	stop   atomic.Pointer[func() bool] // the timer's; nil where there is none, or not yet
}

// Async runs fn in its own goroutine and delivers its end as a TaskResult with the
// returned Ref. It is OTP's async_nolink: a panic in fn ends only the task. The context
// of fn is cancelled when the timeout passes, on CancelTask, and when this incarnation
// stops; then no result comes any more. A timeout of zero means none. If fn ignores its
// context the result still comes in time, and System.Tasks counts the goroutine until it
// ends. A panic in a goroutine that fn starts itself ends the program.
func (c *Context) Async(timeout time.Duration, fn func(context.Context) (any, error)) Ref {
	p := c.p
	ctx, cancel := context.WithCancelCause(context.Background()) // no child of the process's: see endContext
	t := &task{p: p, ref: p.sys.nextRef(), cancel: cancel}
	if timeout > 0 {
		stop := p.sys.startTimer(timeout, func() { t.finish(nil, ErrTaskTimeout) }) // maybe at once
		t.stop.Store(&stop)
	}
	if !p.holdUntilEnd(t.ref, t) {
		t.release()
		return t.ref
	}
	p.sys.tasks.add()
	go func() {
		defer p.sys.tasks.done()
		var value any
		var err error
		returned := false
		defer t.endFunction(&returned, &value, &err)
		value, err = fn(ctx)
		returned = true
	}()
	return t.ref
}

// CancelTask cancels a task of this process; its result becomes
// ErrTaskCancelled unless it ended before.
func (c *Context) CancelTask(ref Ref) { c.CancelTaskFor(ref, ErrTaskCancelled) }

// CancelTaskFor is CancelTask, and tells the task why: cause is the
// context.Cause of its context. A task that its server's end or a restart
// cancels has the cause context.Canceled.
func (c *Context) CancelTaskFor(ref Ref, cause error) {
	c.p.mu.Lock()
	t, ok := c.p.refs[ref].(*task)
	c.p.mu.Unlock()
	if ok {
		t.finishWithCause(nil, ErrTaskCancelled, cause)
	}
}

// endFunction ends the task when fn has returned, panicked or called Goexit. It is
// deferred around fn, so it may recover.
func (t *task) endFunction(returned *bool, value *any, err *error) {
	if !*returned {
		*value, *err = nil, ErrGoexit
		//nolint:revive // endFunction is what the task defers
		if r := recover(); r != nil {
			*err = newExit(r)
		}
		t.p.sys.reportProcess(TaskCrashed, t.p, Crash(*err))
	} else if *err != nil {
		*value = nil
	}
	t.finish(*value, *err)
}

// finish ends the task with a result.
func (t *task) finish(value any, err error) { t.finishWithCause(value, err, err) }

// finishWithCause ends the task with a result, and its context with a cause.
func (t *task) finishWithCause(value any, err, cause error) {
	if !t.done.CompareAndSwap(false, true) {
		return
	}
	t.stopTimer()
	t.p.postMessage(taskDone{TaskResult{t.ref, value, err}})
	t.cancel(cause)
}

// release ends the task with its incarnation; no process is left to hear the result.
func (t *task) release() {
	t.done.Store(true)
	t.stopTimer()
	t.cancel(nil)
}

// stopTimer stops the timer, if one runs.
func (t *task) stopTimer() {
	if stop := t.stop.Load(); stop != nil {
		(*stop)()
	}
}
