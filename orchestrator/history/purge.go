package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// RecordPurge is the kind of record that the ledger has of a purge. The others are its
// outcomes, one for each step that a reader must know of.
const (
	RecordPurge = "purge"

	PurgeBegun   = "begun"
	PurgeResumed = "resumed" // the process before was interrupted
	PurgeEnded   = "ended"
)

// purgeSchema holds the purges that have begun and not ended. While one is
// there its conversations are neither read nor written.
const purgeSchema = `CREATE TABLE history_purges (
	id            TEXT PRIMARY KEY NOT NULL,
	user          TEXT NOT NULL,
	conversation  TEXT NOT NULL,
	asker         TEXT NOT NULL,
	begun         INTEGER NOT NULL,
	resumed       INTEGER NOT NULL,
	erased        INTEGER NOT NULL,
	conversations INTEGER NOT NULL
) STRICT, WITHOUT ROWID;`

const (
	sqlPurging = `SELECT count(*) FROM history_purges WHERE (user <> '' AND user = ?) OR (conversation <> '' AND conversation = ?)`
	sqlPurges  = `SELECT id, user, conversation, asker FROM history_purges ORDER BY begun, id`
	sqlMark    = `INSERT INTO history_purges (id, user, conversation, asker, begun, resumed, erased, conversations)
VALUES (?, ?, ?, ?, ?, 0, 0, 0)`
	sqlResume     = `UPDATE history_purges SET resumed = resumed + 1 WHERE id = ?`
	sqlErased     = `UPDATE history_purges SET erased = erased + ? WHERE id = ?`
	sqlForgotten  = `UPDATE history_purges SET conversations = conversations + ? WHERE id = ?`
	sqlHowMuch    = `SELECT erased, conversations, resumed FROM history_purges WHERE id = ?`
	sqlUnmark     = `DELETE FROM history_purges WHERE id = ?`
	sqlForgetUser = `DELETE FROM history_conversations WHERE id IN (SELECT id FROM history_conversations WHERE user = ? LIMIT ?)`
	sqlForgetOne  = `DELETE FROM history_conversations WHERE id = ? AND ? > 0`

	forgetStep = 500
)

// Errors of Purge and of conversations that are purged.
var (
	// ErrWho is returned by Purge where not exactly one of the two is named.
	ErrWho = errors.New("name either a user or a conversation")
	// ErrUnrecorded is returned by Purge of a History without a Ledger. What erases for
	// good is on record, or it isn't done.
	ErrUnrecorded = errors.New("the history has no ledger to record the purge in: set Options.Ledger")
	// ErrPurging refuses a conversation whose purge has begun and not ended:
	// FinishPurges ends it.
	ErrPurging = errors.New("the conversation's purge has not ended; start the server or purge again to finish it")
	// ErrPending says that everything is gone and that old pages remain in the write-ahead
	// log. Purge again once nothing reads the database.
	ErrPending = journal.ErrPending
	// ErrForgotten refuses to add to a conversation that is not known.
	ErrForgotten = errors.New("the conversation is not known; it was purged or never begun")
)

// Who says whose values and conversations Purge erases: all of a user's, or one
// conversation. Exactly one is to be named.
type Who struct{ User, Conversation string }

// Purged is how many values and conversations there were.
type Purged struct {
	Values        int `json:"values"`
	Conversations int `json:"conversations"`
}

// purge is one that has begun.
type purge struct {
	id  string
	who Who
	by  string
}

// purgeBody is what the ledger holds of a step.
type purgeBody struct {
	V     int    `json:"v"`
	Purge string `json:"purge"`
	// By is who asked for it: the same in all records of a purge.
	By string `json:"by"`
	// The counts stand in the last record, Resumed and Pending too.
	*Purged
	// Resumed is how often the purge was interrupted.
	Resumed int `json:"resumed,omitempty"`
	// Pending is set where old pages of the file still held the values.
	Pending bool `json:"pending,omitempty"`
}

// Purge erases the values and forgets the conversations, the request that is
// being worked on with them. by says who asked for it, in one line. The ledger
// gets a record of its begin and one of its end, with the counts.
//
// The values go first and the rows, which say whose they are, last; a mark that
// is durable before anything else keeps every caller out until the end. A process
// that is killed leaves the mark, and FinishPurges goes on. ErrPending:
// everything is gone, but old pages remain in the write-ahead log.
func (h *History) Purge(ctx context.Context, w Who, by string) (Purged, error) {
	switch {
	case (w.User == "") == (w.Conversation == ""):
		return Purged{}, ErrWho
	case h.ledger == nil:
		return Purged{}, ErrUnrecorded
	}
	for done, err := range h.finishPurges(ctx) {
		if done.who == w { // it is what an interrupted one had begun
			return done.n, err
		}
		if err != nil && !errors.Is(err, ErrPending) {
			return Purged{}, err
		}
	}
	p := purge{ids.New(), w, by}
	err := h.st.Submit(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(sqlMark, p.id, w.User, w.Conversation, by, h.now().UnixMilli()); err != nil {
			return err
		}
		return h.recordPurge(tx, p, PurgeBegun, purgeBody{})
	})
	if err != nil {
		return Purged{}, fmt.Errorf("begin to purge: %w", err)
	}
	return h.finishPurge(ctx, p)
}

// FinishPurges ends what an interrupted process had begun to purge, and returns
// how much it was in all. Call it before conversations are opened.
func (h *History) FinishPurges(ctx context.Context) (all Purged, err error) {
	var pending error
	for done, err := range h.finishPurges(ctx) {
		switch {
		case errors.Is(err, ErrPending):
			pending = err
		case err != nil:
			return all, err
		}
		all.Values, all.Conversations = all.Values+done.n.Values, all.Conversations+done.n.Conversations
	}
	return all, pending
}

