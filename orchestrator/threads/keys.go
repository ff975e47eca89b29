package threads

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// keySchema holds which conversations keys have at the proxy, and which of them have read what others may have written. A
// row holds no text. So neither a new request nor a restart sheds a taint.
var keySchema = []string{`CREATE TABLE proxy_threads (
	owner   TEXT NOT NULL,
	user    TEXT NOT NULL,
	name    TEXT NOT NULL,
	named   INTEGER NOT NULL,
	used    INTEGER NOT NULL,
	tainted INTEGER NOT NULL,
	PRIMARY KEY (owner, user, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX proxy_threads_used ON proxy_threads (owner, user, named, used)`}

const (
	sqlKeyNamed = `SELECT tainted, used FROM proxy_threads WHERE owner = ? AND user = ? AND name = ?`
	sqlKeyOwn   = `SELECT name, tainted, used FROM proxy_threads
WHERE owner = ? AND user = ? AND named = 0 AND used > ? ORDER BY used DESC LIMIT 1`
	sqlKeyBegin = `INSERT INTO proxy_threads (owner, user, name, named, used, tainted) VALUES (?, ?, ?, ?, ?, 0)
ON CONFLICT (owner, user, name) DO UPDATE SET used = excluded.used`
	sqlKeyTouch   = `UPDATE proxy_threads SET used = max(used, ?) WHERE owner = ? AND user = ? AND name = ?`
	sqlKeyTaint   = `UPDATE proxy_threads SET tainted = 1 WHERE owner = ? AND user = ? AND name = ?`
	sqlKeyOld     = `DELETE FROM proxy_threads WHERE named = 0 AND used < ?`
	sqlHasKeys    = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'proxy_threads'`
	sqlForgetKeys = `DELETE FROM proxy_threads WHERE user = ?`
	mostKept      = 4096
	touchShare    = 16 // of the idle time, as a divisor: how often a use is written down
)

// KeyOptions are what Keys are made of.
type KeyOptions struct {
	Store *store.Store
	// Idle is after how long without use a key's own conversation is left for a new one.
	Idle time.Duration
	// Keep is how long a key's own conversation is known after its last use, at least 48 hours.
	Keep time.Duration
	// Now is the clock.
	Now func() time.Time
}

// Keys are the conversations of keys. They are safe for concurrent use.
type Keys struct {
	o KeyOptions

	mu   sync.Mutex
	kept map[owner]KeyThread // the newest own conversation of a key, and named ones
}

// owner is whose conversation is looked for, and by which name.
type owner struct{ key, user, name string }

// KeyThread is a conversation as a request finds it.
type KeyThread struct {
	Owner, User, Name string
	// Tainted says that it has read what others may have written.
	Tainted bool

	used, written time.Time
}

// OpenKeys makes the table where there is none. The error is the store's.
func OpenKeys(ctx context.Context, o KeyOptions) (*Keys, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Keys{o: o, kept: map[owner]KeyThread{}}, o.Store.Migrate(ctx, "proxy", keySchema)
}

// Find returns the conversation of that name, or the key's own where the name is empty; it begins one where there is
// none. The error is the store's.
func (s *Keys) Find(ctx context.Context, key, user, name string) (KeyThread, error) {
	s.mu.Lock()
	defer s.mu.Unlock() // so a key's requests that come at once have one conversation
	now, at := s.o.Now(), owner{key, user, name}
	t, known := s.kept[at]
	if known && name == "" && now.Sub(t.used) >= s.o.Idle {
		known = false
	}
	if !known {
		var err error
		if t, err = s.load(ctx, at, now); err != nil {
			return t, err
		}
	}
	t.used = now
	if now.Sub(t.written) >= s.o.Idle/touchShare {
		if err := s.write(ctx, sqlKeyTouch, now.UnixMilli(), key, user, t.Name); err != nil {
			return t, err
		}
		t.written = now
	}
	if len(s.kept) >= mostKept {
		clear(s.kept)
	}
	s.kept[at] = t
	return t, nil
}

// load reads a conversation, or begins it.
func (s *Keys) load(ctx context.Context, at owner, now time.Time) (KeyThread, error) {
	t := KeyThread{Owner: at.key, User: at.user, Name: at.name}
	var used int64
	var err error
	if at.name != "" {
		err = s.o.Store.Reader().QueryRow(ctx, sqlKeyNamed, at.key, at.user, at.name).Scan(&t.Tainted, &used)
	} else {
		from := now.Add(-s.o.Idle).UnixMilli()
		err = s.o.Store.Reader().QueryRow(ctx, sqlKeyOwn, at.key, at.user, from).Scan(&t.Name, &t.Tainted, &used)
	}
	t.written = time.UnixMilli(used)
	if !errors.Is(err, sql.ErrNoRows) {
		return t, err
	}
	named := 1
	if at.name == "" {
		t.Name, named = ids.New(), 0
	}
	t.written = now
	old := now.Add(-max(s.o.Keep, keepAtLeast)).UnixMilli()
	return t, s.o.Store.Submit(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(sqlKeyOld, old); err != nil {
			return err
		}
		_, err := tx.Exec(sqlKeyBegin, at.key, at.user, t.Name, named, now.UnixMilli())
		return err
	})
}

// Taint writes down, once, that the conversation has read what others may have written. The error is the store's.
func (s *Keys) Taint(ctx context.Context, t KeyThread) error {
	if t.Tainted {
		return nil
	}
	if err := s.write(ctx, sqlKeyTaint, t.Owner, t.User, t.Name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{t.Name, ""} {
		at := owner{t.Owner, t.User, name}
		if kept, ok := s.kept[at]; ok && kept.Name == t.Name {
			kept.Tainted = true
			s.kept[at] = kept
		}
	}
	return nil
}

func (s *Keys) write(ctx context.Context, statement string, args ...any) error {
	return s.o.Store.Submit(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(statement, args...)
		return err
	})
}

// forgetKeys deletes the conversations of a user's keys. A database without them is left as it is.
func forgetKeys(tx *store.Tx, user string) error {
	tables := 0
	if _, err := tx.QueryRow([]any{&tables}, sqlHasKeys); err != nil || tables == 0 || user == "" {
		return err
	}
	_, err := tx.Exec(sqlForgetKeys, user)
	return err
}
