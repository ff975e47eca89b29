// Package leak finds goroutines that a skill call left behind.
//
// The package isn't stable: docs/api.md lists those that are.
//
// Mark names the call on the goroutine that runs the skill; every goroutine
// that is started from there inherits the name as a pprof label. The caller tells a
// Watch when a call has ended. Some seconds later the Watch looks for goroutines of
// that name which still run, and reports each call at most once.
//
//	w := leak.New(leak.Options{Log: log})
//	defer w.Close()
//	go func() { leak.Mark(ctx, callID, skill); run(ctx) }()
//	...
//	w.Ended(callID) // the call has its outcome
//
// Go can't end such a goroutine. The report says where the goroutine stands, for the
// developer of the skill. Every goroutine profile of the process has the labels too.
//
// Looking is a goroutine profile, which costs microseconds for each goroutine
// of the process. It happens only after calls have ended, for all of them at
// once, and takes at most a hundredth of one processor's time.
//
// What not to do: don't take silence for proof. Of more than MaxWatched calls
// in one interval the last are looked at; goroutines that a library keeps for
// its connections are left out; one that clears its labels isn't seen.
package leak

import (
	"context"
	"io"
	"log/slog"
	"runtime/pprof"
	"sync"
	"time"
)

// The labels that Mark sets.
const (
	LabelCall  = "vedette.call"
	LabelSkill = "vedette.skill"
)

// Defaults of Options, and how much a Watch keeps.
const (
	DefaultAfter = 10 * time.Second
	MaxWatched   = 4096
	// share is the inverse of the part of one processor that looking may take. pause is the least
	// time between two looks.
	share = 100
	pause = time.Second
)

// Mark names the call on the calling goroutine and on those it starts from here
// on. The returned context carries the names too.
func Mark(ctx context.Context, call, skill string) context.Context {
	ctx = pprof.WithLabels(ctx, pprof.Labels(LabelCall, call, LabelSkill, skill))
	pprof.SetGoroutineLabels(ctx)
	return ctx
}

// Leak is one call's goroutines that outlived it.
type Leak struct {
	Call, Skill string
	// Goroutines is how many there are. Where is the function that most of them stand in, without
	// the runtime's and the standard library's.
	Goroutines int
	Where      string
}

// Options configure a Watch; the zero value is ready for use.
type Options struct {
	// After is how long after its end a call is looked at; 10 s when zero.
	After time.Duration
	// Log gets a warning for each leak; nil discards it.
	Log *slog.Logger
	// Report is told of each leak, for metrics. It must not block.
	Report func(Leak)
	// Profile writes the goroutine profile as text; nil means this process's.
	Profile func(w io.Writer) error
}

// Watch looks after ended calls. It is safe for concurrent use; a nil Watch
// does nothing.
type Watch struct {
	o Options

	mu      sync.Mutex
	ended   []ended // the oldest first
	timer   *time.Timer
	looking sync.WaitGroup
	next    time.Time // not before
	closed  bool
	total   int64
	missed  int64
}

type ended struct {
	call string
	at   time.Time
}

// New returns a Watch. Close it.
func New(o Options) *Watch {
	if o.After <= 0 {
		o.After = DefaultAfter
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Profile == nil {
		o.Profile = func(w io.Writer) error { return pprof.Lookup("goroutine").WriteTo(w, 1) }
	}
	return &Watch{o: o}
}

// Ended says that the call has its outcome.
func (w *Watch) Ended(call string) {
	if w == nil || call == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if len(w.ended) == MaxWatched {
		w.ended = append(w.ended[:0], w.ended[MaxWatched/4:]...)
		w.missed += MaxWatched / 4
	}
	w.ended = append(w.ended, ended{call, time.Now()})
	w.planNextLook()
}

// planNextLook sets the timer for the oldest call. It is held back by what the last
// look cost.
func (w *Watch) planNextLook() {
	if w.timer != nil || w.closed || len(w.ended) == 0 {
		return
	}
	at := w.ended[0].at.Add(w.o.After)
	if w.next.After(at) {
		at = w.next
	}
	w.looking.Add(1)
	w.timer = time.AfterFunc(time.Until(at), w.lookForLeaks)
}

// Found returns how many calls left goroutines behind. Missed returns how many were not looked
// at because too many ended at once.
func (w *Watch) Found() int64 { return w.readNumber(&w.total) }

// Missed is described at Found.
func (w *Watch) Missed() int64 { return w.readNumber(&w.missed) }

func (w *Watch) readNumber(n *int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *n
}

// Close ends the Watch and waits for a look that is under way.
func (w *Watch) Close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.closed, w.ended = true, nil
	if w.timer != nil && w.timer.Stop() {
		w.looking.Done()
	}
	w.timer = nil
	w.mu.Unlock()
	w.looking.Wait()
}

// lookForLeaks takes the profile and reports what it finds.
func (w *Watch) lookForLeaks() {
	defer w.looking.Done()
	due := w.takeDueCalls()
	began := time.Now()
	found := findLeaks(w.o.Profile, due)
	cost := time.Since(began)
	w.mu.Lock()
	w.total += int64(len(found))
	w.next = time.Now().Add(max(pause, share*cost))
	w.timer = nil
	w.planNextLook()
	w.mu.Unlock()
	for _, l := range found {
		w.reportLeak(l)
	}
}

// takeDueCalls takes the calls whose time has come.
func (w *Watch) takeDueCalls() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	due, now := map[string]bool{}, time.Now()
	n := 0
	for ; n < len(w.ended) && now.Sub(w.ended[n].at) >= w.o.After; n++ {
		due[w.ended[n].call] = true
	}
	w.ended = append(w.ended[:0], w.ended[n:]...)
	return due
}

func (w *Watch) reportLeak(l Leak) {
	defer func() {
		if recover() != nil {
			w.o.Log.Error("the hook for leaked goroutines panicked")
		}
	}()
	w.o.Log.Warn("a skill left goroutines running after its call had ended",
		"call", l.Call, "skill", l.Skill, "goroutines", l.Goroutines, "where", l.Where)
	if w.o.Report != nil {
		w.o.Report(l)
	}
}
