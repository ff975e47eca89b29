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

// told is what the table holds for a target: that it is paused, or that it is no
// longer. A missing entry says nothing, so a table that lost its entries lifts no
// pause. A process that knows a pause puts its entry there again.
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

	table sync.Mutex // held while one entry is written: who is last knows best

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
// the Switch knows. It waits for the table alone: what is to be written down is
// written behind it.
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
	begun, ended := f.parse(ctx, all)
	news, over, ok := f.adopt(begun, ended, before)
	if !ok {
		return // the answer may be older than what was done here meanwhile
	}
	for _, p := range news {
		f.begin(ctx, p)
	}
	for t := range over {
		f.end(ctx, t, ended[t])
	}
	for _, p := range f.s.List() {
		if _, known := begun[p.Target]; !known {
			f.putAgain(ctx, p.Target)
		}
	}
}

// parse splits the table into what is paused and what is no longer.
func (f *follower) parse(ctx context.Context, all map[string]string) (begun map[Target]Pause, ended map[Target]told) {
	begun, ended = map[Target]Pause{}, map[Target]told{}
	for field, text := range all {
		t, ok := targetOf(field)
		covers, err := t.check()
		var e told
		if !ok || err != nil || json.Unmarshal([]byte(text), &e) != nil {
			f.s.log.Warn("an entry among the shared pauses can't be read")
			continue
		}
		switch {
		case e.Ended.IsZero():
			begun[t] = Pause{Target: t, By: plainBy(e.By), Since: e.Since, covers: covers}
		case f.s.now().Sub(e.Ended) > endsKept:
			_ = f.shared.Delete(ctx, field) // somebody will
		default:
			ended[t] = e
		}
	}
	return begun, ended
}

// adopt puts in force here what others paused, unless anything was done here
// since before, and returns what is new and what is to be lifted. The latter
// are counted as ending.
func (f *follower) adopt(begun map[Target]Pause, ended map[Target]told, before int) (news []Pause, over map[Target]bool, ok bool) {
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes != before {
		return nil, nil, false
	}
	f.mu.Lock()
	f.ends = map[Target]time.Time{}
	for t, e := range ended {
		f.ends[t] = e.Ended
	}
	f.mu.Unlock()
	over = map[Target]bool{}
	for _, p := range *s.inUse.Load() {
		if e, ok := ended[p.Target]; ok && !p.Since.After(e.Ended) && s.ending[p.Target] == 0 {
			s.ending[p.Target]++
			over[p.Target] = true
		}
	}
	for t, p := range begun {
		if place(*s.inUse.Load(), t) >= 0 {
			continue
		}
		if err := s.add(p); err != nil {
			s.log.Error("a pause of another process is not in force here", "error", err)
			continue
		}
		news = append(news, p)
	}
	return news, over, true
}

func plainBy(by string) string {
	if by == "" || !plain(by) {
		return "elsewhere"
	}
	return by
}

func (f *follower) begin(ctx context.Context, p Pause) {
	f.s.log.Warn("work was paused by another process", "scope", p.Scope(), "by", p.By)
	f.s.background(ctx, func(ctx context.Context) {
		if err := f.s.write(ctx, p.Target); err != nil {
			f.s.log.Error("a pause of another process could not be written down", "error", err)
		}
	})
}

func (f *follower) end(ctx context.Context, t Target, e told) {
	f.s.background(ctx, func(ctx context.Context) {
		switch lifted, err := f.s.lift(ctx, t, plainBy(e.By), e.Ended); {
		case err != nil:
			f.s.log.Error("a pause that another process lifted stays here", "error", err)
		case lifted:
			f.s.log.Warn("a pause was lifted by another process", "scope", t.Scope(), "by", plainBy(e.By))
		}
	})
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

func (f *follower) put(ctx context.Context, t Target, e told) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return f.shared.Put(ctx, fieldOf(t), string(text))
}

func (f *follower) tell(ctx context.Context, p Pause) error {
	f.table.Lock()
	defer f.table.Unlock()
	if err := f.put(ctx, p.Target, told{By: p.By, Since: p.Since}); err != nil {
		return errors.Join(ErrNotShared, err)
	}
	return nil
}

// putAgain tells of a pause that the table does not know, or knows an older end
// of. One that is being lifted is left to that.
func (f *follower) putAgain(ctx context.Context, t Target) {
	f.table.Lock()
	defer f.table.Unlock()
	p, _, ok := f.s.standing(t)
	f.s.mu.Lock()
	ending := f.s.ending[t] > 0
	f.s.mu.Unlock()
	f.mu.Lock()
	end := f.ends[t]
	f.mu.Unlock()
	if ok && !ending && p.Since.After(end) {
		_ = f.put(ctx, t, told{By: p.By, Since: p.Since}) // the next reading tries again
	}
}

// over tells that a pause has ended, which is not before it began.
func (f *follower) over(ctx context.Context, p Pause, by string, end time.Time) error {
	f.table.Lock()
	defer f.table.Unlock()
	if err := f.put(ctx, p.Target, told{By: by, Since: p.Since, Ended: end}); err != nil {
		return err
	}
	f.mu.Lock()
	f.ends[p.Target] = end
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
