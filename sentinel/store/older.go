package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
)

// olderFiles are the files of a store that another goes on from.
type olderFiles struct{ *Store }

// writeFile opens an older file for writing. The caller holds s.older.
func (s olderFiles) writeFile(ctx context.Context, file File, fn func(m *Move) error) (err error) {
	if file.Number >= s.File().Number {
		return fmt.Errorf("database file %d is the one in use", file.Number)
	}
	c, err := openConnection(ctx, file.Path, s.opts.BusyTimeout)
	if err != nil {
		return fmt.Errorf("open %s: %w", file.Path, err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.runScript(sqlNoForeignKeys); err != nil {
		return err
	}
	return fn(&Move{From: file, To: file, c: c})
}

// cleanStep is how many rows of an older file are removed in one transaction.
const cleanStep = 2000

// cleanAll is Store.CleanOlder.
func (s olderFiles) cleanAll(ctx context.Context) error {
	if s.File().Number == 1 {
		return nil
	}
	s.older.Lock()
	defer s.older.Unlock()
	files, err := FindFiles(s.opts.Path)
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range files {
		if f.Number >= s.File().Number || s.clean[f.Number] {
			continue
		}
		if err := s.cleanFile(ctx, f); err != nil {
			errs = append(errs, fmt.Errorf("clean %s: %w", f.Path, err))
			continue
		}
		if s.clean == nil {
			s.clean = map[int]bool{}
		}
		s.clean[f.Number] = true
	}
	return errors.Join(errs...)
}

// cleanFile removes what has moved on from one file.
func (s olderFiles) cleanFile(ctx context.Context, f File) error {
	gone, err := s.listMoved(ctx, f)
	if err != nil || len(gone) == 0 {
		return err
	}
	return s.writeFile(ctx, f, func(m *Move) error {
		// A file that is marked is looked at again, also after a crash: its log may still have what was removed.
		if err := m.Do(func(tx *Tx) error { _, err := tx.Exec(sqlMark); return err }); err != nil {
			return err
		}
		for _, table := range gone {
			if table == markTable {
				continue
			}
			if err := removeTable(ctx, m, table); err != nil {
				return err
			}
		}
		busy, err := m.c.checkpoint(s.opts.BusyTimeout)
		if err == nil && busy {
			err = ErrBusy
		}
		if err != nil {
			return err
		}
		if err := m.Do(func(tx *Tx) error { _, err := tx.Exec(sqlArchived); return err }); err != nil {
			return err
		}
		return removeTable(ctx, m, markTable)
	})
}

// markTable marks a file of which something is to be removed.
const (
	markTable = "store_unclean"
	sqlMark   = `CREATE TABLE IF NOT EXISTS store_unclean (one INTEGER NOT NULL) STRICT`
)

// archivedTable says of a file that what lives has moved on: it is never written to again.
const (
	archivedTable = "store_archived"
	sqlArchived   = `CREATE TABLE IF NOT EXISTS store_archived (one INTEGER NOT NULL) STRICT`
	sqlIsArchived = `SELECT count(*) FROM sqlite_schema WHERE name = 'store_archived'`
)

// checkInUse refuses a file whose successor isn't there.
func (r *Reader) checkInUse(ctx context.Context) error {
	var n int
	if err := r.QueryRow(ctx, sqlIsArchived).Scan(&n); err != nil {
		return fmt.Errorf("read %s: %w", r.File().Path, err)
	}
	if n > 0 {
		return fmt.Errorf("%w: it goes on in file %d, which is not there: restore it", ErrArchived, r.File().Number+1)
	}
	return nil
}

// listMoved lists the tables of an older file that have moved on: all but those that the file in use names.
func (s olderFiles) listMoved(ctx context.Context, f File) (out []string, err error) {
	kept, err := listNames(ctx, s.reader, `SELECT name FROM store_kept`)
	if err != nil {
		return nil, err
	}
	r, err := OpenFile(ctx, f)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	all, err := listNames(ctx, r, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`)
	return slices.DeleteFunc(all, func(name string) bool { return name == archivedTable || slices.Contains(kept, name) }), err
}

func listNames(ctx context.Context, r *Reader, query string) (out []string, err error) {
	rows, err := r.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, rows.Err()
}

// removeTable empties a table in steps and drops it. SQLite overwrites what it frees (secure_delete).
func removeTable(ctx context.Context, m *Move, table string) error {
	name := quoteName(table)
	for n := int64(cleanStep); n == cleanStep; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := m.Do(func(tx *Tx) (err error) {
			n, err = tx.Exec("DELETE FROM " + name + " WHERE rowid IN (SELECT rowid FROM " + name + fmt.Sprintf(" LIMIT %d)", cleanStep))
			return err
		})
		if err != nil {
			break // a table without row numbers is small, and goes as a whole
		}
	}
	return m.Do(func(tx *Tx) error { _, err := tx.Exec("DROP TABLE " + name); return err })
}

// bindOne is the one argument of a statement.
func bindOne(v driver.Value) []driver.NamedValue { return []driver.NamedValue{{Ordinal: 1, Value: v}} }
