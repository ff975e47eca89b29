// Package history keeps which conversations there are: whose each is, whether
// it is tainted, and which request is being worked on. What was said and done
// is in the journal, sealed; this package puts both into one transaction, so
// that a process that starts finds what the last one had acknowledged.
//
//	h, err := history.Open(ctx, st, jr, history.Options{})
//	err = h.Begin(ctx, turn, history.Item{Kind: "request", Data: text})
//	err = h.Add(ctx, turn, history.Item{Kind: "turn.round", Data: round})
//	err = h.End(ctx, turn, history.Item{Kind: "turn.end", Data: reply})
//
// The package isn't stable: docs/api.md lists those that are.
//
// It knows no more of an Item than its kind. Items of a request are in the
// journal under the request's turn, in the order they were put.
//
// What not to do: don't put text of people or models into ids and kinds, they
// are stored in the clear; don't take the absence of items for "nothing was
// done", their retention may be over.
package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/internal/backoff"
	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// Errors of Begin.
var (
	// ErrOwner refuses a conversation that is another user's.
	ErrOwner = errors.New("the conversation belongs to another user")
	// ErrUnderWay refuses to begin a request while the conversation has one under way,
	// the same or another. The caller goes on with that one first: a second beginning
	// would repeat what was done.
	ErrUnderWay = errors.New("a request of the conversation is under way; go on with that first")
)

var schema = []string{`CREATE TABLE history_conversations (
	id       TEXT PRIMARY KEY NOT NULL,
	user     TEXT NOT NULL,
	tainted  INTEGER NOT NULL,
	turn     TEXT NOT NULL,
	attempts INTEGER NOT NULL,
	updated  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX history_conversations_user ON history_conversations (user);
CREATE INDEX history_conversations_turn ON history_conversations (turn) WHERE turn <> '';`, purgeSchema}

const (
	sqlGet   = `SELECT id, user, tainted, turn, attempts, updated FROM history_conversations`
	sqlOwner = `SELECT user, turn FROM history_conversations WHERE id = ?`
	sqlBegin = `INSERT INTO history_conversations (id, user, tainted, turn, attempts, updated) VALUES (?, ?, ?, ?, 0, ?)
ON CONFLICT (id) DO UPDATE SET tainted = max(tainted, excluded.tainted), turn = excluded.turn, attempts = 0, updated = excluded.updated`
	sqlAdd     = `UPDATE history_conversations SET tainted = max(tainted, ?), attempts = 0, updated = ? WHERE id = ? AND turn = ?`
	sqlEnd     = `UPDATE history_conversations SET tainted = max(tainted, ?), turn = '', attempts = 0, updated = ? WHERE id = ? AND turn = ?`
	sqlAttempt = `UPDATE history_conversations SET attempts = attempts + ? WHERE id = ? AND turn = ?`
	sqlTries   = `SELECT attempts FROM history_conversations WHERE id = ?`
)

// Options of a History; the zero value is all defaults.
type Options struct {
	// Now is the clock. If nil, time.Now.
	Now func() time.Time
	// Ledger has the records of purges. Without it nothing can be purged.
	Ledger *ledger.Ledger
	// Forget, if set, deletes some rows that others keep of a user or of a conversation, one of the
	// two is empty, and returns how many: 0 ends it. A purge calls it after the values are erased.
	Forget func(tx *store.Tx, user, conversation string) (int, error)
}

// Conversation is what is known of one conversation.
type Conversation struct {
	ID, User string
	// Tainted is set for good once text of others has been read.
	Tainted bool
	// Turn is the request that is being worked on, empty if none is.
	Turn string
	// Attempts is what resuming that without getting any further has counted for.
	Attempts int
	Updated  time.Time
}

// Turn names one request and what is known of it.
type Turn struct {
	Conversation, User, Turn string
	// Tainted marks the conversation with the next write; there is no way back.
	Tainted bool
}

// Item is one thing to keep. Kind is a code, stored in the clear; Data is sealed.
type Item struct {
	Kind string
	Data []byte
}

// NewItem returns v as an Item in JSON. v is made of plain values, which always marshal: the
// Data of another is empty.
func NewItem(kind string, v any) Item {
	data, _ := plainjson.Marshal(v)
	return Item{Kind: kind, Data: data}
}

