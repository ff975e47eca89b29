package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
	"github.com/vedette-dev/vedette/skills/run/exec/snapshot"
)

// The values of the write_mode option.
const (
	WriteDirect   = "direct"
	WriteSnapshot = "snapshot"
)

// maxDeleted is how much a program may remove by snapshot before a person is asked.
type maxDeleted struct {
	Files   int `json:"files"`
	Percent int `json:"percent"`
}

// The defaults of max_deleted.
const (
	defaultDeletedFiles   = 50
	defaultDeletedPercent = 20
)

// checkWrite returns the mistakes in how a program writes.
func (p *program) checkWrite(at string) error {
	var errs []error
	if p.WriteMode != "" {
		errs = append(errs, decode.OneOf(at+".write_mode", "write_mode", p.WriteMode, WriteDirect, WriteSnapshot))
	}
	if p.WriteLimit < 0 {
		errs = append(errs, &skills.PathError{Path: at + ".write_limit", Msg: "must be at least 1"})
	}
	if p.MaxDeleted.Files < 0 || p.MaxDeleted.Percent < 0 || p.MaxDeleted.Percent > 100 {
		errs = append(errs, &skills.PathError{Path: at + ".max_deleted", Msg: "takes files of at least 1 and percent from 1 to 100"})
	}
	if p.WriteMode == WriteDirect && (p.WriteLimit != 0 || p.MaxDeleted != (maxDeleted{})) {
		msg := "is direct, so write_limit and max_deleted bind nothing; leave them out"
		errs = append(errs, &skills.PathError{Path: at + ".write_mode", Msg: msg})
	}
	return errors.Join(errs...)
}

// chooseWriteMode makes snapshot the mode of a skill that takes a command line and has
// write roots, where this system was given a place for it and the roots can have it. A
// mode that is written and can't be had is a mistake.
func (p *program) chooseWriteMode(at string, s *skills.Skill) error {
	why := p.whyDirect()
	if wanted := p.WriteMode == WriteSnapshot || p.WriteMode == "" && s.TakesShell(); wanted && why == "" {
		why = p.tryRoots()
	}
	switch {
	case p.WriteMode == WriteSnapshot && why != "":
		return &skills.PathError{Path: at + ".write_mode", Msg: "can't be snapshot: " + why}
	case p.WriteMode == "" && why == "" && s.TakesShell():
		p.WriteMode = WriteSnapshot
	case p.WriteMode == "":
		p.WriteMode = WriteDirect
	}
	if p.MaxDeleted.Files == 0 {
		p.MaxDeleted.Files = defaultDeletedFiles
	}
	if p.MaxDeleted.Percent == 0 {
		p.MaxDeleted.Percent = defaultDeletedPercent
	}
	return nil
}

// whyDirect returns why a program can't write by snapshot; empty if it can.
func (p *program) whyDirect() string {
	switch {
	case p.state == "":
		return "there is no state folder for what isn't committed yet"
	case p.Isolation != IsolationAuto && p.Isolation != IsolationFull && p.Isolation != IsolationNamespaces:
		return "the isolation has no file system of its own; set isolation to full"
	case len(p.Write) == 0:
		return "the program writes nowhere; name its folders under write"
	}
	for _, w := range p.Write {
		st, err := os.Stat(w)
		if err == nil && !st.IsDir() || strings.HasPrefix(w, "/dev/") {
			return "one of write is no folder; name the folder that it is in"
		}
	}
	return ""
}