// finished is what a purge of before came to.
type finished struct {
	who Who
	n   Purged
}

// finishPurges ends one purge after another.
func (h *History) finishPurges(ctx context.Context) iter.Seq2[finished, error] {
	return func(yield func(finished, error) bool) {
		list, err := h.listPurges(ctx)
		if err == nil && len(list) > 0 && h.ledger == nil {
			err = ErrUnrecorded
		}
		if err != nil {
			yield(finished{}, err)
			return
		}
		for _, p := range list {
			n, err := h.resumePurge(ctx, p)
			if !yield(finished{p.who, n}, err) {
				return
			}
		}
	}
}

// resumePurge puts the interruption on record and goes on.
func (h *History) resumePurge(ctx context.Context, p purge) (Purged, error) {
	err := h.st.Submit(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(sqlResume, p.id); err != nil {
			return err
		}
		return h.recordPurge(tx, p, PurgeResumed, purgeBody{})
	})
	if err != nil {
		return Purged{}, fmt.Errorf("resume a purge: %w", err)
	}
	return h.finishPurge(ctx, p)
}

// listPurges returns the purges that have not ended, the oldest first.
func (h *History) listPurges(ctx context.Context) (out []purge, err error) {
	rows, err := h.st.Reader().Query(ctx, sqlPurges)
	if err != nil {
		return nil, fmt.Errorf("read purges: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p purge
		if err := rows.Scan(&p.id, &p.who.User, &p.who.Conversation, &p.by); err != nil {
			return nil, fmt.Errorf("read purges: %w", err)
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

// finishPurge does what is left of a purge that is marked.
func (h *History) finishPurge(ctx context.Context, p purge) (n Purged, err error) {
	if err := h.withdrawHeld(ctx, p.who); err != nil {
		return n, fmt.Errorf("end held calls: %w", err)
	}
	err = h.eraseInSteps(ctx, p.id, sqlErased, func(tx *store.Tx) (int, error) {
		return h.jr.EraseTx(tx, journal.Owner{User: p.who.User, Conversation: p.who.Conversation})
	})
	if err != nil {
		return n, fmt.Errorf("erase values: %w", err)
	}
	if err := h.forgetRows(ctx, p.who); err != nil {
		return n, fmt.Errorf("forget what others keep: %w", err)
	}
	err = h.eraseInSteps(ctx, p.id, sqlForgotten, func(tx *store.Tx) (int, error) {
		query, arg := sqlForgetUser, p.who.User
		if arg == "" {
			query, arg = sqlForgetOne, p.who.Conversation
		}
		n, err := tx.Exec(query, arg, forgetStep)
		return int(n), err
	})
	if err != nil {
		return n, fmt.Errorf("forget conversations: %w", err)
	}
	cut := h.jr.Cut(ctx)
	if cut != nil && !errors.Is(cut, ErrPending) {
		return n, cut
	}
	return h.endPurge(ctx, p, cut)
}

// forgetRows has others delete their rows.
func (h *History) forgetRows(ctx context.Context, w Who) error {
	for n := 1; n > 0 && h.forget != nil; {
		err := h.st.Submit(ctx, func(tx *store.Tx) (err error) {
			n, err = h.forget(tx, w.User, w.Conversation)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eraseInSteps erases until there is nothing left. Each step counts what it erased
// in its own transaction, so that a count outlives the process.
func (h *History) eraseInSteps(ctx context.Context, id, count string, erase func(*store.Tx) (int, error)) error {
	for {
		n := 0
		err := h.st.Submit(ctx, func(tx *store.Tx) (err error) {
			if n, err = erase(tx); err != nil || n == 0 {
				return err
			}
			_, err = tx.Exec(count, n, id)
			return err
		})
		if err != nil || n == 0 {
			return err
		}
	}
}

// endPurge takes the mark away and records how much was erased.
func (h *History) endPurge(ctx context.Context, p purge, cut error) (n Purged, err error) {
	err = h.st.Submit(ctx, func(tx *store.Tx) error {
		b := purgeBody{Purged: &n, Pending: cut != nil}
		if _, err := tx.QueryRow([]any{&n.Values, &n.Conversations, &b.Resumed}, sqlHowMuch, p.id); err != nil {
			return err
		}
		if _, err := tx.Exec(sqlUnmark, p.id); err != nil {
			return err
		}
		return h.recordPurge(tx, p, PurgeEnded, b)
	})
	if err != nil {
		return n, fmt.Errorf("end a purge: %w", err)
	}
	return n, cut
}

// recordPurge appends one step to the ledger.
func (h *History) recordPurge(tx *store.Tx, p purge, outcome string, b purgeBody) error {
	b.V, b.Purge, b.By = 1, p.id, p.by
	body, err := json.Marshal(b)
	if err != nil {
		return err
	}
	_, err = h.ledger.AppendTx(tx, ledger.Entry{
		ID: ids.New(), Time: h.now(), Kind: RecordPurge, Outcome: outcome,
		User: p.who.User, Conversation: p.who.Conversation, Body: body,
	})
	return err
}

// checkNotPurged refuses a conversation whose purge has not ended.
func checkNotPurged(tx *store.Tx, user, conversation string) error {
	n := 0
	if _, err := tx.QueryRow([]any{&n}, sqlPurging, user, conversation); err != nil {
		return err
	}
	if n > 0 {
		return ErrPurging
	}
	return nil
}
