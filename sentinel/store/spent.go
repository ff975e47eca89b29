package store

import (
	"context"
	"errors"
	"time"
)

var spentSchema = []string{`CREATE TABLE store_spent (
	id      TEXT PRIMARY KEY NOT NULL,
	expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID`}

const (
	maxSpentID = 128
	pruneStep  = 1000

	sqlSpend = `INSERT INTO store_spent (id, expires) VALUES (?, ?) ON CONFLICT (id) DO NOTHING`
	sqlPrune = `DELETE FROM store_spent WHERE id IN (SELECT id FROM store_spent WHERE expires < ? LIMIT ?)`
)

// Spend marks the warrant id as used, within the submission that records why.
// ErrSpent: it was used before, also by another process or before a restart.
// expires is when the warrant stops being valid; the mark is kept until then at
// least. An id has 1 to 128 bytes.
func Spend(tx *Tx, id string, expires time.Time) error {
	if id == "" || len(id) > maxSpentID {
		return errors.New("warrant id must have 1 to 128 bytes")
	}
	n, err := tx.Exec(sqlSpend, id, expires.Unix())
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrSpent
	}
	return nil
}

// PruneSpent forgets warrants that expired before the given moment and returns how
// many. A forgotten id could be spent again. So stay behind the clock by more than
// it may ever be set back. A warrant's verifier must refuse it by its expiry long
// before.
func (s *Store) PruneSpent(ctx context.Context, before time.Time) (int64, error) {
	var total int64
	for {
		var n int64
		err := s.Submit(ctx, func(tx *Tx) (err error) {
			n, err = tx.Exec(sqlPrune, before.Unix(), pruneStep)
			return err
		})
		if err != nil {
			return total, err
		}
		total += n
		if n < pruneStep {
			return total, nil
		}
	}
}