// WriteModeOf returns how a skill of kind exec writes on this system; empty for one that
// writes nowhere, and where its options are mistaken, which New tells. why is set where it
// can't write by snapshot: with WriteDirect nothing but that decided, and the skill takes a
// command line; with WriteSnapshot the skill names that mode, and New refuses it.
func WriteModeOf(s *skills.Skill, o Options) (mode, why string) {
	if s.Spec().Run.Kind != "exec" {
		return "", ""
	}
	p := &program{config: config{Isolation: IsolationAuto}, state: o.State, canSnapshot: o.CanSnapshot}
	base, err := filepath.Abs(o.Dir)
	if err != nil || decode.Options(s.Spec().Run.Options, "", &p.config) != nil || p.resolve("", base) != nil || len(p.Write) == 0 {
		return "", ""
	}
	if p.WriteMode == WriteDirect || p.WriteMode == "" && !s.TakesShell() {
		return WriteDirect, ""
	}
	if why = p.whyDirect(); why == "" {
		why = p.tryRoots()
	}
	if why != "" && p.WriteMode == "" {
		return WriteDirect, why
	}
	return WriteSnapshot, why
}

// tryRoots asks of each write root whether it can be an overlay here; empty if all can.
func (p *program) tryRoots() string {
	if p.canSnapshot == nil {
		return ""
	}
	for _, w := range p.Write {
		if err := p.canSnapshot(w); err != nil {
			return err.Error()
		}
	}
	return ""
}

// writing is where one run writes, and what becomes of it at the end.
type writing struct {
	p       *program
	order   skills.Order
	caller  context.Context //nolint:containedctx // it lives as long as the run
	ctx     context.Context //nolint:containedctx // the run's: ended too where it writes too much
	layer   *snapshot.Layer // nil: the program writes to its write roots
	cancel  context.CancelCauseFunc
	watched chan struct{} // closed when the watch has ended
	first   atomic.Int64  // PID 1 of the program's processes; 0 until it runs
}

// measure returns an error where the program writes more than it may.
func (w *writing) measure() error {
	first := int(w.first.Load())
	if first == 0 {
		_, err := w.layer.Measure(w.ctx)
		return err
	}
	_, err := w.layer.MeasureRunning(w.ctx, first)
	return err
}

// prepareRun makes what the program writes to, before its child starts. finish must be
// called when every process of the program is gone.
func (p *program) prepareRun(ctx context.Context, o skills.Order) (*writing, error) {
	w := &writing{p: p, order: o, caller: ctx, ctx: ctx}
	if p.WriteMode != WriteSnapshot {
		return w, nil
	}
	var err error
	w.layer, err = snapshot.Open(snapshot.Options{State: p.state, Label: o.CallID, Roots: p.Write,
		Limits: snapshot.Limits{Bytes: p.WriteLimit}, LinkTargets: linkTargets})
	if err != nil {
		return nil, err
	}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.watched = make(chan struct{})
	go w.watchUsage()
	return w, nil
}

// linkTargets are where links may lead that a program leaves in a write root: the system's
// own programs and libraries, as an environment of Python has them.
var linkTargets = []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store"}

// The watch looks at what the program wrote after each watchPause, and rests at least
// watchRest times as long as a look took.
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
		err := w.measure()
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

// finish decides what becomes of what was written. r is nil where nothing was started. What
// a program wrote that ended by itself, with any code, follows as a call of its own. What
// one wrote that was ended by force is thrown away.
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
	case !r.ending().byItself:
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

// mayHaveActed reports whether a program that began and was ended may have had an effect,
// once what it wrote was thrown away.
func (w *writing) mayHaveActed() bool {
	if w.layer == nil {
		return !w.p.readsOnly
	}
	return w.p.reachesHosts()
}

// reachesHosts reports whether the program has a network that leads anywhere: what it did
// there isn't undone.
func (p *program) reachesHosts() bool { return p.Network || p.policy != nil }

// discard throws away what was written. Without hosts to reach nothing of the run is left
// then, which the error says.
func (w *writing) discard(why error) error {
	if err := w.layer.Discard(); err != nil {
		why = errors.Join(why, err)
	}
	if w.p.reachesHosts() {
		return why
	}
	var f *skills.Failure
	if errors.As(why, &f) {
		return &skills.Failure{Code: f.Code, Err: fmt.Errorf("%w: %w", skills.ErrNoEffect, f.Err)}
	}
	return fmt.Errorf("what the program wrote was thrown away: %w: %w", skills.ErrNoEffect, why)
}
