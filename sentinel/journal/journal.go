package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel/store"
)

var (
	// ErrNotFound is returned by Get for a number that was never given out.
	ErrNotFound = errors.New("no such value")
	// ErrErased is returned by Get for a value that was erased or has expired.
	ErrErased = errors.New("value was erased")
	// ErrItem is returned by PutTx for an item that the journal does not take.
	ErrItem = errors.New("item cannot be kept")
	// ErrSealed is returned for a value that does not open. The value was changed
	// or moved, or the key is another one.
	ErrSealed = errors.New("sealed value does not open")
	// ErrKey is returned by Open when the ring does not open what is there.
	ErrKey = errors.New("journal key does not belong to this database")
	// ErrPending is returned when values were erased from the database but not
	// from its write-ahead log. A reader holds old pages of the log.
	ErrPending = errors.New("erased, but old pages remain in the write-ahead log")
)

// Limits of an Item, in bytes. The limit of Data is an option.
const (
	MaxCode = 64
	MaxRef  = 256
)

const (
	defaultRetention = 7 * 24 * time.Hour
	defaultMaxData   = 4 << 20
)

// Options of a journal; the zero value is all defaults.
type Options struct {
	// Retention is how long an item without Expires is kept. If zero, 7 days.
	Retention time.Duration
	// MaxData is the largest value in bytes. If zero, 4 MiB.
	MaxData int
	// Now is the clock. If nil, time.Now.
	Now func() time.Time
}

// Item is a value to keep. Kind is required.
//
// Kind and Name are codes of at most MaxCode bytes (letters, digits and "_.:/-").
// Call, Conversation and User are references of at most MaxRef bytes without
// control characters. All these are stored in the clear. Only Data is sealed.
type Item struct {
	Call, Conversation, User, Kind, Name string
	Data                                 []byte
	// Expires is when Purge may erase it. If zero, the retention from now.
	Expires time.Time
}

// Value is an item that was kept. Times are in milliseconds.
type Value struct {
	ID int64
	Item
	Created time.Time
}

// Journal keeps values in one store. All methods are safe for concurrent use.
type Journal struct {
	st     *store.Store
	sealer *sealer
	opts   Options

	// Owned by the store's writer goroutine.
	last int64
	ad   []byte
}

// Open opens the journal in st, creating its tables when missing. ErrKey: the
// ring does not open the newest value that is there. There can be one Journal
// per store.
func Open(ctx context.Context, st *store.Store, ring KeyRing, opts Options) (*Journal, error) {
	s, err := newSealer(ring)
	if err != nil {
		return nil, err
	}
	if opts.Retention <= 0 {
		opts.Retention = defaultRetention
	}
	if opts.MaxData <= 0 {
		opts.MaxData = defaultMaxData
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if err := st.Claim("journal"); err != nil {
		return nil, err
	}
	j := &Journal{st: st, sealer: s, opts: opts}
	if err := j.loadLastNumber(ctx); err != nil {
		st.Unclaim("journal")
		return nil, err
	}
	return j, nil
}

// loadLastNumber brings the tables up to date and reads the last number.
func (j *Journal) loadLastNumber(ctx context.Context) error {
	if err := j.st.Migrate(ctx, "journal", schema); err != nil {
		return err
	}
	if err := j.st.Reader().QueryRow(ctx, sqlLast).Scan(&j.last); err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	return j.tryNewestKey(ctx)
}

// tryNewestKey unwraps the newest value's key: an operator learns of the wrong key file
// at start.
func (j *Journal) tryNewestKey(ctx context.Context) error {
	found, err := j.querySealedRows(ctx, sqlSelect+" ORDER BY v.id DESC LIMIT 1")
	if err != nil || len(found) == 0 {
		return err
	}
	if _, err := j.sealer.unwrapValueKey(found[0].wrapped, appendAssociated(nil, &found[0].Value)); err != nil {
		return fmt.Errorf("%w: value %d %w: use the journal.key that was made with it", ErrKey, found[0].ID, err)
	}
	return nil
}

// PutTx seals item and keeps it in the submission of tx. It returns the value's
// number, which is never given out again. ErrItem: the item is not acceptable.
func (j *Journal) PutTx(tx *store.Tx, item Item) (int64, error) {
	if err := j.validateItem(&item); err != nil {
		return 0, err
	}
	now := j.opts.Now()
	if item.Expires.IsZero() {
		item.Expires = now.Add(j.opts.Retention)
	}
	j.last++ // not taken back on failure: a number is used once
	v := Value{ID: j.last, Item: item, Created: now}
	j.ad = appendAssociated(j.ad[:0], &v)
	sealed, wrapped, err := j.sealer.seal(item.Data, j.ad)
	if err != nil {
		return 0, fmt.Errorf("seal value: %w", err)
	}
	if _, err := tx.Exec(sqlPutKey, v.ID, wrapped); err != nil {
		return 0, fmt.Errorf("keep key: %w", err)
	}
	_, err = tx.Exec(sqlPut, v.ID, v.Created.UnixMilli(), v.Expires.UnixMilli(),
		v.Call, v.Conversation, v.User, v.Kind, v.Name, sealed)
	if err != nil {
		return 0, fmt.Errorf("keep value: %w", err)
	}
	return v.ID, nil
}

// validateItem refuses an item that the journal does not take.
func (j *Journal) validateItem(it *Item) error {
	if it.Kind == "" {
		return fmt.Errorf("%w: kind is empty", ErrItem)
	}
	for _, f := range [...]struct{ name, code string }{{"kind", it.Kind}, {"name", it.Name}} {
		if !isValidCode(f.code) {
			return fmt.Errorf("%w: %s is not a code of at most %d letters, digits and _.:/-", ErrItem, f.name, MaxCode)
		}
	}
	for _, f := range [...]struct{ name, ref string }{{"call", it.Call}, {"conversation", it.Conversation}, {"user", it.User}} {
		if !isValidRef(f.ref) {
			return fmt.Errorf("%w: %s has %d bytes: use at most %d bytes of text without control characters",
				ErrItem, f.name, len(f.ref), MaxRef)
		}
	}
	if len(it.Data) > j.opts.MaxData {
		return fmt.Errorf("%w: %d bytes of data, at most %d", ErrItem, len(it.Data), j.opts.MaxData)
	}
	return nil
}

func isValidCode(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := (c|0x20) >= 'a' && (c|0x20) <= 'z'
		mark := c == '_' || c == '-' || c == ':' || (c >= '.' && c <= '9') // . / 0-9
		if !letter && !mark {
			return false
		}
	}
	return len(s) <= MaxCode
}

