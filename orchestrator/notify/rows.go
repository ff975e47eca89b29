package notify

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// schema holds which channel was told of which pending approval. Rows go when the approval ends.
var schema = []string{`CREATE TABLE notices (
	channel  TEXT NOT NULL,
	approval TEXT NOT NULL,
	told     INTEGER NOT NULL,
	PRIMARY KEY (channel, approval)
) STRICT, WITHOUT ROWID;`}

const (
	sqlTold   = `SELECT approval FROM notices WHERE channel = ?`
	sqlTell   = `INSERT INTO notices (channel, approval, told) VALUES (?, ?, ?) ON CONFLICT (channel, approval) DO NOTHING`
	sqlForget = `DELETE FROM notices WHERE channel = ? AND approval = ?`
)

// rowsAtOnce bounds a transaction, which other writers wait for.
const rowsAtOnce = 500

// rows are what one channel was told of.
type rows struct {
	db      *store.Store
	channel string
}

// read returns the approvals that the channel was told of.
func (r rows) read(ctx context.Context) (map[string]bool, error) {
	list, err := r.db.Reader().Query(ctx, sqlTold, r.channel)
	if err != nil {
		return nil, err
	}
	defer list.Close() //nolint:errcheck // Err says it
	out := map[string]bool{}
	for list.Next() {
		var id string
		if err := list.Scan(&id); err != nil {
			return nil, err
		}
		out[id] = true
	}
	return out, list.Err()
}

// add writes down that the channel was told.
func (r rows) add(ctx context.Context, ids []string, at time.Time) error {
	return r.each(ctx, ids, func(tx *store.Tx, id string) error {
		_, err := tx.Exec(sqlTell, r.channel, id, at.UnixMilli())
		return err
	})
}

// remove forgets approvals.
func (r rows) remove(ctx context.Context, ids []string) error {
	return r.each(ctx, ids, func(tx *store.Tx, id string) error {
		_, err := tx.Exec(sqlForget, r.channel, id)
		return err
	})
}

func (r rows) each(ctx context.Context, ids []string, do func(*store.Tx, string) error) error {
	for part := range slices.Chunk(ids, rowsAtOnce) {
		err := r.db.Submit(ctx, func(tx *store.Tx) error {
			for _, id := range part {
				if err := do(tx, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sortByAsked puts the oldest question first.
func sortByAsked(list []approval.Item) {
	slices.SortFunc(list, func(a, b approval.Item) int { return a.Asked.Compare(b.Asked) })
}
