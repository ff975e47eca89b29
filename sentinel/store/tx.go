package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Tx is the writer's transaction, as one submission sees it. It is valid only
// inside the function it was given to, and only in that goroutine.
//
// Arguments may be string, []byte, bool, int, int64, uint32, float64 and nil;
// placeholders are written `?`. A nil []byte is stored as an empty one. Times
// are the caller's to turn into integers.
type Tx struct {
	conn  *conn
	args  []driver.NamedValue
	undos []func()
	rows  []*Rows
	fatal error
	live  bool
}

// begin makes tx ready for another group.
func (tx *Tx) begin(c *conn) {
	tx.conn, tx.fatal, tx.live = c, nil, true
	clear(tx.undos)
	tx.undos, tx.rows = tx.undos[:0], tx.rows[:0]
}

// Exec runs one statement and returns how many rows it changed. The statement is
// prepared once and cached by its text. A constraint that is violated is an
// ordinary error. After a failure of the disk the whole group is lost, and every
// further call returns that error.
func (tx *Tx) Exec(query string, args ...any) (int64, error) {
	if err := tx.bindArguments(args); err != nil {
		return 0, err
	}
	res, err := tx.conn.exec(query, tx.args)
	if err != nil {
		return 0, tx.noteFatal(err)
	}
	return res.RowsAffected()
}

// Query runs one statement that returns rows. They are closed at the end of the
// submission at the latest.
func (tx *Tx) Query(query string, args ...any) (*Rows, error) {
	if err := tx.bindArguments(args); err != nil {
		return nil, err
	}
	s, err := tx.conn.prepare(query)
	if err != nil {
		return nil, tx.noteFatal(err)
	}
	tx.closeRowsOf(s) // one cursor per cached statement
	dr, err := s.QueryContext(context.Background(), tx.args)
	if err != nil {
		return nil, tx.noteFatal(err)
	}
	r := &Rows{tx: tx, stmt: s, rows: dr, values: make([]driver.Value, len(dr.Columns()))}
	tx.rows = append(tx.rows, r)
	return r, nil
}

// QueryRow scans the first row of a query into dest. found is false when there
// was none.
func (tx *Tx) QueryRow(dest []any, query string, args ...any) (found bool, err error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		return false, rows.Err()
	}
	return true, rows.Scan(dest...)
}

// OnUndo registers f to run if what this submission wrote is rolled back, alone or
// with its group. Later registrations run first. State that a package keeps in
// memory beside its tables is put back there.
func (tx *Tx) OnUndo(f func()) { tx.undos = append(tx.undos, f) }

// undo runs the registrations from mark on, last first.
func (tx *Tx) undo(mark int) {
	for i := len(tx.undos) - 1; i >= mark; i-- {
		tx.undos[i]()
		tx.undos[i] = nil
	}
	tx.undos = tx.undos[:mark]
}

// noteFatal remembers an error that ends the whole group.
func (tx *Tx) noteFatal(err error) error {
	if tx.fatal == nil && !statementOnly(err) {
		tx.fatal = err
	}
	return err
}

// bindArguments fills tx.args, which is used again by every statement.
func (tx *Tx) bindArguments(args []any) error {
	if !tx.live {
		return ErrTx
	}
	if tx.fatal != nil {
		return tx.fatal
	}
	tx.args = slices.Grow(tx.args[:0], len(args))[:len(args)]
	for i, a := range args {
		nv := driver.NamedValue{Ordinal: i + 1}
		switch v := a.(type) {
		case []byte:
			if v == nil {
				v = []byte{} // nil would be NULL
			}
			nv.Value = v
		case int:
			nv.Value = int64(v)
		case uint32:
			nv.Value = int64(v)
		case string, int64, float64, bool, nil:
			nv.Value = v
		default:
			return fmt.Errorf("argument %d of statement has type %T: use string, []byte, bool, an integer or float64", i+1, a)
		}
		tx.args[i] = nv
	}
	return nil
}

func (tx *Tx) closeAllRows() {
	for _, r := range tx.rows {
		_ = r.Close()
	}
	clear(tx.rows)
	tx.rows = tx.rows[:0]
}

func (tx *Tx) closeRowsOf(s stmt) {
	for _, r := range tx.rows {
		if r.stmt == s {
			_ = r.Close()
		}
	}
}

// Rows is the answer to Tx.Query: call Next until it returns false, then Err.
type Rows struct {
	tx     *Tx
	stmt   stmt
	rows   driver.Rows
	values []driver.Value
	err    error
	closed bool
}

// Next steps to the next row; false at the end, or after an error.
func (r *Rows) Next() bool {
	if r.closed || r.err != nil {
		return false
	}
	err := r.rows.Next(r.values)
	if err == nil {
		return true
	}
	if !errors.Is(err, io.EOF) {
		r.err = r.tx.noteFatal(err)
	}
	_ = r.Close()
	return false
}

// Err is the error that ended the iteration, if one did.
func (r *Rows) Err() error { return r.err }

// Close ends the iteration early. It is safe to call twice.
func (r *Rows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	return r.rows.Close()
}

// Scan copies the row's columns into *string, *[]byte, *int64, *int, *bool and
// *float64. A column of another type, NULL too, is an error.
func (r *Rows) Scan(dest ...any) error {
	if len(dest) != len(r.values) {
		return fmt.Errorf("scan into %d places of %d columns", len(dest), len(r.values))
	}
	for i, d := range dest {
		if !assignColumn(d, r.values[i]) {
			return fmt.Errorf("column %d is %T and does not fit %T", i+1, r.values[i], d)
		}
	}
	return nil
}

// assignColumn copies a column into dest, and reports whether its type fits.
func assignColumn(dest any, v driver.Value) bool {
	switch v := v.(type) {
	case int64:
		switch d := dest.(type) {
		case *int64:
			*d = v
		case *int:
			*d = int(v)
		case *bool:
			*d = v != 0
		default:
			return false
		}
		return true
	case string:
		d, ok := dest.(*string)
		if ok {
			*d = v
		}
		return ok
	case []byte:
		d, ok := dest.(*[]byte)
		if ok {
			*d = slices.Clone(v)
		}
		return ok
	case float64:
		d, ok := dest.(*float64)
		if ok {
			*d = v
		}
		return ok
	}
	return false
}