func isValidRef(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return false
		}
	}
	return len(s) <= MaxRef && utf8.ValidString(s)
}

// Get opens one value. ErrNotFound, ErrErased (also when it has expired and
// waits for Purge), ErrSealed.
func (j *Journal) Get(ctx context.Context, id int64) (Value, error) {
	found, err := j.openValues(ctx, " WHERE v.id = ?", id)
	if err != nil {
		return Value{}, err
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var n int
	if err := j.st.Reader().QueryRow(ctx, sqlHasKey, id).Scan(&n); err != nil {
		return Value{}, fmt.Errorf("read journal: %w", err)
	}
	if n > 0 {
		return Value{}, ErrErased
	}
	return Value{}, ErrNotFound
}

// ByCall opens all values of one call in the order they were put. Values that
// were erased or have expired are left out.
func (j *Journal) ByCall(ctx context.Context, call string) ([]Value, error) {
	return j.openValues(ctx, " WHERE v.call = ? ORDER BY v.id", call)
}

// ByConversation opens the values of one conversation in the order they were put.
// It begins after the number given (0 for the first) and opens at most limit of
// them (0 is 1000). Values that were erased or have expired are left out.
func (j *Journal) ByConversation(ctx context.Context, conversation string, after int64, limit int) ([]Value, error) {
	if limit <= 0 {
		limit = 1000
	}
	return j.openValues(ctx, " WHERE v.conversation = ? AND v.id > ? ORDER BY v.id LIMIT ?", conversation, after, limit)
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
func (j *Journal) Find(ctx context.Context, q Query) ([]Value, error) {
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
	return j.openValues(ctx, tail+" LIMIT ?", append(args, q.Limit)...)
}

// openValues reads and unseals what is not expired. One value that does not open
// fails the whole answer: a gap in silence would be worse.
func (j *Journal) openValues(ctx context.Context, tail string, args ...any) ([]Value, error) {
	rows, err := j.querySealedRows(ctx, sqlSelect+tail, args...)
	if err != nil {
		return nil, err
	}
	now := j.opts.Now()
	out := make([]Value, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		if !now.Before(r.Expires) {
			continue
		}
		data, err := j.sealer.openSealed(r.sealed, r.wrapped, appendAssociated(nil, &r.Value))
		if err != nil {
			return nil, fmt.Errorf("%w: value %d %w", ErrSealed, r.ID, err)
		}
		r.Data = data
		out = append(out, r.Value)
	}
	return out, nil
}

// sealedRow is a value as the database holds it.
type sealedRow struct {
	Value
	sealed, wrapped []byte
}

// querySealedRows reads values without unsealing them.
func (j *Journal) querySealedRows(ctx context.Context, query string, args ...any) (_ []sealedRow, err error) {
	rows, err := j.st.Reader().Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []sealedRow
	for rows.Next() {
		r, err := scanRow(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
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
