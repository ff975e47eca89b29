package review

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/vedette-dev/vedette/sentinel"
)

// flights let one caller ask a question that several have at a time.
type flights struct {
	mu     sync.Mutex
	flying map[key]*flight
}

// flight is a question that is being asked.
type flight struct {
	done       chan struct{}
	prejudging *expected // nil: for a call whose turn has come
	v          sentinel.Verdict
	err        error
}

// expected is whether the call that a question was asked ahead for has come.
type expected struct{ come atomic.Bool }

// isPending reports whether no call waits for the answer yet.
func (e *expected) isPending() bool { return e != nil && !e.come.Load() }

// do returns ask's verdict, or that of a caller who is asking the same at the
// moment. How says which: empty for ask's, fromShared, or fromPrejudged for the call
// that the other asked ahead for. Where the other gave up the question is asked
// again. The caller asks ahead itself with an own that isn't nil.
func (f *flights) do(ctx context.Context, id key, own *expected, ask func() (sentinel.Verdict, error),
) (v sentinel.Verdict, how string, err error) {
	for {
		other := f.join(id, own)
		if other == nil {
			v, err := f.lead(id, ask)
			return v, "", err
		}
		how := fromShared
		if own == nil && other.prejudging != nil && other.prejudging.come.CompareAndSwap(false, true) {
			how = fromPrejudged
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return sentinel.Verdict{}, "", canceledError(ctx)
		}
		if other.err == nil {
			return other.v, how, nil
		}
		if callerGaveUp(ctx) != nil {
			return sentinel.Verdict{}, "", canceledError(ctx)
		}
	}
}

// join returns the flight of the question, nil where the caller leads it now.
func (f *flights) join(id key, own *expected) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.flying[id]; other != nil {
		return other
	}
	if f.flying == nil {
		f.flying = map[key]*flight{}
	}
	f.flying[id] = &flight{done: make(chan struct{}), prejudging: own, err: errCanceled}
	return nil
}

// lead asks. Those who wait are let go also where ask panics: their flight's
// error is set from the start.
func (f *flights) lead(id key, ask func() (sentinel.Verdict, error)) (v sentinel.Verdict, err error) {
	f.mu.Lock()
	own := f.flying[id]
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.flying, id)
		f.mu.Unlock()
		close(own.done)
	}()
	v, err = ask()
	own.v, own.err = v, err
	own.v.Meta = maps.Clone(v.Meta) // the leader goes on writing in its own
	return v, err
}
