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
	// endsKept is how long the table holds the end of a pause, for processes that
	// were away. A process that comes back later puts its pause there again, and
	// it is lifted again.
	endsKept = 30 * 24 * time.Hour
)

// sharedEntry is what the table holds for a target: that it is paused, or that it
// is no longer. A missing entry says nothing, so a table that lost its entries
// lifts no pause. A process that knows a pause puts its entry there again.
type sharedEntry struct {
	By    string    `json:"by,omitempty"`
	Since time.Time `json:"since"`
	Ended time.Time `json:"ended,omitzero"`
}

// tableFieldOf returns the name of t's entry in the shared table.
func tableFieldOf(t Target) string { return t.Scope() + "/" + t.userOrSkill() }

// parseTableField returns the target of an entry's name, and whether the name is
// one.
func parseTableField(field string) (t Target, ok bool) {
	scope, name, ok := strings.Cut(field, "/")
	t = newTarget(scope, name)
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

// startFollower reads the table once and then follows it, unless the Switch is
// Supervised.
func (s *Switch) startFollower(ctx context.Context, o Options) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &follower{
		s: s, shared: o.Shared, every: cmp.Or(o.Every, defaultEvery), cancel: cancel, done: make(chan struct{}), ends: map[Target]time.Time{},
	}
	s.shared = f
	f.readTable(ctx) // before the first call is decided
	if o.Supervised {
		close(f.done)
		return
	}
	go func() {
		defer close(f.done)
		_ = s.Follow(ctx) // it ends with ctx alone
	}()
}

// Follow keeps the Switch and the shared table alike until ctx ends, and returns
// nil then. It is for a Switch that is Supervised; one at a time.
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
			s.shared.readTable(ctx)
		}
	}
}

// stop ends the following and waits for its end.
func (f *follower) stop() {
	f.cancel()
	<-f.done
}

// readTable brings the Switch up to what the table says, and the table up to what
// the Switch knows. It waits for the table alone; the disk follows behind.
func (f *follower) readTable(ctx context.Context) {
	defer func() {
		if recover() != nil {
			f.s.log.Error("following other processes' pauses panicked", "stack", string(debug.Stack()))
		}
	}()
	f.s.mu.Lock()
	before := f.s.changes
	f.s.mu.Unlock()
	all, err := f.shared.All(ctx)
	if f.logReachability(ctx, err); err != nil {
		return
	}
	begun, ended := f.parseTable(ctx, all)
	news, over, ok := f.adoptEntries(begun, ended, before)
	if !ok {
		return // the answer may be older than what was done here meanwhile
	}
	for _, p := range news {
		f.onBegun(ctx, p)
	}
	for t := range over {
		f.onEnded(ctx, t, ended[t])
	}
	for _, p := range f.s.List() {
		if _, known := begun[p.Target]; !known {
			f.repairEntry(ctx, p.Target)
		}
	}
}

// parseTable splits the table into what is paused and what is no longer.
func (f *follower) parseTable(ctx context.Context, all map[string]string) (begun map[Target]Pause, ended map[Target]sharedEntry) {
	begun, ended = map[Target]Pause{}, map[Target]sharedEntry{}
	for field, text := range all {
		t, ok := parseTableField(field)
		covers, err := t.checkTarget()
		var e sharedEntry
		if !ok || err != nil || json.Unmarshal([]byte(text), &e) != nil {
			f.s.log.Warn("an entry among the shared pauses can't be read")
			continue
		}
		switch {
		case e.Ended.IsZero():
			begun[t] = Pause{Target: t, By: plainAsker(e.By), Since: e.Since, covers: covers}
		case f.s.now().Sub(e.Ended) > endsKept:
			_ = f.shared.Delete(ctx, field) // another process tries it too
		default:
			ended[t] = e
		}
	}
	return begun, ended
}

// adoptEntries puts in force here what others paused, unless the Switch changed
// since before. It returns what is new and what is to be lifted. The latter are
// counted as ending.
func (f *follower) adoptEntries(
	begun map[Target]Pause, ended map[Target]sharedEntry, before int,
) (news []Pause, over map[Target]bool, ok bool) {
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
		if findTarget(*s.inUse.Load(), t) >= 0 {
			continue
		}
		if err := s.addPause(p); err != nil {
			s.log.Error("a pause of another process is not in force here", "error", err)
			continue
		}
		news = append(news, p)
	}
	return news, over, true
}

// plainAsker returns who asked, in a form that can be recorded.
func plainAsker(by string) string {
	if by == "" || !isPlainName(by) {
		return "elsewhere"
	}
	return by
}

// onBegun writes down a pause of another process.
func (f *follower) onBegun(ctx context.Context, p Pause) {
	f.s.log.Warn("work was paused by another process", "scope", p.Scope(), "by", p.By)
	f.s.runInBackground(ctx, func(ctx context.Context) {
		if err := f.s.writePauseDown(ctx, p.Target); err != nil {
			f.s.log.Error("a pause of another process could not be written down", "error", err)
		}
	})
}

// onEnded lifts a pause here that another process lifted.
func (f *follower) onEnded(ctx context.Context, t Target, e sharedEntry) {
	f.s.runInBackground(ctx, func(ctx context.Context) {
		switch lifted, err := f.s.liftUntil(ctx, t, plainAsker(e.By), e.Ended); {
		case err != nil:
			f.s.log.Error("a pause that another process lifted stays here", "error", err)
		case lifted:
			f.s.log.Warn("a pause was lifted by another process", "scope", t.Scope(), "by", plainAsker(e.By))
		}
	})
}

// momentAfterEnd returns a moment that is later than the last end of the target's
// pause.
func (f *follower) momentAfterEnd(t Target, now time.Time) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if end := f.ends[t]; !now.After(end) {
		return end.Add(time.Millisecond)
	}
	return now
}

// putEntry writes one entry of the table.
func (f *follower) putEntry(ctx context.Context, t Target, e sharedEntry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return f.shared.Put(ctx, tableFieldOf(t), string(text))
}

// announcePause tells other processes of a pause that began here.
func (f *follower) announcePause(ctx context.Context, p Pause) error {
	f.table.Lock()
	defer f.table.Unlock()
	if err := f.putEntry(ctx, p.Target, sharedEntry{By: p.By, Since: p.Since}); err != nil {
		return errors.Join(ErrNotShared, err)
	}
	return nil
}

// repairEntry puts a pause into a table that does not know it, or knows an older
// end of it. A pause that is being lifted stays as that lift leaves it.
func (f *follower) repairEntry(ctx context.Context, t Target) {
	f.table.Lock()
	defer f.table.Unlock()
	p, _, ok := f.s.currentPause(t)
	f.s.mu.Lock()
	ending := f.s.ending[t] > 0
	f.s.mu.Unlock()
	f.mu.Lock()
	end := f.ends[t]
	f.mu.Unlock()
	if ok && !ending && p.Since.After(end) {
		_ = f.putEntry(ctx, t, sharedEntry{By: p.By, Since: p.Since}) // the next reading tries again
	}
}

// announceEnd tells that a pause has ended, which is not before it began.
func (f *follower) announceEnd(ctx context.Context, p Pause, by string, end time.Time) error {
	f.table.Lock()
	defer f.table.Unlock()
	if err := f.putEntry(ctx, p.Target, sharedEntry{By: by, Since: p.Since, Ended: end}); err != nil {
		return err
	}
	f.mu.Lock()
	f.ends[p.Target] = end
	f.mu.Unlock()
	return nil
}

// logReachability logs once when the table goes away, and once when it is back.
func (f *follower) logReachability(ctx context.Context, err error) {
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
