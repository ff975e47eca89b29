package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// Reader opens values and can't keep or erase any. Its methods are safe for concurrent use.
type Reader struct {
	r      *store.Reader
	sealer *sealer
	now    func() time.Time
	owned  bool
}

// ErrNoJournal is returned by OpenReader for a database without a journal.
var ErrNoJournal = errors.New("the database holds no journal")

// OpenReader opens the journal in a database file read-only, also while another process writes to
// it. ErrKey: the ring doesn't open the newest value that is there. Close it.
func OpenReader(ctx context.Context, path string, ring KeyRing, now func() time.Time) (*Reader, error) {
	s, err := newSealer(ring)
	if err != nil {
		return nil, err
	}
	if now == nil {
		now = time.Now
	}
	db, err := store.OpenReader(ctx, path)
	if err != nil {
		return nil, err
	}
	r := &Reader{db, s, now, true}
	tables := 0
	err = db.QueryRow(ctx, sqlTables).Scan(&tables)
	if err == nil && tables == 0 {
		err = ErrNoJournal
	}
	if err == nil {
		err = r.tryNewestKey(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return r, nil
}

// Close closes a reader of OpenReader. On the reader inside of a Journal it does nothing: that one
// belongs to the store.
func (r *Reader) Close() error {
	if !r.owned {
		return nil
	}
	return r.r.Close()
}

// tryNewestKey unwraps the newest value's key: an operator learns of the wrong key file
// at start.
func (r *Reader) tryNewestKey(ctx context.Context) error {
	found, err := r.querySealedRows(ctx, sqlSelect+" ORDER BY v.id DESC LIMIT 1")
	if err != nil || len(found) == 0 {
		return err
	}
	if _, err := r.sealer.unwrapValueKey(found[0].wrapped, appendAssociated(nil, &found[0].Value)); err != nil {
		return fmt.Errorf("%w: value %d %w: use the journal.key that was made with it", ErrKey, found[0].ID, err)
	}
	return nil
}

// maxCallsAtOnce is how many calls ByCalls reads in one query.
const maxCallsAtOnce = 500

// ByCalls opens the values of one of the kinds of several calls, by call, in the order they were put.
// Values that were erased or have expired are left out.
func (r *Reader) ByCalls(ctx context.Context, calls, kinds []string) (map[string][]Value, error) {
	out := map[string][]Value{}
	for len(calls) > 0 {
		n := min(len(calls), maxCallsAtOnce)
		args := make([]any, 0, n+len(kinds))
		for _, c := range calls[:n] {
			args = append(args, c)
		}
		for _, k := range kinds {
			args = append(args, k)
		}
		calls = calls[n:]
		tail := " WHERE v.call IN (" + placeholders(n) + ") AND v.kind IN (" + placeholders(len(kinds)) + ") ORDER BY v.id"
		found, err := r.openValues(ctx, tail, args...)
		if err != nil {
			return nil, err
		}
		for _, v := range found {
			out[v.Call] = append(out[v.Call], v)
		}
	}
	return out, nil
}

func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// Get opens one value. ErrNotFound, ErrErased (also when it has expired and
// waits for Purge), ErrSealed.
func (r *Reader) Get(ctx context.Context, id int64) (Value, error) {
	found, err := r.openValues(ctx, " WHERE v.id = ?", id)
	if err != nil {
		return Value{}, err
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var keys int
	var last int64
	if err := r.r.QueryRow(ctx, sqlHasKey, id).Scan(&keys, &last); err != nil {
		return Value{}, fmt.Errorf("read journal: %w", err)
	}
	// The keys of erased values don't move on to the next file of the store.
	if keys > 0 || r.r.File().Number > 1 && id >= 1 && id <= last {
		return Value{}, ErrErased
	}
	return Value{}, ErrNotFound
}

// ByCall opens all values of one call in the order they were put. Values that
// were erased or have expired are left out.
func (r *Reader) ByCall(ctx context.Context, call string) ([]Value, error) {
	return r.openValues(ctx, " WHERE v.call = ? ORDER BY v.id", call)
}

// ByConversation opens the values of one conversation in the order they were put.
// It begins after the number given (0 for the first) and opens at most limit of
// them (0 is 1000). Values that were erased or have expired are left out.
func (r *Reader) ByConversation(ctx context.Context, conversation string, after int64, limit int) ([]Value, error) {
	if limit <= 0 {
		limit = 1000
	}
	return r.openValues(ctx, " WHERE v.conversation = ? AND v.id > ? ORDER BY v.id LIMIT ?", conversation, after, limit)
}

// Query says which values Find opens. Empty fields match everything.
type Query struct {
	Call, Conversation, User, Kind string
	// Newest turns the order round, newest first.
	Newest bool
	// Before, if not zero, leaves out values from this number on.
	Before int64
	// Limit is how many to open at most. If zero, 1000.
	Limit int
}

// Find opens the values that match, in the order they were put. Those that
// were erased or have expired are left out.
func (r *Reader) Find(ctx context.Context, q Query) ([]Value, error) {
	tail, args := " WHERE 1 = 1", []any{}
	for _, c := range []struct{ column, value string }{{"call", q.Call}, {"conversation", q.Conversation},
		{"user", q.User}, {"kind", q.Kind}} {
		if c.value != "" {
			tail, args = tail+" AND v."+c.column+" = ?", append(args, c.value)
		}
	}
	if q.Before != 0 {
		tail, args = tail+" AND v.id < ?", append(args, q.Before)
	}
	tail += " ORDER BY v.id"
	if q.Newest {
		tail += " DESC"
	}
	if q.Limit <= 0 {
		q.Limit = 1000
	}
	return r.openValues(ctx, tail+" LIMIT ?", append(args, q.Limit)...)
}

// openValues reads and unseals what is not expired. One value that does not open
// fails the whole answer: a gap in silence would be worse.
func (r *Reader) openValues(ctx context.Context, tail string, args ...any) ([]Value, error) {
	rows, err := r.querySealedRows(ctx, sqlSelect+tail, args...)
	if err != nil {
		return nil, err
	}
	now := r.now()
	out := make([]Value, 0, len(rows))
	for i := range rows {
		row := &rows[i]
		if !now.Before(row.Expires) {
			continue
		}
		data, err := r.sealer.openSealed(row.sealed, row.wrapped, appendAssociated(nil, &row.Value))
		if err != nil {
			return nil, fmt.Errorf("%w: value %d %w", ErrSealed, row.ID, err)
		}
		row.Data = data
		out = append(out, row.Value)
	}
	return out, nil
}

// sealedRow is a value as the database holds it.
type sealedRow struct {
	Value
	sealed, wrapped []byte
}

// querySealedRows reads values without unsealing them.
func (r *Reader) querySealedRows(ctx context.Context, query string, args ...any) (_ []sealedRow, err error) {
	rows, err := r.r.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []sealedRow
	for rows.Next() {
		row, err := scanRow(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

func scanRow(rows *sql.Rows) (sealedRow, error) {
	var r sealedRow
	var created, expires int64
	err := rows.Scan(&r.ID, &created, &expires, &r.Call, &r.Conversation, &r.User, &r.Kind, &r.Name, &r.sealed, &r.wrapped)
	if err != nil {
		return sealedRow{}, fmt.Errorf("read journal: %w", err)
	}
	r.Created, r.Expires = time.UnixMilli(created).UTC(), time.UnixMilli(expires).UTC()
	return r, nil
}
