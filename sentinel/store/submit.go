package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	queued int32 = iota
	taken
	abandoned
)

// request is one submission, or one piece of maintenance that runs outside of
// any transaction.
type request struct {
	fn    func(*Tx) error
	maint func(*conn) error
	state atomic.Int32
	err   error
	done  chan struct{}
}

// writer is the state of the writer goroutine; no other goroutine touches it.
type writer struct {
	conn  *conn // nil after a failure, until the next group opens another
	tx    Tx
	batch []*request
}

// Submit runs fn in the writer's transaction and returns once its effects are
// durable (nil), or were undone (any error).
//
// The error is fn's own when fn failed, and a *PanicError when it panicked.
// ErrUnavailable: the group could not be committed. ErrClosed: the store is
// closed. If ctx ends before the writer picked fn up, fn does not run and ctx's
// error is returned. Once fn was picked up, Submit awaits the result, also where
// ctx ends: the caller must know whether it was written.
func (s *Store) Submit(ctx context.Context, fn func(tx *Tx) error) error {
	if fn == nil {
		return errors.New("submit needs a function")
	}
	return s.submitRequest(ctx, &request{fn: fn, done: make(chan struct{})})
}

// submitRequest queues r and waits for its end.
func (s *Store) submitRequest(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.closing: // a closed store is closed, also with room in the queue
		return ErrClosed
	default:
	}
	select {
	case s.in <- r:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return ErrClosed
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		if r.state.CompareAndSwap(queued, abandoned) {
			return ctx.Err()
		}
	case <-s.stopped:
		if r.state.CompareAndSwap(queued, abandoned) {
			return ErrClosed
		}
	}
	<-r.done
	return r.err
}

// serveBatch gathers what is waiting behind r and runs it.
func (s *Store) serveBatch(r *request) {
	w := &s.w
	w.batch = w.batch[:0]
	var after *request
	yielded := false
	for r != nil {
		if r.maint != nil {
			after = r
			break
		}
		w.batch = append(w.batch, r)
		if len(w.batch) == s.opts.MaxBatch {
			break
		}
		r = nil
		select {
		case r = <-s.in:
		default:
			if yielded {
				break
			}
			// The callers of the last group were woken a moment ago. One turn
			// of the scheduler lets them queue again, for a fuller group.
			yielded = true
			runtime.Gosched()
			select {
			case r = <-s.in:
			default:
			}
		}
	}
	if len(w.batch) > 0 {
		s.runGroup()
	}
	if after != nil {
		s.runMaintenance(after)
	}
}

// runGroup runs the batch as one transaction and tells its members.
func (s *Store) runGroup() {
	w := &s.w
	hooks := s.hooks.Load()
	written, err := s.runTransaction(hooks)
	if err != nil {
		s.abortGroup(err)
		return
	}
	if written {
		for _, f := range hooks.commit {
			if err := s.runHook(f); err != nil {
				// The group is durable, but who keeps state beside it may not know.
				s.abortGroup(asUnavailable("after commit", err))
				return
			}
		}
	}
	w.answerBatch(nil)
}

// abortGroup ends a group that failed as a whole: nothing of it is in the
// database. It closes the connection, whose state is not worth finding out about.
func (s *Store) abortGroup(err error) {
	w := &s.w
	w.tx.live = false
	if w.conn != nil {
		_, _ = w.conn.exec(sqlRollback, nil)
		_ = w.conn.close()
		w.conn = nil
	}
	if herr := s.runHook(func() { w.tx.undo(0) }); herr != nil {
		err = errors.Join(err, herr)
	}
	for _, f := range s.hooks.Load().rollback {
		if herr := s.runHook(f); herr != nil {
			err = errors.Join(err, herr)
		}
	}
	w.answerBatch(err)
}

// runHook runs a hook that has no transaction. It returns a panic as an error, so
// that later hooks run and waiting callers get an answer.
func (s *Store) runHook(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(v)
		}
	}()
	f()
	return nil
}

// answerBatch tells all members; err, if any, overrides success but not a member's
// own error.
func (w *writer) answerBatch(err error) {
	for _, r := range w.batch {
		if r.state.Load() != taken {
			if err == nil || !r.state.CompareAndSwap(queued, taken) {
				continue // abandoned: its caller has gone
			}
		}
		if r.err == nil {
			r.err = err
		}
		close(r.done)
	}
	w.batch = w.batch[:0]
}

