package review

import (
	"context"
	"maps"
	"sync"

	"github.com/vedette-dev/vedette/sentinel"
)

// flights let one caller ask a question that several have at a time.
type flights struct {
	mu     sync.Mutex
	flying map[key]*flight
}

// flight is a question that is being asked.
type flight struct {
	done chan struct{}
	v    sentinel.Verdict
	err  error
}

// do returns ask's verdict, or that of a caller who is asking the same at the
// moment; shared says so. Where that one gave up the question is asked again.
func (f *flights) do(ctx context.Context, id key, ask func() (sentinel.Verdict, error)) (v sentinel.Verdict, shared bool, err error) {
	for {
		other := f.join(id)
		if other == nil {
			v, err := f.lead(id, ask)
			return v, false, err
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return sentinel.Verdict{}, false, canceled(ctx)
		}
		if other.err == nil {
			return other.v, true, nil
		}
		if gaveUp(ctx) != nil {
			return sentinel.Verdict{}, false, canceled(ctx)
		}
	}
}

// join returns the flight of the question, nil where the caller leads it now.
func (f *flights) join(id key) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.flying[id]; other != nil {
		return other
	}
	if f.flying == nil {
		f.flying = map[key]*flight{}
	}
	f.flying[id] = &flight{done: make(chan struct{}), err: errCanceled}
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