// History is the table of conversations of one store. It is safe for
// concurrent use.
type History struct {
	st     *store.Store
	jr     *journal.Journal
	ledger *ledger.Ledger
	now    func() time.Time
	forget func(tx *store.Tx, user, conversation string) (int, error) // nil where others keep nothing
}

// Open makes the table where it is missing.
func Open(ctx context.Context, st *store.Store, jr *journal.Journal, o Options) (*History, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := st.Migrate(ctx, "history", schema); err != nil {
		return nil, err
	}
	return &History{st, jr, o.Ledger, o.Now, o.Forget}, nil
}

// Get returns a conversation; ok is false for one that is not known. ErrPurging:
// its purge has not ended.
func (h *History) Get(ctx context.Context, id string) (c Conversation, ok bool, err error) {
	list, err := h.listConversations(ctx, sqlGet+" WHERE id = ?", id)
	if err != nil {
		return Conversation{}, false, err
	}
	if len(list) > 0 {
		c, ok = list[0], true
	}
	n := 0
	if err := h.st.Reader().QueryRow(ctx, sqlPurging, c.User, id).Scan(&n); err != nil {
		return Conversation{}, false, fmt.Errorf("read purges: %w", err)
	}
	if n > 0 {
		return Conversation{}, false, ErrPurging
	}
	return c, ok, nil
}

// Unfinished returns the conversations with a request under way. The one that was tried
// least is first, and of those the one that has rested longest. One whose purge has not
// ended is among them; Get refuses it.
func (h *History) Unfinished(ctx context.Context) ([]Conversation, error) {
	return h.listConversations(ctx, sqlGet+" WHERE turn <> '' ORDER BY attempts, updated")
}