// runTransaction runs the members and commits. written is false when no member
// succeeded, so that there was nothing to commit.
func (s *Store) runTransaction(h *hooks) (written bool, err error) {
	if err := s.reopenConnection(); err != nil {
		return false, asUnavailable("open", err)
	}
	w := &s.w
	if _, err := w.conn.exec(sqlBegin, nil); err != nil {
		return false, asUnavailable("begin", err)
	}
	w.tx.begin(w.conn)
	for _, r := range w.batch {
		if !r.state.CompareAndSwap(queued, taken) {
			continue
		}
		if err := w.runMember(r); err != nil {
			return false, err
		}
		written = written || r.err == nil
	}
	if !written {
		w.tx.live = false
		if _, err := w.conn.exec(sqlRollback, nil); err != nil {
			return false, asUnavailable("roll back", err)
		}
		return false, nil
	}
	for _, f := range h.seal {
		if err := runContained(&w.tx, f); err != nil {
			return false, asUnavailable("seal", err)
		}
	}
	if w.tx.fatal != nil {
		return false, asUnavailable("seal", w.tx.fatal)
	}
	w.tx.live = false
	if _, err := w.conn.exec(sqlCommit, nil); err != nil {
		return false, asUnavailable("commit", err)
	}
	w.tx.undos = w.tx.undos[:0]
	return true, nil
}

// runMember runs one submission in its savepoint. Its own failure is put in r.err;
// the error returned is one that ends the whole group.
func (w *writer) runMember(r *request) error {
	if _, err := w.conn.exec(sqlSavepoint, nil); err != nil {
		return asUnavailable("savepoint", err)
	}
	mark := len(w.tx.undos)
	r.err = runContained(&w.tx, r.fn)
	w.tx.closeAllRows()
	if w.tx.fatal != nil {
		return asUnavailable("write", w.tx.fatal)
	}
	if r.err != nil {
		w.tx.undo(mark)
		if _, err := w.conn.exec(sqlRollbackTo, nil); err != nil {
			return asUnavailable("roll back", err)
		}
	}
	if _, err := w.conn.exec(sqlRelease, nil); err != nil {
		return asUnavailable("release", err)
	}
	return nil
}

// runContained returns a panic of fn as an error.
func runContained(tx *Tx, fn func(*Tx) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(v)
		}
	}()
	return fn(tx)
}

// reopenConnection opens a connection where a failure has closed the last one.
func (s *Store) reopenConnection() error {
	if s.w.conn != nil {
		return nil
	}
	c, err := openConnection(context.Background(), s.File().Path, s.opts.BusyTimeout)
	if err != nil {
		return err
	}
	s.w.conn = c
	return nil
}

// runMaintenance runs what works outside of any transaction.
func (s *Store) runMaintenance(r *request) {
	if !r.state.CompareAndSwap(queued, taken) {
		return
	}
	defer close(r.done) // whatever happens: the caller waits
	r.err = fmt.Errorf("%w: the writer was interrupted", ErrUnavailable)
	if err := s.reopenConnection(); err != nil {
		r.err = asUnavailable("open", err)
		return
	}
	r.err = r.maint(s.w.conn)
}

// checkpointEvery is how long Checkpoint leaves readers alone between attempts.
const checkpointEvery = 20 * time.Millisecond

// Checkpoint moves the whole write-ahead log into the database file. It cuts the
// log to nothing, so that no old page stays in it. It tries for up to 10 s or
// until ctx ends. ErrBusy: readers were in the way of every attempt. A ctx that ends
// before the first attempt has is its own error. Submissions go on between the attempts.
func (s *Store) Checkpoint(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for tried := false; ; tried = true {
		busy := false
		r := &request{done: make(chan struct{}), maint: func(c *conn) (err error) {
			busy, err = c.checkpoint(s.opts.BusyTimeout)
			return err
		}}
		err := s.submitRequest(ctx, r)
		switch {
		case err != nil && tried && ctx.Err() != nil: // every attempt that ended met readers
			return fmt.Errorf("%w: %w", ErrBusy, err)
		case err != nil:
			return err
		}
		if !busy {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrBusy, context.Cause(ctx))
		case <-time.After(checkpointEvery):
		}
	}
}

// checkpoint makes one attempt. It waits only briefly for readers, because it
// keeps all writers out meanwhile.
func (c *conn) checkpoint(timeout time.Duration) (busy bool, err error) {
	if err := c.runScript("PRAGMA busy_timeout=50"); err != nil {
		return false, err
	}
	defer func() {
		err = errors.Join(err, c.runScript(fmt.Sprintf("PRAGMA busy_timeout=%d", timeout.Milliseconds())))
	}()
	row, err := c.readFirstRow("PRAGMA main.wal_checkpoint(TRUNCATE)")
	if err != nil {
		return false, err
	}
	return fmt.Sprint(row[0]) != "0", nil
}
