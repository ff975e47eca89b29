package pause

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// The kinds of record that a Switch leaves in the ledger.
const (
	RecordPaused = "paused"
	RecordLifted = "pause_lifted"
)

// The scopes of a Target.
const (
	ScopeAll   = "all"
	ScopeUser  = "user"
	ScopeSkill = "skill"
)

// maxName bounds the name of a user, a skill or an operator in bytes, and
// maxPauses how many pauses there can be at a time.
const (
	maxName   = 128
	maxPauses = 1000
)

var (
	// ErrTarget refuses a Target that names nothing, or more than one thing.
	ErrTarget = errors.New("pause one of: a user, a skill, or all")
	// ErrUnknown refuses a skill that there is none of: nothing would stop.
	ErrUnknown = errors.New("there is no such skill, so nothing would stop")
	// ErrNotWritten is returned by Pause where the pause is in force in this
	// process and is not written down: until it is, it ends with the process. A
	// disk that stalls may get to it yet; one that failed is asked again by
	// another Pause.
	ErrNotWritten = errors.New("paused in this process, but the pause could not be written down and ends with it")
	// ErrNotShared is returned by Pause where the pause is in force and written
	// down here, and other processes could not be told. They are as soon as they
	// can be reached.
	ErrNotShared = errors.New("paused in this process; other processes could not be told yet")
	// ErrFull is returned by Pause at 1,000 pauses. Pause all instead.
	ErrFull = errors.New("there are too many pauses already; pause all instead")
)

// Target is what a pause stops: exactly one of the three.
type Target struct {
	All  bool   `json:"all,omitempty"`
	User string `json:"user,omitempty"`
	// Skill is a name, or a domain as in a scope: email.*
	Skill string `json:"skill,omitempty"`
}

// Scope returns the target's scope, empty for one that is none.
func (t Target) Scope() string {
	switch {
	case t.All && t.User == "" && t.Skill == "":
		return ScopeAll
	case !t.All && t.User != "" && t.Skill == "":
		return ScopeUser
	case !t.All && t.User == "" && t.Skill != "":
		return ScopeSkill
	}
	return ""
}

func (t Target) name() string { return cmp.Or(t.User, t.Skill) }

// check refuses what could not be matched or recorded. It returns the scope of
// skills that a skill's pause covers.
func (t Target) check() (skills.Scope, error) {
	if t.Scope() == "" {
		return skills.Scope{}, ErrTarget
	}
	if !plain(t.name()) {
		return skills.Scope{}, fmt.Errorf("%w: a name is one line of at most %d bytes", ErrTarget, maxName)
	}
	if t.Skill == "" {
		return skills.Scope{}, nil
	}
	s, err := skills.NewScope(t.Skill)
	if err != nil {
		return skills.Scope{}, fmt.Errorf("%w: %w", ErrTarget, err)
	}
	return s, nil
}

func plain(s string) bool {
	return len(s) <= maxName && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// Pause is one pause in force.
type Pause struct {
	Target
	// By is who asked for it.
	By    string    `json:"by"`
	Since time.Time `json:"since"`

	covers skills.Scope
}

func (p Pause) stops(user, skill string) bool {
	switch p.Scope() {
	case ScopeAll:
		return true
	case ScopeUser:
		return p.User == user
	case ScopeSkill:
		return p.covers.Allows(skill)
	}
	return true // what can't be read stops
}

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

// Open reads the pauses that are in force, and with Options.Shared follows
// those of other processes until Close, or as long as Follow runs where that is
// Supervised.
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
	list, err := s.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the pauses: %w", err)
	}
	s.inUse.Store(&list)
	if o.Shared != nil {
		s.follow(ctx, o)
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

func (s *Switch) load(ctx context.Context) (list []Pause, err error) {
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
		p.Target, p.Since = target(scope, name), time.UnixMilli(since)
		if p.covers, err = p.check(); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

func target(scope, name string) Target {
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
		if p.stops(user, skill) && rank[p.Scope()] > rank[found.Scope] {
			found, ok = sentinel.Pause{Scope: p.Scope(), Since: p.Since}, true
		}
	}
	return found, ok
}

// List returns the pauses in force, the oldest first.
func (s *Switch) List() []Pause { return slices.Clone(*s.inUse.Load()) }

// Pause stops the target from now on, tells other processes and writes it down,
// in that order: neither of the two is waited for before it is in force. One
// that is paused already is left as it is, and returned. It fails with
// ErrTarget, ErrFull, or ErrNotWritten or ErrNotShared, with both of which the
// pause holds here. Where ctx ends while the disk stalls, that is ErrNotWritten
// too, and it is written as soon as it can be. by is recorded and has at most
// 128 bytes.
func (s *Switch) Pause(ctx context.Context, t Target, by string) (Pause, error) {
	covers, err := t.check()
	if err != nil {
		return Pause{}, err
	}
	if err := askedBy(by); err != nil {
		return Pause{}, err
	}
	p, err := s.publish(Pause{Target: t, By: by, Since: s.now(), covers: covers})
	if err != nil {
		return Pause{}, err
	}
	var untold error
	if s.shared != nil {
		untold = s.shared.tell(ctx, p)
	}
	done := make(chan error, 1)
	s.background(ctx, func(ctx context.Context) { done <- s.write(ctx, t) })
	select {
	case err = <-done:
	case <-ctx.Done():
		err = fmt.Errorf("%w: %w", ErrNotWritten, ctx.Err())
	}
	return p, errors.Join(err, untold)
}

func askedBy(by string) error {
	if by == "" || !plain(by) {
		return fmt.Errorf("%w: it must say who asks, in one line of at most %d bytes", ErrTarget, maxName)
	}
	return nil
}

// Lift ends the target's pause, once that is written down, and reports whether
// there was one. Other pauses that stop the same calls stay, and so does one
// that was asked for again meanwhile.
func (s *Switch) Lift(ctx context.Context, t Target, by string) (bool, error) {
	if _, err := t.check(); err != nil {
		return false, err
	}
	if err := askedBy(by); err != nil {
		return false, err
	}
	s.mu.Lock()
	s.ending[t]++
	s.mu.Unlock()
	return s.lift(ctx, t, by, time.Time{})
}
