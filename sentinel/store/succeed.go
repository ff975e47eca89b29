package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
)

// Mover carries the tables of one package to the next file of a store. Tables of no Mover are copied as they are.
type Mover interface {
	// Owns reports whether a table is the Mover's, and Stays whether it stays in the file that becomes an archive.
	// A table that stays is not made in the next file: Finish makes what it wants there.
	Owns(table string) bool
	Stays(table string) bool
	// CopyAhead copies what it can while the old file is written to. It may submit several transactions.
	CopyAhead(ctx context.Context, m *Move) error
	// Finish copies the rest, or writes what begins the next file, while nothing is written to the old one. It runs
	// in the writer's goroutine, in the transaction that makes the next file whole.
	Finish(m *Move) error
	// Moved is called in the writer's goroutine once the next file has taken the place of the old one, and Abandoned
	// where it doesn't after all.
	Moved(from, to File)
	Abandoned()
}

// Move is a database file that is being made. In its statements, old is the schema of the file before it.
type Move struct {
	From, To File

	path string // until it is whole
	c    *conn
	tx   Tx
}

// Do runs fn in a transaction of the next file.
func (m *Move) Do(fn func(tx *Tx) error) error {
	if _, err := m.c.exec(sqlBegin, nil); err != nil {
		return err
	}
	m.tx.begin(m.c)
	err := runContained(&m.tx, fn)
	m.tx.closeAllRows()
	m.tx.live = false
	if err == nil {
		err = m.tx.fatal
	}
	if err == nil {
		_, err = m.c.exec(sqlCommit, nil)
	}
	if err != nil {
		_, _ = m.c.exec(sqlRollback, nil)
	}
	return err
}

// Tx is the transaction of Finish.
func (m *Move) Tx() *Tx { return &m.tx }

// RunScript runs statements in the transaction of Finish, such as those that make tables.
func (m *Move) RunScript(text string) error { return m.c.runScript(text) }

// The steps of Succeed, as its caller is told of them before each.
const (
	StepCreate = "create" // the next file is made, under a name of its own
	StepCopy   = "copy"   // what doesn't change is copied, beside the writer
	StepFinish = "finish" // the rest is copied, while the writer waits
	StepName   = "name"   // the next file gets its name, and counts from then on
	StepSwitch = "switch" // the writer and the readers go on there
)

// ErrMoving is returned by Succeed while another call of it is under way.
var ErrMoving = errors.New("another database file is being made already")

// succession makes the next file of a store.
type succession struct{ *Store }

// run is Store.Succeed.
func (s succession) run(ctx context.Context, onStep func(step string)) (to File, err error) {
	if !s.moving.TryLock() {
		return to, ErrMoving
	}
	defer s.moving.Unlock()
	if onStep == nil {
		onStep = func(string) {}
	}
	from := s.File()
	if from.Number >= maxFiles {
		return to, fmt.Errorf("a store has at most %d files", maxFiles)
	}
	to = File{from.Number + 1, NumberedFile(s.opts.Path, from.Number+1)}
	defer func() {
		if err != nil && s.File() == from {
			for _, mover := range s.listMovers() {
				mover.Abandoned()
			}
		}
	}()
	onStep(StepCreate)
	m, err := s.beginMove(ctx, from, to)
	if err != nil {
		return to, fmt.Errorf("make the next database file: %w", err)
	}
	defer func() { err = errors.Join(err, m.discard()) }()
	onStep(StepCopy)
	for _, mover := range s.listMovers() {
		if err := mover.CopyAhead(ctx, m); err != nil {
			return to, fmt.Errorf("copy to the next database file: %w", err)
		}
	}
	if err := m.makeIndexes(s.listMovers()); err != nil {
		return to, fmt.Errorf("copy to the next database file: %w", err)
	}
	r := &request{done: make(chan struct{}), maint: func(*conn) error { return s.finishMove(m, onStep) }}
	if err := s.submitRequest(ctx, r); err != nil {
		return to, fmt.Errorf("finish the next database file: %w", err)
	}
	return to, nil
}

