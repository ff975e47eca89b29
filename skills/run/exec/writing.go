package exec

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec/snapshot"
)

// writing is where one run writes, and what becomes of it at the end.
type writing struct {
	program *program
	order   skills.Order
	caller  context.Context //nolint:containedctx // it lives as long as the run
	ctx     context.Context //nolint:containedctx // the run's: ended too where it writes too much
	layer   *snapshot.Layer // nil: the program writes to its write roots
	cancel  context.CancelCauseFunc
	watched chan struct{} // closed when the watch has ended
	first   atomic.Int64  // PID 1 of the program's processes; 0 until it runs
}

// measureUsage returns an error where the program writes more than it may.
func (w *writing) measureUsage() error {
	first := int(w.first.Load())
	if first == 0 {
		_, err := w.layer.Measure(w.ctx)
		return err
	}
	_, err := w.layer.MeasureRunning(w.ctx, first)
	return err
}

// newWriting makes what the program writes to, before its child starts. The caller must
// call finish when every process of the program is gone.
func newWriting(ctx context.Context, p *program, o skills.Order) (*writing, error) {
	w := &writing{program: p, order: o, caller: ctx, ctx: ctx}
	if p.WriteMode != WriteSnapshot {
		return w, nil
	}
	var err error
	w.layer, err = snapshot.Open(snapshot.Options{State: p.snapshots.state, Label: o.CallID, Roots: p.Write,
		Limits: snapshot.Limits{Bytes: p.WriteLimit}, LinkTargets: linkTargets})
	if err != nil {
		return nil, err
	}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.watched = make(chan struct{})
	go w.watchUsage()
	return w, nil
}

// linkTargets are where links may lead that a program leaves in a write root. They are the
// system's own programs and libraries, which an environment of Python links to.
var linkTargets = []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store"}

// The watch looks at what the program wrote after each watchPause. It rests at least watchRest
// times as long as a look took.
const (
	watchPause = 250 * time.Millisecond
	watchRest  = 10
	// maxUnmeasured looks in a row that fail end the program.
	maxUnmeasured = 4
)

// watchUsage ends the program where it writes more than it may. It ends with the run.
func (w *writing) watchUsage() {
	defer close(w.watched)
	defer func() {
		if recover() != nil {
			w.cancel(errors.New("what the program writes can't be measured"))
		}
	}()
	pause := time.NewTimer(watchPause)
	defer pause.Stop()
	for failed := 0; ; {
		select {
		case <-w.ctx.Done():
			return
		case <-pause.C:
		}
		start := time.Now()
		var limit *snapshot.LimitError
		err := w.measureUsage()
		if errors.As(err, &limit) {
			w.cancel(limit)
			return
		}
		if failed++; err == nil {
			failed = 0
		}
		if failed == maxUnmeasured {
			w.cancel(errors.New("what the program writes can't be measured"))
			return
		}
		pause.Reset(max(watchPause, watchRest*time.Since(start)))
	}
}

// finish decides what becomes of what was written. Where nothing was started, r is nil. What a
// program wrote that ended by itself, with any code, follows as a call of its own. What one
// wrote that was ended by force is thrown away.
func (w *writing) finish(r *running, outcome error) (*skills.Follow, error) {
	if w.layer == nil {
		return nil, outcome
	}
	var limit *snapshot.LimitError
	beyond := errors.As(context.Cause(w.ctx), &limit)
	w.cancel(nil)
	<-w.watched
	switch {
	case r == nil:
		return nil, errors.Join(outcome, w.layer.Discard())
	case beyond:
		return nil, w.discard(limit)
	case !r.findEnding().byItself:
		return nil, w.discard(outcome)
	}
	changes, err := w.layer.Changes(w.caller)
	if err != nil {
		return nil, w.discard(err)
	}
	if len(changes.List) == 0 {
		_ = w.layer.Discard() // the state's owner sweeps what is left
		return nil, outcome
	}
	follow, err := w.proposeCommit(changes)
	if err != nil {
		return nil, w.discard(err)
	}
	return follow, outcome
}

// mayHaveActed reports whether a program that began and was ended may have had an effect. What
// it wrote was thrown away before.
func (w *writing) mayHaveActed() bool {
	if w.layer == nil {
		return !w.program.readsOnly
	}
	return w.program.reachesHosts()
}

// discard throws away what was written. Without hosts to reach nothing of the run is left
// then, which the error says.
func (w *writing) discard(why error) error {
	if err := w.layer.Discard(); err != nil {
		why = errors.Join(why, err)
	}
	if w.program.reachesHosts() {
		return why
	}
	var f *skills.Failure
	if errors.As(why, &f) {
		return &skills.Failure{Code: f.Code, Err: fmt.Errorf("%w: %w", skills.ErrNoEffect, f.Err)}
	}
	return fmt.Errorf("what the program wrote was thrown away: %w: %w", skills.ErrNoEffect, why)
}
