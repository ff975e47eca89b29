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
	"time"

	"modernc.org/sqlite"
)

// maxQueries is how many queries a Reader runs at the same time; more wait.
const maxQueries = 4

// Reader reads a database that another process may be writing to, and cannot write
// to it. Its methods are safe for concurrent use.
type Reader struct {
	db   *sql.DB
	path string
}

// OpenReader opens an existing database read-only, also while another process
// writes to it. A database whose folder cannot be written to is opened as
// immutable when it has no write-ahead log. ErrNoFile: there is no such file.
func OpenReader(ctx context.Context, path string) (*Reader, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("database path: %w", err)
	}
	if _, err := os.Stat(abs); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w: %s", ErrNoFile, abs)
		}
		return nil, fmt.Errorf("database file: %w", err)
	}
	r, err := openReader(ctx, abs, false)
	if err == nil {
		return r, nil
	}
	// Read-only media: SQLite wants to create -shm. Without a log nothing is
	// missed by not having it.
	if info, serr := os.Stat(abs + "-wal"); serr == nil && info.Size() > 0 {
		return nil, err
	}
	r, ierr := openReader(ctx, abs, true)
	if ierr != nil {
		return nil, err // the first error is the one that says what is wrong
	}
	return r, nil
}

func openReader(ctx context.Context, path string, immutable bool) (*Reader, error) {
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
	return &Reader{db: db, path: path}, nil
}

// Path is the absolute path of the file.
func (r *Reader) Path() string { return r.path }

// Query runs a query; the caller closes the rows.
func (r *Reader) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return r.db.QueryContext(ctx, query, args...)
}

// QueryRow runs a query that returns one row; Scan gives sql.ErrNoRows if none.
func (r *Reader) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return r.db.QueryRowContext(ctx, query, args...)
}

// Scan runs a query and hands each row to fn as the driver gives it: int64, float64, string, []byte or nil. It
// costs less than Query, and tells a text from bytes. The row is fn's until it returns. The arguments are integers.
func (r *Reader) Scan(ctx context.Context, query string, fn func(row []driver.Value) error, args ...int64) error {
	c, err := r.db.Conn(ctx)
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
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
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
func (r *Reader) Close() error { return r.db.Close() }
