package pause

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// Options of a Switch.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Shared is where processes tell each other; nil for one that is alone.
	Shared Shared
	// Every is how often Shared is read. If zero, 300 ms.
	Every time.Duration
	// Supervised leaves it to the caller to run Follow.
	Supervised bool
	// Log is told of pauses that come from other processes, and where Shared
	// can't be reached; nil discards.
	Log *slog.Logger
}

// Switch holds the pauses of one store. It is safe for concurrent use.
type Switch struct {
	st  *store.Store
	lg  *ledger.Ledger
	now func() time.Time
	log *slog.Logger

	mu      sync.Mutex     // held while the list changes, never while anything waits
	changes int            // how often it did, or was asked to
	asked   map[Target]int // how often Pause was called for what is in force
	ending  map[Target]int // lifts under way
	inUse   atomic.Pointer[[]Pause]

	writing chan struct{} // holds a token while a change is written down
	writes  sync.WaitGroup
	shared  *follower // nil without Options.Shared
}

var schema = []string{`CREATE TABLE pause_targets (
	scope TEXT NOT NULL,
	name  TEXT NOT NULL,
	by    TEXT NOT NULL,
	since INTEGER NOT NULL,
	PRIMARY KEY (scope, name)
) STRICT, WITHOUT ROWID`}

