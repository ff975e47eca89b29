package assistants

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// A thread is a conversation that a token began here. The rows hold no text: what was said is known by
// digests under a key that is not in the database.
var schema = []string{`CREATE TABLE assistant_threads (
	conversation TEXT PRIMARY KEY NOT NULL,
	owner    TEXT NOT NULL,
	user     TEXT NOT NULL,
	named    INTEGER NOT NULL,
	used     INTEGER NOT NULL,
	pending  TEXT NOT NULL,
	approvals TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX assistant_threads_owner ON assistant_threads (owner, user, named, used);
CREATE TABLE assistant_said (
	conversation TEXT NOT NULL,
	digest BLOB NOT NULL,
	PRIMARY KEY (conversation, digest)
) STRICT, WITHOUT ROWID;`}

const (
	sqlNamed = `SELECT owner, user, pending, approvals FROM assistant_threads WHERE conversation = ?`
	sqlOwn   = `SELECT conversation, pending, approvals FROM assistant_threads
WHERE owner = ? AND user = ? AND named = 0 AND used > ? ORDER BY used DESC LIMIT 1`
	sqlBegin = `INSERT INTO assistant_threads (conversation, owner, user, named, used, pending, approvals) VALUES (?, ?, ?, ?, ?, '', '')
ON CONFLICT (conversation) DO NOTHING`
	sqlTouch   = `UPDATE assistant_threads SET used = ? WHERE conversation = ? AND owner = ?`
	sqlPending = `UPDATE assistant_threads SET used = ?, pending = ?, approvals = ? WHERE conversation = ? AND owner = ?`
	sqlKnown   = `SELECT 1 FROM assistant_said WHERE conversation = ? AND digest = ?`
	sqlSay     = `INSERT INTO assistant_said (conversation, digest) VALUES (?, ?) ON CONFLICT DO NOTHING`
	sqlOldSaid = `DELETE FROM assistant_said WHERE conversation IN
(SELECT conversation FROM assistant_threads WHERE named = 0 AND used < ? LIMIT 20)`
	sqlOldOwn = `DELETE FROM assistant_threads WHERE named = 0 AND used < ?
AND conversation NOT IN (SELECT conversation FROM assistant_said)`
	keepAtLeast = 48 * time.Hour // longer than the longest server.chat.idle
)

// errOther says that a conversation is another token's.
var errOther = errors.New("the conversation is another token's")

// threads are the conversations of tokens.
type threads struct {
	store *store.Store
	key   [32]byte
	idle  time.Duration
	keep  time.Duration
	now   func() time.Time
}

// thread is one of them, as a request finds it.
type thread struct {
	owner, user, conversation string
	pending                   string // the request whose answer was not told
	approvals                 []string
	fresh                     bool // it was begun for this request
}

// findThread returns the conversation of that name, or the token's own where the name is empty, which it
// begins where there is none. taken reports whether a conversation that isn't ours has the name. The error is
// errOther, or the store's.
func (s *threads) findThread(ctx context.Context, owner, user, name string, taken func() (bool, error)) (thread, error) {
	t := thread{owner: owner, user: user, conversation: name}
	if name == "" {
		return s.findOwn(ctx, t)
	}
	for range 2 { // a second time where another request began it meanwhile
		var of, approvals string
		err := s.store.Reader().QueryRow(ctx, sqlNamed, name).Scan(&of, &t.user, &t.pending, &approvals)
		switch {
		case err == nil && (of != owner || t.user != user):
			return t, errOther
		case err == nil:
			t.approvals = strings.Fields(approvals)
			return t, s.touch(ctx, t)
		case !errors.Is(err, sql.ErrNoRows):
			return t, err
		}
		t.user = user
		if is, err := taken(); err != nil || is {
			return t, cmpErr(err, errOther)
		}
		if err := s.begin(ctx, t, 1); err != nil {
			return t, err
		}
		t.fresh = true
	}
	return t, nil
}

// cmpErr returns the first error that there is.
func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// findOwn returns the token's own conversation, unless the token was idle for too long.
func (s *threads) findOwn(ctx context.Context, t thread) (thread, error) {
	var approvals string
	from := s.now().Add(-s.idle).UnixMilli()
	err := s.store.Reader().QueryRow(ctx, sqlOwn, t.owner, t.user, from).Scan(&t.conversation, &t.pending, &approvals)
	switch {
	case err == nil:
		t.approvals = strings.Fields(approvals)
		return t, s.touch(ctx, t)
	case !errors.Is(err, sql.ErrNoRows):
		return t, err
	}
	t.conversation, t.fresh = sentinel.NewID(), true
	return t, s.begin(ctx, t, 0)
}

// begin writes down a conversation, and drops what is old.
func (s *threads) begin(ctx context.Context, t thread, named int) error {
	now := s.now()
	old := now.Add(-max(s.keep, keepAtLeast)).UnixMilli()
	return s.store.Submit(ctx, func(tx *store.Tx) error {
		for _, sweep := range []string{sqlOldSaid, sqlOldOwn} {
			if _, err := tx.Exec(sweep, old); err != nil {
				return err
			}
		}
		_, err := tx.Exec(sqlBegin, t.conversation, t.owner, t.user, named, now.UnixMilli())
		return err
	})
}

// touch notes that the conversation was used.
func (s *threads) touch(ctx context.Context, t thread) error {
	return s.store.Submit(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(sqlTouch, s.now().UnixMilli(), t.conversation, t.owner)
		return err
	})
}

// keepPending notes the request whose answer was not told, and the questions that it waits for; none where
// it is empty.
func (s *threads) keepPending(ctx context.Context, t thread, request string, approvals []string) error {
	return s.store.Submit(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(sqlPending, s.now().UnixMilli(), request, strings.Join(approvals, " "), t.conversation, t.owner)
		return err
	})
}

// knows returns what tells whether a message was said in the conversation, or read there.
func (s *threads) knows(ctx context.Context, t thread) func(message) bool {
	return func(m message) bool {
		var one int
		return !t.fresh && s.store.Reader().QueryRow(ctx, sqlKnown, t.conversation, s.digest(t, m)).Scan(&one) == nil
	}
}

// keepSaid notes that messages were said in the conversation, or read there.
func (s *threads) keepSaid(ctx context.Context, t thread, list []message) error {
	return s.store.Submit(ctx, func(tx *store.Tx) error {
		for _, m := range list {
			if _, err := tx.Exec(sqlSay, t.conversation, s.digest(t, m)); err != nil {
				return err
			}
		}
		return nil
	})
}

// digest is the keyed digest of a message in its conversation. Clients trim texts and write line ends in
// their own way.
func (s *threads) digest(t thread, m message) []byte {
	h := hmac.New(sha256.New, s.key[:])
	text := strings.TrimSpace(strings.ReplaceAll(m.text, "\r\n", "\n"))
	for _, part := range []string{"vedette/assistants/said/v1", t.conversation, m.role, text} {
		_, _ = h.Write(append([]byte(part), 0))
	}
	return h.Sum(nil)
}
