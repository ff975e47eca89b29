// Package threads keeps which conversations tokens began through chat interfaces, and what was said in them:
// no text, but digests under a key that is not in the database. They tell what a client sends back from what
// it made up. Keys are the conversations of keys at the streaming proxy. ForgetTx belongs to every purge.
//
// The package isn't stable: docs/api.md lists those that are.
package threads

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
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
) STRICT, WITHOUT ROWID;`, `CREATE INDEX assistant_threads_used ON assistant_threads (used);`}

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
(SELECT conversation FROM assistant_threads WHERE used < ? ORDER BY used LIMIT 20)`
	sqlOld = `DELETE FROM assistant_threads WHERE used < ?
AND NOT EXISTS (SELECT 1 FROM assistant_said s WHERE s.conversation = assistant_threads.conversation)`
	sqlHasTable   = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'assistant_threads'`
	sqlSaidOfUser = `DELETE FROM assistant_said WHERE conversation IN (SELECT conversation FROM assistant_threads WHERE user = ?)`
	sqlOfUser     = `DELETE FROM assistant_threads WHERE user = ?`
	sqlSaidOf     = `DELETE FROM assistant_said WHERE conversation = ?`
	sqlOf         = `DELETE FROM assistant_threads WHERE conversation = ?`
	keepAtLeast   = 48 * time.Hour // longer than the longest server.chat.idle
)

// Options are what Threads are made of.
type Options struct {
	Store *store.Store
	// Key is the key of the digests.
	Key [32]byte
	// Idle is after how long without use a token's own conversation is left for a new one.
	Idle time.Duration
	// Keep is how long a conversation is known after its last use, at least 48 hours: as long as the journal has what
	// was said in it. One with a name has the same id when it is used again.
	Keep time.Duration
	// Now is the clock.
	Now func() time.Time
}

// Threads are the conversations of tokens.
type Threads struct{ o Options }

// Open makes the tables where there are none. The error is the store's.
func Open(ctx context.Context, o Options) (*Threads, error) {
	return &Threads{o}, o.Store.Migrate(ctx, "assistants", schema)
}

// Thread is one of them, as a request finds it.
type Thread struct {
	Owner, User, Conversation string
	// Name is what the token calls the conversation: its id where the token has no name for it.
	Name string
	// Pending is the request whose answer was not told, and Approvals the questions that it waits for.
	Pending   string
	Approvals []string
	fresh     bool // it is not written down
	named     bool // the token has a name for it
}

// Said is a message.
type Said struct{ Role, Text string }

// Find returns the conversation that the token calls so, or the token's own where the name is empty. One that is new is
// written down by Begin. What two tokens call by one name are two conversations, and none of those that
// began elsewhere. The error is the store's.
func (s *Threads) Find(ctx context.Context, owner, user, name string) (Thread, error) {
	t := Thread{Owner: owner, User: user, Name: name}
	if name == "" {
		t, err := s.findOwn(ctx, t)
		t.Name = t.Conversation
		return t, err
	}
	for _, t.Conversation = range []string{name, ids.OfName(ofToken, owner+"\n"+user, name)} {
		var of, whose, approvals string
		err := s.o.Store.Reader().QueryRow(ctx, sqlNamed, t.Conversation).Scan(&of, &whose, &t.Pending, &approvals)
		switch {
		case err == nil && of == owner && whose == user:
			t.Approvals = strings.Fields(approvals)
			return t, s.touch(ctx, t)
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return t, err
		}
		t.Pending = ""
	}
	t.fresh, t.named = true, true
	return t, nil
}

// ofToken is the kind of owner whose names for conversations are these: a token, for one user.
const ofToken = "token"

// findOwn returns the token's own conversation, unless the token was idle for too long.
func (s *Threads) findOwn(ctx context.Context, t Thread) (Thread, error) {
	var approvals string
	from := s.o.Now().Add(-s.o.Idle).UnixMilli()
	err := s.o.Store.Reader().QueryRow(ctx, sqlOwn, t.Owner, t.User, from).Scan(&t.Conversation, &t.Pending, &approvals)
	switch {
	case err == nil:
		t.Approvals = strings.Fields(approvals)
		return t, s.touch(ctx, t)
	case !errors.Is(err, sql.ErrNoRows):
		return t, err
	}
	t.Conversation, t.fresh = sentinel.NewID(), true
	return t, nil
}

// Begin writes down a conversation that is new, once it has opened, and drops what is old. The error is the store's.
func (s *Threads) Begin(ctx context.Context, t Thread) error {
	if !t.fresh {
		return nil
	}
	now := s.o.Now()
	old := now.Add(-max(s.o.Keep, keepAtLeast)).UnixMilli()
	return s.o.Store.Submit(ctx, func(tx *store.Tx) error {
		for _, sweep := range []string{sqlOldSaid, sqlOld} {
			if _, err := tx.Exec(sweep, old); err != nil {
				return err
			}
		}
		_, err := tx.Exec(sqlBegin, t.Conversation, t.Owner, t.User, t.named, now.UnixMilli())
		return err
	})
}

// touch notes that the conversation was used.
func (s *Threads) touch(ctx context.Context, t Thread) error {
	return s.o.Store.Submit(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(sqlTouch, s.o.Now().UnixMilli(), t.Conversation, t.Owner)
		return err
	})
}

// KeepPending notes the request whose answer was not told, and the questions that it waits for; none where
// it is empty.
func (s *Threads) KeepPending(ctx context.Context, t Thread, request string, approvals []string) error {
	return s.o.Store.Submit(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(sqlPending, s.o.Now().UnixMilli(), request, strings.Join(approvals, " "), t.Conversation, t.Owner)
		return err
	})
}

// Knows returns what tells whether a message was said in the conversation, or read there.
func (s *Threads) Knows(ctx context.Context, t Thread) func(Said) bool {
	return func(m Said) bool {
		var one int
		return !t.fresh && s.o.Store.Reader().QueryRow(ctx, sqlKnown, t.Conversation, s.digest(t, m)).Scan(&one) == nil
	}
}

// KeepSaid notes that messages were said in the conversation, or read there.
func (s *Threads) KeepSaid(ctx context.Context, t Thread, list []Said) error {
	return s.o.Store.Submit(ctx, func(tx *store.Tx) error {
		for _, m := range list {
			if _, err := tx.Exec(sqlSay, t.Conversation, s.digest(t, m)); err != nil {
				return err
			}
		}
		return nil
	})
}

// digest is the keyed digest of a message in its conversation. Clients trim texts and write line ends in
// their own way.
func (s *Threads) digest(t Thread, m Said) []byte {
	h := hmac.New(sha256.New, s.o.Key[:])
	text := strings.TrimSpace(strings.ReplaceAll(m.Text, "\r\n", "\n"))
	for _, part := range []string{"vedette/assistants/said/v1", t.Conversation, m.Role, text} {
		_, _ = h.Write(append([]byte(part), 0))
	}
	return h.Sum(nil)
}

// ForgetTx deletes the threads of a user, or the one of a conversation, with the digests of what was said. A
// database without threads is left as it is. The error is the store's.
func ForgetTx(tx *store.Tx, user, conversation string) error {
	tables := 0
	if err := forgetKeys(tx, user); err != nil {
		return err
	}
	if _, err := tx.QueryRow([]any{&tables}, sqlHasTable); err != nil || tables == 0 {
		return err
	}
	statements, arg := []string{sqlSaidOf, sqlOf}, conversation
	if user != "" {
		statements, arg = []string{sqlSaidOfUser, sqlOfUser}, user
	}
	for _, statement := range statements {
		if _, err := tx.Exec(statement, arg); err != nil {
			return err
		}
	}
	return nil
}