const (
	sqlList   = `SELECT scope, name, by, since FROM pause_targets ORDER BY since, scope, name`
	sqlPut    = `INSERT INTO pause_targets (scope, name, by, since) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
	sqlDelete = `DELETE FROM pause_targets WHERE scope = ? AND name = ?`
)

// Open reads the pauses that are in force. With Options.Shared it follows those of
// other processes until Close. A Supervised Switch follows them as long as Follow
// runs.
func Open(ctx context.Context, st *store.Store, lg *ledger.Ledger, o Options) (*Switch, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Switch{
		st: st, lg: lg, now: o.Now, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		asked: map[Target]int{}, ending: map[Target]int{}, writing: make(chan struct{}, 1),
	}
	if err := st.Migrate(ctx, "pause", schema); err != nil {
		return nil, err
	}
	list, err := s.loadPauses(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the pauses: %w", err)
	}
	s.inUse.Store(&list)
	if o.Shared != nil {
		s.startFollower(ctx, o)
	}
	return s, nil
}

// Close stops following other processes and waits for what is being written
// down. Pauses stay in force.
func (s *Switch) Close() {
	if s.shared != nil {
		s.shared.stop()
	}
	s.writes.Wait()
}

// loadPauses reads the pauses from the database, the oldest first.
func (s *Switch) loadPauses(ctx context.Context) (list []Pause, err error) {
	rows, err := s.st.Reader().Query(ctx, sqlList)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var scope, name string
		var p Pause
		var since int64
		if err := rows.Scan(&scope, &name, &p.By, &since); err != nil {
			return nil, err
		}
		p.Target, p.Since = newTarget(scope, name), time.UnixMilli(since)
		if p.covers, err = p.checkTarget(); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

// Stored returns the pauses that a database holds, for callers that have no Switch.
// A database that never had any pause has none.
func Stored(ctx context.Context, r *store.Reader) (list []Pause, err error) {
	var tables int
	err = r.QueryRow(ctx, `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'pause_targets'`).Scan(&tables)
	if err != nil || tables == 0 {
		return nil, err
	}
	rows, err := r.Query(ctx, sqlList)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var scope, name string
		var p Pause
		var since int64
		if err := rows.Scan(&scope, &name, &p.By, &since); err != nil {
			return nil, fmt.Errorf("read the pauses: %w", err)
		}
		p.Target, p.Since = newTarget(scope, name), time.UnixMilli(since)
		list = append(list, p)
	}
	return list, rows.Err()
}

// newTarget returns the target of a stored scope and name.
func newTarget(scope, name string) Target {
	switch scope {
	case ScopeAll:
		return Target{All: true}
	case ScopeUser:
		return Target{User: name}
	}
	return Target{Skill: name}
}

// Paused returns the pause that stops a call of this skill by this user: the
// widest, where several do.
func (s *Switch) Paused(user, skill string) (found sentinel.Pause, ok bool) {
	rank := map[string]int{ScopeSkill: 1, ScopeUser: 2, ScopeAll: 3}
	for _, p := range *s.inUse.Load() {
		if p.stopsCall(user, skill) && rank[p.Scope()] > rank[found.Scope] {
			found, ok = sentinel.Pause{Scope: p.Scope(), Since: p.Since}, true
		}
	}
	return found, ok
}

// List returns the pauses in force, the oldest first.
func (s *Switch) List() []Pause { return slices.Clone(*s.inUse.Load()) }

// Pause stops the target from now on, tells other processes and writes the pause
// down, in that order. The pause is in force before either of the two. Pause
// leaves a target that is paused already as it is, and returns its pause. The
// errors are ErrTarget, ErrFull, ErrNotWritten and ErrNotShared; with the last two
// the pause holds here. ErrNotWritten is the error too where ctx ends while the
// disk stalls. The Switch then writes the pause as soon as it can. by is recorded
// and has at most 128 bytes.
func (s *Switch) Pause(ctx context.Context, t Target, by string) (Pause, error) {
	covers, err := t.checkTarget()
	if err != nil {
		return Pause{}, err
	}
	if err := checkAskerName(by); err != nil {
		return Pause{}, err
	}
	p, err := s.putInForce(Pause{Target: t, By: by, Since: s.now(), covers: covers})
	if err != nil {
		return Pause{}, err
	}
	var untold error
	if s.shared != nil {
		untold = s.shared.announcePause(ctx, p)
	}
	done := make(chan error, 1)
	s.runInBackground(ctx, func(ctx context.Context) { done <- s.writePauseDown(ctx, t) })
	select {
	case err = <-done:
	case <-ctx.Done():
		err = fmt.Errorf("%w: %w", ErrNotWritten, ctx.Err())
	}
	return p, errors.Join(err, untold)
}

// checkAskerName refuses a by that can't be recorded.
func checkAskerName(by string) error {
	if by == "" || !isPlainName(by) {
		return fmt.Errorf("%w: it must say who asks, in one line of at most %d bytes", ErrTarget, maxName)
	}
	return nil
}

// Lift ends the target's pause once its end is written down. It reports whether
// there was a pause. Other pauses that stop the same calls stay. So does a pause
// that an operator asked for again meanwhile.
func (s *Switch) Lift(ctx context.Context, t Target, by string) (bool, error) {
	if _, err := t.checkTarget(); err != nil {
		return false, err
	}
	if err := checkAskerName(by); err != nil {
		return false, err
	}
	s.mu.Lock()
	s.ending[t]++
	s.mu.Unlock()
	return s.liftUntil(ctx, t, by, time.Time{})
}

// putInForce adds a pause to those in force. For a pause that is there already it
// counts one more asking: a lift under way then leaves the pause.
func (s *Switch) putInForce(p Pause) (Pause, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	list := *s.inUse.Load()
	if i := findTarget(list, p.Target); i >= 0 {
		s.asked[p.Target]++
		return list[i], nil
	}
	if s.shared != nil { // later than any end of the same pause, by any process's clock
		p.Since = s.shared.momentAfterEnd(p.Target, p.Since)
	}
	return p, s.addPause(p)
}

// addPause puts a new pause on the list. s.mu is held.
func (s *Switch) addPause(p Pause) error {
	list := *s.inUse.Load()
	if len(list) >= maxPauses && !p.All {
		return ErrFull
	}
	list = append(slices.Clone(list), p)
	s.inUse.Store(&list)
	return nil
}

// findTarget returns the place of t's pause in the list, -1 if there is none.
func findTarget(list []Pause, t Target) int {
	return slices.IndexFunc(list, func(q Pause) bool { return q.Target == t })
}

// currentPause returns the pause in force and how often it was asked for again.
func (s *Switch) currentPause(t Target) (p Pause, asked int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := *s.inUse.Load()
	i := findTarget(list, t)
	if i < 0 {
		return Pause{}, 0, false
	}
	return list[i], s.asked[t], true
}

// runInBackground runs what may have to wait for a disk that stalls. Close awaits
// it.
func (s *Switch) runInBackground(ctx context.Context, f func(context.Context)) {
	ctx = context.WithoutCancel(ctx)
	s.writes.Go(func() {
		defer func() {
			if recover() != nil {
				s.log.Error("writing down a pause panicked", "stack", string(debug.Stack()))
			}
		}()
		f(ctx)
	})
}

// writePauseDown makes a pause that is in force durable.
func (s *Switch) writePauseDown(ctx context.Context, t Target) error {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	p, _, ok := s.currentPause(t)
	if !ok {
		return nil // lifted since, which has recorded both
	}
	err := s.st.Submit(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(sqlPut, t.Scope(), t.userOrSkill(), p.By, p.Since.UnixMilli())
		if err != nil || n == 0 {
			return err
		}
		return s.appendRecord(tx, RecordPaused, p.Target, p.By, p.Since)
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotWritten, err)
	}
	return nil
}

// liftUntil ends a pause once its end is written down and told to the other
// processes. It tells them nothing if another process told this one. upTo is the
// end that the other process told; a pause that began later stays. The caller has
// counted the end in s.ending.
func (s *Switch) liftUntil(ctx context.Context, t Target, by string, upTo time.Time) (bool, error) {
	defer s.countEnding(t)
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return false, fmt.Errorf("the pause stays, since its end could not be written down: %w", ctx.Err())
	}
	defer func() { <-s.writing }()
	p, asked, ok := s.currentPause(t)
	if !ok || !upTo.IsZero() && p.Since.After(upTo) {
		return false, nil
	}
	end := upTo
	if end.IsZero() {
		if end = s.now(); end.Before(p.Since) {
			end = p.Since
		}
		if s.shared != nil {
			if err := s.shared.announceEnd(ctx, p, by, end); err != nil {
				return false, fmt.Errorf("the pause stays, since other processes can't be told of its end: %w", err)
			}
		}
	}
	if err := s.eraseStored(ctx, p, by); err != nil {
		return false, fmt.Errorf("the pause stays, since its end could not be written down: %w", err)
	}
	s.takeOutOfForce(t, asked, end)
	return true, nil
}

// countEnding counts one lift less that is under way.
func (s *Switch) countEnding(t Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending[t]--; s.ending[t] <= 0 {
		delete(s.ending, t)
	}
}

// eraseStored takes the pause out of the database. Where it had not been written
// down yet, its beginning is recorded too.
func (s *Switch) eraseStored(ctx context.Context, p Pause, by string) error {
	return s.st.Submit(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(sqlDelete, p.Scope(), p.userOrSkill())
		if err == nil && n == 0 {
			err = s.appendRecord(tx, RecordPaused, p.Target, p.By, p.Since)
		}
		if err != nil {
			return err
		}
		return s.appendRecord(tx, RecordLifted, p.Target, by, s.now())
	})
}

// takeOutOfForce ends the pause here. A pause that was asked for again since
// stays, as another one that began after the end.
func (s *Switch) takeOutOfForce(t Target, asked int, end time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	list := slices.Clone(*s.inUse.Load())
	i := findTarget(list, t)
	if s.asked[t] != asked {
		list[i].Since = end.Add(time.Millisecond)
	} else {
		list = slices.Delete(list, i, i+1)
		delete(s.asked, t)
	}
	s.inUse.Store(&list)
}

// appendRecord leaves in the ledger who paused or lifted what.
func (s *Switch) appendRecord(tx *store.Tx, kind string, t Target, by string, at time.Time) error {
	body, err := json.Marshal(struct {
		V  int    `json:"v"`
		By string `json:"by"`
		Target
	}{1, by, t})
	if err != nil {
		return err
	}
	_, err = s.lg.AppendTx(tx, ledger.Entry{
		ID: ids.New(), Time: at, Kind: kind, User: t.User, Skill: t.Skill, Code: t.Scope(), Body: body,
	})
	return err
}
