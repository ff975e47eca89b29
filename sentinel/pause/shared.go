package pause

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Shared is a small table that processes share. A Redis hash is one.
type Shared interface {
	Put(ctx context.Context, name, text string) error
	Delete(ctx context.Context, name string) error
	All(ctx context.Context) (map[string]string, error)
}

const (
	defaultEvery = 300 * time.Millisecond
	// endsKept is how long the end of a pause is told, for processes that were
	// away. One that comes back later asks for it again, and it is lifted again.
	endsKept = 30 * 24 * time.Hour
)

// told is what the table holds for a target: that it is paused, or that it is
// no longer. An entry that is gone says nothing, so a table that lost its
// entries lifts no pause: whoever knows one puts it there again.
type told struct {
	By    string    `json:"by,omitempty"`
	Since time.Time `json:"since"`
	Ended time.Time `json:"ended,omitzero"`
}

func fieldOf(t Target) string { return t.Scope() + "/" + t.name() }

func targetOf(field string) (t Target, ok bool) {
	scope, name, ok := strings.Cut(field, "/")
	t = target(scope, name)
	return t, ok && t.Scope() == scope
}

// follower keeps a Switch and the table alike.
type follower struct {
	s      *Switch
	shared Shared
	every  time.Duration
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	ends map[Target]time.Time // as last read
	away bool
}

func (s *Switch) follow(ctx context.Context, o Options) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &follower{
		s: s, shared: o.Shared, every: cmp.Or(o.Every, defaultEvery), cancel: cancel, done: make(chan struct{}), ends: map[Target]time.Time{},
	}
	s.shared = f
	f.read(ctx) // before the first call is decided
	if o.Supervised {
		close(f.done)
		return
	}
	go func() {
		defer close(f.done)
		_ = s.Follow(ctx) // it ends with ctx alone
	}()
}

// Follow keeps the Switch and what other processes share alike until ctx ends,
// and returns nil then. It is for a Switch that is Supervised; one at a time.
func (s *Switch) Follow(ctx context.Context) error {
	if s.shared == nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(s.shared.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			s.shared.read(ctx)
		}
	}
}

func (f *follower) stop() {
	f.cancel()
	<-f.done
}

// read brings the Switch up to what the table says, and the table up to what
// the Switch knows.
func (f *follower) read(ctx context.Context) {
	defer func() {
		if recover() != nil {
			f.s.log.Error("following other processes' pauses panicked", "stack", string(debug.Stack()))
		}
	}()
	f.s.mu.Lock()
	before := f.s.changes
	f.s.mu.Unlock()
	all, err := f.shared.All(ctx)
	if f.reached(ctx, err); err != nil {
		return
	}
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.s.changes != before {
		return // the answer may be older than what was done here meanwhile
	}
	known := f.apply(ctx, all)
	for _, p := range *f.s.inUse.Load() {
		if !known[p.Target] {
			_ = f.put(ctx, p) // the next reading tries again
		}
	}
}

// apply does here what was done elsewhere, and returns what the table knows.
func (f *follower) apply(ctx context.Context, all map[string]string) map[Target]bool {
	known := map[Target]bool{}
	ends := map[Target]time.Time{}
	for field, text := range all {
		t, ok := targetOf(field)
		covers, err := t.check()
		var e told
		if !ok || err != nil || json.Unmarshal([]byte(text), &e) != nil {
			f.s.log.Warn("an entry among the shared pauses can't be read")
			continue
		}
		if e.Ended.IsZero() {
			known[t] = true
			f.begun(ctx, Pause{Target: t, By: plainBy(e.By), Since: e.Since, covers: covers})
			continue
		}
		if f.s.now().Sub(e.Ended) > endsKept {
			_ = f.shared.Delete(ctx, field) // somebody will
			continue
		}
		ends[t] = e.Ended
		f.ended(ctx, t, e)
	}
	f.mu.Lock()
	f.ends = ends
	f.mu.Unlock()
	return known
}

func plainBy(by string) string {
	if by == "" || !plain(by) {
		return "elsewhere"
	}
	return by
}

func (f *follower) begun(ctx context.Context, p Pause) {
	for _, q := range *f.s.inUse.Load() {
		if q.Target == p.Target {
			return
		}
	}
	f.s.log.Warn("work was paused by another process", "scope", p.Scope(), "by", p.By)
	if _, err := f.s.begin(ctx, p); err != nil {
		f.s.log.Error("a pause of another process could not be written down", "error", err)
	}
}

func (f *follower) ended(ctx context.Context, t Target, e told) {
	for _, q := range *f.s.inUse.Load() {
		if q.Target != t || q.Since.After(e.Ended) {
			continue
		}
		f.s.log.Warn("a pause was lifted by another process", "scope", t.Scope(), "by", plainBy(e.By))
		if err := f.s.end(ctx, t, plainBy(e.By)); err != nil {
			f.s.log.Error("a pause that another process lifted stays here", "error", err)
		}
		return
	}
}

// after returns a moment that is later than the last end of the target's pause.
func (f *follower) after(t Target, now time.Time) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if end := f.ends[t]; !now.After(end) {
		return end.Add(time.Millisecond)
	}
	return now
}

func (f *follower) put(ctx context.Context, p Pause) error {
	text, err := json.Marshal(told{By: p.By, Since: p.Since})
	if err != nil {
		return err
	}
	return f.shared.Put(ctx, fieldOf(p.Target), string(text))
}

func (f *follower) tell(ctx context.Context, p Pause) error {
	if err := f.put(ctx, p); err != nil {
		return errors.Join(ErrNotShared, err)
	}
	return nil
}

// over tells that a pause has ended. now is not before it began.
func (f *follower) over(ctx context.Context, t Target, by string, now time.Time) error {
	e := told{By: by, Ended: now}
	for _, q := range *f.s.inUse.Load() {
		if q.Target == t {
			e.Since = q.Since
			if now.Before(q.Since) {
				e.Ended = q.Since
			}
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := f.shared.Put(ctx, fieldOf(t), string(text)); err != nil {
		return err
	}
	f.mu.Lock()
	f.ends[t] = e.Ended
	f.mu.Unlock()
	return nil
}

// reached tells once when the table goes away, and once when it is back.
func (f *follower) reached(ctx context.Context, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil && !f.away && ctx.Err() == nil:
		f.away = true
		f.s.log.Error("pauses that other processes make can't be seen; those in force stay", "error", err)
	case err == nil && f.away:
		f.away = false
		f.s.log.Warn("pauses that other processes make are seen again")
	}
}