// listConversations reads the rows of a query that begins with sqlGet.
func (h *History) listConversations(ctx context.Context, query string, args ...any) (_ []Conversation, err error) {
	rows, err := h.st.Reader().Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read conversations: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []Conversation
	for rows.Next() {
		c, err := scanConversation(rows)
		if err != nil {
			return nil, fmt.Errorf("read conversations: %w", err)
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

// scanConversation reads one row.
func scanConversation(rows *sql.Rows) (c Conversation, err error) {
	var updated int64
	err = rows.Scan(&c.ID, &c.User, &c.Tainted, &c.Turn, &c.Attempts, &updated)
	c.Updated = time.UnixMilli(updated).UTC()
	return c, err
}

// Begin keeps a request and marks it as the one that is being worked on.
// ErrOwner: the conversation is another user's. ErrUnderWay: it has a request
// under way. ErrPurging: its purge has not ended.
func (h *History) Begin(ctx context.Context, t Turn, items ...Item) error {
	return h.st.Submit(ctx, func(tx *store.Tx) error {
		owner, turn := t.User, ""
		if _, err := tx.QueryRow([]any{&owner, &turn}, sqlOwner, t.Conversation); err != nil {
			return err
		}
		switch {
		case owner != t.User:
			return ErrOwner
		case turn != "":
			return ErrUnderWay
		}
		if err := checkNotPurged(tx, t.User, t.Conversation); err != nil {
			return err
		}
		if err := h.putItems(tx, t, items); err != nil {
			return err
		}
		_, err := tx.Exec(sqlBegin, t.Conversation, t.User, t.Tainted, t.Turn, h.now().UnixMilli())
		return err
	})
}

// Add keeps what was added to a request. It counts as getting further.
// ErrForgotten: the conversation is not known, and nothing is kept that would
// have no owner. ErrOwner: it is another user's. ErrPurging: its purge has not
// ended.
func (h *History) Add(ctx context.Context, t Turn, items ...Item) error {
	return h.writeItems(ctx, t, items, sqlAdd)
}

// outagePauses are how long AddOnceUp leaves a store alone that is down.
var outagePauses = backoff.Pauses{First: 10 * time.Millisecond, Longest: 500 * time.Millisecond}

// AddOnceUp is Add, again for as long as the store is down and ctx lasts. It calls onWait
// before it waits for the first time. What the store kept although it could not say so is
// kept twice. Its errors are those of Add; one of a store that stayed down fits Down.
func (h *History) AddOnceUp(ctx context.Context, t Turn, onWait func(), items ...Item) error {
	for n := 0; ; n++ {
		err := h.Add(ctx, t, items...)
		if !Down(err) {
			return err
		}
		if n == 0 {
			onWait()
		}
		if !backoff.Wait(ctx, outagePauses.Pause(n)) {
			return err
		}
	}
}

// End keeps how a request ended: nothing is being worked on any more. Its errors
// are those of Add.
func (h *History) End(ctx context.Context, t Turn, items ...Item) error {
	return h.writeItems(ctx, t, items, sqlEnd)
}

// writeItems keeps items and updates the conversation, in one transaction.
func (h *History) writeItems(ctx context.Context, t Turn, items []Item, query string) error {
	return h.st.Submit(ctx, func(tx *store.Tx) error {
		if err := checkOwner(tx, t); err != nil {
			return err
		}
		if err := h.putItems(tx, t, items); err != nil {
			return err
		}
		_, err := tx.Exec(query, t.Tainted, h.now().UnixMilli(), t.Conversation, t.Turn)
		return err
	})
}

// checkOwner refuses to write to what is not the user's conversation.
func checkOwner(tx *store.Tx, t Turn) error {
	var owner, turn string
	known, err := tx.QueryRow([]any{&owner, &turn}, sqlOwner, t.Conversation)
	switch {
	case err != nil:
		return err
	case !known:
		return ErrForgotten
	case owner != t.User:
		return ErrOwner
	}
	return checkNotPurged(tx, t.User, t.Conversation)
}

// putItems seals items under their turn.
func (h *History) putItems(tx *store.Tx, t Turn, items []Item) error {
	for _, it := range items {
		_, err := h.jr.PutTx(tx, journal.Item{Call: t.Turn, Conversation: t.Conversation, User: t.User, Kind: it.Kind, Data: it.Data})
		if err != nil {
			return err
		}
	}
	return nil
}

// Attempt counts that the request is about to be resumed. It returns what that has counted
// for since the request last got further. counts may be zero.
func (h *History) Attempt(ctx context.Context, t Turn, counts int) (n int, err error) {
	err = h.st.Submit(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(sqlAttempt, counts, t.Conversation, t.Turn); err != nil {
			return err
		}
		_, err := tx.QueryRow([]any{&n}, sqlTries, t.Conversation)
		return err
	})
	return n, err
}

// Items returns what is kept of a request, in the order it was put: of that
// user's, in that conversation. Another's are never there, whatever their turn.
func (h *History) Items(ctx context.Context, t Turn) ([]Item, error) {
	values, err := h.jr.ByCall(ctx, t.Turn)
	if err != nil {
		return nil, err
	}
	out := make([]Item, 0, len(values))
	for _, v := range values {
		if v.User == t.User && v.Conversation == t.Conversation {
			out = append(out, Item{v.Kind, v.Data})
		}
	}
	return out, nil
}

// Newest calls fn with the user's items of one kind in a conversation, newest
// first, until it returns false.
func (h *History) Newest(ctx context.Context, user, conversation, kind string, fn func(data []byte) bool) error {
	const page = 20
	q := journal.Query{User: user, Conversation: conversation, Kind: kind, Newest: true, Limit: page}
	for {
		values, err := h.jr.Find(ctx, q)
		if err != nil {
			return err
		}
		for _, v := range values {
			q.Before = v.ID
			if v.User != user || v.Conversation != conversation { // an empty name of a Query matches those of all users
				continue
			}
			if !fn(v.Data) {
				return nil
			}
		}
		if len(values) < page {
			return nil
		}
	}
}

// Orphaned reports whether items of these kinds are kept of a conversation that is not
// known. Nothing tells whose they are, or whether they are tainted. One that becomes known
// meanwhile, by a write that was under way, is no orphan.
func (h *History) Orphaned(ctx context.Context, conversation string, kinds ...string) (bool, error) {
	if _, known, err := h.Get(ctx, conversation); known || err != nil {
		return false, err
	}
	for _, kind := range kinds {
		values, err := h.jr.Find(ctx, journal.Query{Conversation: conversation, Kind: kind, Newest: true, Limit: 1})
		if err != nil {
			return false, err
		}
		if len(values) > 0 { // a row and its items come in one transaction, so the row is seen now
			_, known, err := h.Get(ctx, conversation)
			return !known, err
		}
	}
	return false, nil
}

// Down reports whether a write failed because the store is down. It may be tried again once
// the store is back. What it was to keep may be kept all the same, so look before you act
// upon its absence.
func Down(err error) bool { return errors.Is(err, store.ErrUnavailable) }
