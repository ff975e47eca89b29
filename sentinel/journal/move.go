package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// mover carries the values that are kept to the next file of the store, and gives them no other numbers. Those that
// have expired, and the keys of those that were erased, stay behind.
type mover Journal

var _ store.Mover = (*mover)(nil)

// Owns implements store.Mover.
func (*mover) Owns(table string) bool { return table == "journal_keys" || table == "journal_values" }

// Stays implements store.Mover.
func (*mover) Stays(string) bool { return false }

// copyStep is how many numbers are copied in one transaction.
const copyStep = 2000

const (
	sqlOldLast    = `SELECT ifnull(max(id), 0) FROM old.journal_keys`
	sqlOldFirst   = `SELECT ifnull(min(id), 1) FROM old.journal_values`
	sqlCopyValues = `INSERT INTO main.journal_values SELECT * FROM old.journal_values WHERE id > ? AND id <= ? AND expires > ?`
	sqlCopyKeys   = `INSERT INTO main.journal_keys SELECT k.id, k.wrapped FROM main.journal_values v
JOIN old.journal_keys k ON k.id = v.id WHERE v.id > ? AND v.id <= ?`
	sqlIsOld   = `SELECT count(*) FROM old.journal_values WHERE id = ?`
	sqlKeepKey = `INSERT INTO main.journal_keys (id, wrapped) VALUES (?, ?) ON CONFLICT (id) DO NOTHING`
)

// CopyAhead implements store.Mover.
func (m *mover) CopyAhead(ctx context.Context, to *store.Move) error {
	// In the writer's turn: what was erased before it is durable, and what is erased after it is noted.
	err := m.st.Submit(ctx, func(*store.Tx) error {
		m.moving.Lock()
		defer m.moving.Unlock()
		m.gone, m.copied = &[]int64{}, 0
		return nil
	})
	if err != nil {
		return err
	}
	var last int64
	err = to.Do(func(tx *store.Tx) error {
		var first int64
		_, ferr := tx.QueryRow([]any{&first}, sqlOldFirst)
		_, lerr := tx.QueryRow([]any{&last}, sqlOldLast)
		m.copied = first - 1
		return errors.Join(ferr, lerr)
	})
	for err == nil && m.copied < last {
		if err = ctx.Err(); err == nil {
			err = to.Do(func(tx *store.Tx) error { return m.copyValues(tx, min(m.copied+copyStep, last)) })
		}
	}
	return err
}

// copyValues copies the values up to a number.
func (m *mover) copyValues(tx *store.Tx, upto int64) error {
	if _, err := tx.Exec(sqlCopyValues, m.copied, upto, m.opts.Now().UnixMilli()); err != nil {
		return fmt.Errorf("copy values: %w", err)
	}
	if _, err := tx.Exec(sqlCopyKeys, m.copied, upto); err != nil {
		return fmt.Errorf("copy keys: %w", err)
	}
	m.copied = upto
	return nil
}

// Finish implements store.Mover: it copies what came since, and erases what was erased since.
func (m *mover) Finish(to *store.Move) error {
	tx := to.Tx()
	if err := m.copyValues(tx, m.last); err != nil {
		return err
	}
	m.moving.Lock()
	defer m.moving.Unlock()
	if m.gone == nil {
		return errors.New("copy values: nothing was copied ahead")
	}
	for _, id := range *m.gone {
		var n int
		if _, err := tx.QueryRow([]any{&n}, sqlIsOld, id); err != nil {
			return err
		}
		if n > 0 {
			continue // its erasure was taken back
		}
		if _, err := tx.Exec(sqlEraseKey, make([]byte, wrappedSize), id); err != nil {
			return err
		}
		if _, err := tx.Exec(sqlErase, id); err != nil {
			return err
		}
	}
	if m.last == 0 {
		return nil
	}
	_, err := tx.Exec(sqlKeepKey, m.last, make([]byte, wrappedSize)) // no number is given out twice
	return err
}

// Moved implements store.Mover.
func (m *mover) Moved(_, _ store.File) { m.Abandoned() }

// Abandoned implements store.Mover.
func (m *mover) Abandoned() {
	m.moving.Lock()
	defer m.moving.Unlock()
	m.gone = nil
}

// noteErased remembers what is erased while values are copied to the next file.
func (j *Journal) noteErased(ids []int64) {
	j.moving.Lock()
	defer j.moving.Unlock()
	if j.gone != nil {
		*j.gone = append(*j.gone, ids...)
	}
}
