package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"modernc.org/sqlite"
)

// conn is the writer's connection. It talks to the driver directly: the writer is
// one goroutine with one connection. The pool, the locks and the reflection of
// database/sql would cost much and give nothing.
type conn struct {
	c     driver.Conn
	stmts map[string]stmt
}

// stmt is what a driver's statement must be able to do for us.
type stmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// Transaction control is prepared like everything else.
const (
	sqlBegin      = "BEGIN IMMEDIATE"
	sqlCommit     = "COMMIT"
	sqlRollback   = "ROLLBACK"
	sqlSavepoint  = "SAVEPOINT member"
	sqlRelease    = "RELEASE member"
	sqlRollbackTo = "ROLLBACK TO member"
)

// dataSource returns SQLite's address of a file with its options.
func dataSource(path string, q url.Values) string {
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

func openConnection(ctx context.Context, path string, busy time.Duration) (*conn, error) {
	connector, err := sqlite.NewConnector(dataSource(path, url.Values{
		"mode": {"rw"},
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()),
			"journal_mode(WAL)",
			"synchronous(FULL)",
			"foreign_keys(ON)",
			"secure_delete(ON)",
			// Savepoint journals hold old page images: never in a file.
			"temp_store(MEMORY)",
			"trusted_schema(OFF)",
			// The page cache keeps its default size: larger ones were measured to
			// make groups of savepoints slower, not faster.
		},
		"_defensive": {"1"},
		"_dqs":       {"0"},
	}))
	if err != nil {
		return nil, err
	}
	dc, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{c: dc, stmts: map[string]stmt{}}
	if err := c.checkPragmas(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// checkPragmas refuses a connection on which durability was not granted. SQLite
// ignores in silence a journal mode that the file system cannot give.
func (c *conn) checkPragmas() error {
	for _, want := range []struct{ query, value string }{
		{"PRAGMA journal_mode", "wal"}, {"PRAGMA synchronous", "2"},
		{"PRAGMA secure_delete", "1"}, {"PRAGMA foreign_keys", "1"},
	} {
		got, err := c.readFirstRow(want.query)
		if err != nil {
			return err
		}
		if v := fmt.Sprint(got[0]); v != want.value {
			return fmt.Errorf("%s is %s, not %s: use a local file system", want.query, v, want.value)
		}
	}
	return nil
}

// prepare returns the cached statement for query. The cache is bounded by the
// program's own constants, because SQL text is never built from values.
func (c *conn) prepare(query string) (stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	ds, err := c.c.Prepare(query)
	if err != nil {
		return nil, err
	}
	s, ok := ds.(stmt)
	if !ok {
		return nil, errors.Join(errors.New("driver's statements take no context"), ds.Close())
	}
	c.stmts[query] = s
	return s, nil
}

// exec runs one cached statement. The context is always the background one: the
// driver would start a goroutine per statement to watch any other.
func (c *conn) exec(query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(context.Background(), args)
}

// runScript runs text with any number of statements, uncached.
func (c *conn) runScript(text string) error {
	e, ok := c.c.(driver.ExecerContext)
	if !ok {
		return errors.New("driver's connection cannot run scripts")
	}
	_, err := e.ExecContext(context.Background(), text, nil)
	return err
}

// readFirstRow returns the first row of an uncached query.
func (c *conn) readFirstRow(query string) (_ []driver.Value, err error) {
	q, ok := c.c.(driver.QueryerContext)
	if !ok {
		return nil, errors.New("driver's connection cannot query")
	}
	rows, err := q.QueryContext(context.Background(), query, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	dest := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(dest); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: no answer", query)
		}
		return nil, err
	}
	return dest, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	c.stmts = nil
	return errors.Join(append(errs, c.c.Close())...)
}

// statementOnly reports whether err undid one statement and left the transaction
// as it was. After any other error SQLite may have rolled the whole transaction
// back. What follows would be written outside of one.
func statementOnly(err error) bool {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return true // refused by the driver before SQLite saw it
	}
	const (
		sqliteError, tooBig, constraint, mismatch, outOfRange = 1, 18, 19, 20, 25
	)
	switch se.Code() & 0xff {
	case sqliteError, tooBig, constraint, mismatch, outOfRange:
		return true
	}
	return false
}
