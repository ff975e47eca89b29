package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
)

// maxQueries is how many queries a Reader runs at the same time; more wait.
const maxQueries = 4

// Reader reads a database that another process may be writing to, and cannot write
// to it. Where another file goes on in its place, the Reader goes on with that. Its methods are safe for
// concurrent use.
type Reader struct {
	first string // the first file of the store; empty where one file alone is read
	now   atomic.Pointer[openFile]

	mu    sync.Mutex // guards changes of now, and older
	older map[int]*Reader
}

// openFile is a file with its connections.
type openFile struct {
	File
	db *sql.DB
}

// OpenReader opens the newest file of an existing store read-only, also while another process
// writes to it. A database whose folder cannot be written to is opened as
// immutable when it has no write-ahead log. ErrNoFile: there is no such file.
func OpenReader(ctx context.Context, path string) (*Reader, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("database path: %w", err)
	}
	file, err := FindNewest(abs)
	if err != nil {
		return nil, err
	}
	r, err := OpenFile(ctx, file)
	if err == nil {
		r.first = abs
	}
	return r, err
}

// OpenFile opens one file of a store read-only, whichever files follow it. See OpenReader.
func OpenFile(ctx context.Context, file File) (*Reader, error) {
	abs, err := filepath.Abs(file.Path)
	if err != nil {
		return nil, fmt.Errorf("database path: %w", err)
	}
	if _, err := os.Stat(abs); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w: %s", ErrNoFile, abs)
		}
		return nil, fmt.Errorf("database file: %w", err)
	}
	db, err := openReadOnly(ctx, abs, false)
	if err == nil {
		return newReader(File{file.Number, abs}, db), nil
	}
	// Read-only media: SQLite wants to create -shm. Without a log nothing is
	// missed by not having it.
	if info, serr := os.Stat(abs + "-wal"); serr == nil && info.Size() > 0 {
		return nil, err
	}
	db, ierr := openReadOnly(ctx, abs, true)
	if ierr != nil {
		return nil, err // the first error is the one that says what is wrong
	}
	return newReader(File{file.Number, abs}, db), nil
}

func newReader(file File, db *sql.DB) *Reader {
	r := &Reader{}
	r.now.Store(&openFile{file, db})
	return r
}

// file returns the file to read: the next one where the store has gone on with that.
func (r *Reader) file(ctx context.Context) *openFile {
	now := r.now.Load()
	if r.first == "" {
		return now
	}
	if _, err := os.Stat(NumberedFile(r.first, now.Number+1)); err != nil {
		return now
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	newest, err := FindNewest(r.first)
	if now = r.now.Load(); err != nil || newest.Number <= now.Number {
		return now
	}
	db, err := openReadOnly(ctx, newest.Path, false)
	if err != nil {
		return now // it is tried again: the writer may not have opened it yet
	}
	r.keepOlder(newReader(now.File, now.db)) // who reads there may go on
	next := &openFile{newest, db}
	r.now.Store(next)
	return next
}

// keepOlder keeps the reader of an older file open. The caller holds mu.
func (r *Reader) keepOlder(old *Reader) {
	if r.older == nil {
		r.older = map[int]*Reader{}
	}
	r.older[old.File().Number] = old
}

// Files returns readers of all files of the store that are there, the newest first. They belong to r; do not close
// them.
func (r *Reader) Files(ctx context.Context) ([]*Reader, error) {
	now := r.file(ctx)
	out := []*Reader{newReader(now.File, now.db)}
	if r.first == "" || now.Number == 1 {
		return out, nil
	}
	list, err := FindFiles(r.first)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range list {
		if f.Number >= now.Number {
			continue
		}
		old := r.older[f.Number]
		if old == nil {
			if old, err = OpenFile(ctx, f); err != nil {
				return nil, err
			}
			r.keepOlder(old)
		}
		out = append(out, old)
	}
	return out, nil
}

func openReadOnly(ctx context.Context, path string, immutable bool) (*sql.DB, error) {
	q := url.Values{
		"mode": {"ro"},
		"_pragma": {
			"busy_timeout(5000)", "query_only(ON)", "trusted_schema(OFF)", "temp_store(MEMORY)", "cell_size_check(ON)",
		},
		"_defensive": {"1"},
		"_dqs":       {"0"},
	}
	if immutable {
		q.Set("immutable", "1")
	}
	connector, err := sqlite.NewConnector(dataSource(path, q))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(maxQueries)
	db.SetConnMaxIdleTime(time.Minute)
	var n int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), db.Close())
	}
	return db, nil
}

// File is the file that was read last.
func (r *Reader) File() File { return r.now.Load().File }

// Query runs a query; the caller closes the rows.
func (r *Reader) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return r.file(ctx).db.QueryContext(ctx, query, args...)
}

// QueryRow runs a query that returns one row; Scan gives sql.ErrNoRows if none.
func (r *Reader) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return r.file(ctx).db.QueryRowContext(ctx, query, args...)
}

// Scan runs a query and hands each row to fn as the driver gives it: int64, float64, string, []byte or nil. It
// costs less than Query, and tells a text from bytes. The row is fn's until it returns. The arguments are integers.
func (r *Reader) Scan(ctx context.Context, query string, fn func(row []driver.Value) error, args ...int64) error {
	c, err := r.file(ctx).db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	err = c.Raw(func(dc any) error { return scanRows(ctx, dc, query, values, fn) })
	return errors.Join(err, c.Close())
}

func scanRows(ctx context.Context, dc any, query string, args []driver.NamedValue, fn func(row []driver.Value) error) (err error) {
	q, ok := dc.(driver.QueryerContext)
	if !ok {
		return errors.New("driver's connection cannot query")
	}
	rows, err := q.QueryContext(ctx, query, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := fn(row); err != nil {
			return err
		}
	}
}

// Snapshot runs fn on one unchanging state of the database, however much is
// written meanwhile. A snapshot that is held for long keeps the write-ahead log
// from shrinking. Erased values stay in the log until fn returns.
func (r *Reader) Snapshot(ctx context.Context, fn func(tx *sql.Tx) error) (err error) {
	tx, err := r.file(ctx).db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	defer func() {
		if rerr := tx.Rollback(); rerr != nil && !errors.Is(rerr, sql.ErrTxDone) {
			err = errors.Join(err, rerr)
		}
	}()
	return fn(tx)
}

// Close closes the reader's connections.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := []error{r.now.Load().db.Close()}
	for _, old := range r.older {
		errs = append(errs, old.now.Load().db.Close())
	}
	return errors.Join(errs...)
}