// beginMove makes the file with the tables of the old one.
func (s succession) beginMove(ctx context.Context, from, to File) (_ *Move, err error) {
	folder := filepath.Dir(to.Path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if err := errors.Join(syncFolder(filepath.Dir(folder)), removeUnfinished(s.opts.Path)); err != nil {
		return nil, err
	}
	m := &Move{From: from, To: to, path: to.Path + nextSuffix}
	if err := prepareFile(m.path); err != nil {
		return nil, err
	}
	if m.c, err = openConnection(ctx, m.path, s.opts.BusyTimeout); err != nil {
		return nil, errors.Join(err, m.discard())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.discard())
		}
	}()
	if err := m.c.runScript(sqlNoForeignKeys); err != nil {
		return nil, err
	}
	old := dataSource(from.Path, url.Values{"mode": {"ro"}})
	if _, err := m.c.exec("ATTACH DATABASE ? AS old", bindOne(old)); err != nil {
		return nil, err
	}
	list, err := m.listObjects("table")
	if err != nil {
		return nil, err
	}
	for _, t := range list {
		if owner := findOwner(s.listMovers(), t.name); owner != nil && owner.Stays(t.name) || t.name == keptTable {
			continue
		}
		if err := m.c.runScript(t.sql); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// sqlNoForeignKeys lets tables be copied and dropped in any order: what they refer to goes along.
const sqlNoForeignKeys = "PRAGMA foreign_keys = OFF"

// findOwner returns the Mover of a table, nil for none.
func findOwner(movers []Mover, table string) Mover {
	for _, m := range movers {
		if m.Owns(table) {
			return m
		}
	}
	return nil
}

// schemaObject is a table or an index, and the table that it is on.
type schemaObject struct{ name, table, sql string }

// listObjects lists the tables, or the indexes, of the old file.
func (m *Move) listObjects(kind string) (out []schemaObject, err error) {
	err = m.Do(func(tx *Tx) error {
		out, err = listObjects(tx, "old.", kind)
		return err
	})
	return out, err
}

func listObjects(tx *Tx, schema, kind string) (out []schemaObject, err error) {
	rows, err := tx.Query(`SELECT name, tbl_name, sql FROM `+schema+`sqlite_schema
WHERE type = ? AND sql IS NOT NULL AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`, kind)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var o schemaObject
		if err := rows.Scan(&o.name, &o.table, &o.sql); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, rows.Err()
}

// makeIndexes makes the indexes of the tables that are there: after what was copied ahead, which is quicker so.
func (m *Move) makeIndexes(movers []Mover) error {
	list, err := m.listObjects("index")
	if err != nil {
		return err
	}
	for _, x := range list {
		if owner := findOwner(movers, x.table); owner != nil && owner.Stays(x.table) {
			continue
		}
		if err := m.c.runScript(x.sql); err != nil {
			return err
		}
	}
	return nil
}

// finishMove copies the rest and puts the next file in place. It runs in the writer's goroutine.
func (s succession) finishMove(m *Move, onStep func(string)) error {
	onStep(StepFinish)
	movers := s.listMovers()
	tables, err := m.listObjects("table")
	if err != nil {
		return err
	}
	var stays []string
	err = m.Do(func(tx *Tx) error {
		for _, t := range tables {
			if t.name == keptTable {
				continue
			}
			if owner := findOwner(movers, t.name); owner != nil {
				if owner.Stays(t.name) {
					stays = append(stays, t.name)
				}
				continue
			}
			name := quoteName(t.name)
			if err := m.c.runScript("INSERT INTO main." + name + " SELECT * FROM old." + name); err != nil {
				return tx.noteFatal(err)
			}
		}
		for _, mover := range movers {
			if err := mover.Finish(m); err != nil {
				return err
			}
		}
		return keepNames(tx, stays)
	})
	if err != nil {
		return err
	}
	busy, err := m.c.checkpoint(s.opts.BusyTimeout)
	if err == nil && busy {
		err = errors.New("its write-ahead log is in use")
	}
	c := m.c
	m.c = nil
	if err := errors.Join(err, c.close()); err != nil {
		return err
	}
	onStep(StepName)
	if err := nameFile(m.path, m.To.Path); err != nil {
		return err
	}
	m.path = ""
	onStep(StepSwitch)
	to := m.To
	s.file.Store(&to)
	if s.w.conn != nil { // one that is nil is opened for the next group
		err = s.w.conn.close()
	}
	s.w.conn = nil
	err = errors.Join(err, s.reopenConnection())
	for _, mover := range movers {
		mover.Moved(m.From, m.To)
	}
	if err != nil {
		return fmt.Errorf("the next file is in place, and can't be opened yet: %w", err)
	}
	return nil
}

// keptTable names the tables that stay in older files. CleanOlder goes by it, so that a program that knows none of the
// packages they belong to removes none of them.
const (
	keptTable = "store_kept"
	sqlKept   = `CREATE TABLE store_kept (name TEXT PRIMARY KEY NOT NULL) STRICT, WITHOUT ROWID`
	sqlKeep   = `INSERT INTO store_kept (name) VALUES (?)`
)

func keepNames(tx *Tx, names []string) error {
	if _, err := tx.Exec(sqlKept); err != nil {
		return err
	}
	for _, name := range append(names, "store_migrations") {
		if _, err := tx.Exec(sqlKeep, name); err != nil {
			return err
		}
	}
	return nil
}

// quoteName writes a table's name as SQL has it.
func quoteName(name string) string {
	out := []byte{'"'}
	for i := range len(name) {
		if name[i] == '"' {
			out = append(out, '"')
		}
		out = append(out, name[i])
	}
	return string(append(out, '"'))
}

// nameFile gives a whole file its real name, durably. Where that can't be made durable, the name is taken back:
// what is written there could be lost.
func nameFile(path, name string) error {
	if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s is there already", name), err)
	}
	if err := os.Rename(path, name); err != nil {
		return err
	}
	if err := syncFolder(filepath.Dir(name)); err != nil {
		return errors.Join(err, os.Rename(name, path))
	}
	return nil
}

// syncFolder makes new names in a folder durable.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be synced there
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

// discard removes a file that did not become the next one. It is safe to call twice.
func (m *Move) discard() error {
	var errs []error
	if m.c != nil {
		errs = append(errs, m.c.close())
		m.c = nil
	}
	if m.path == "" {
		return errors.Join(errs...)
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(m.path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
