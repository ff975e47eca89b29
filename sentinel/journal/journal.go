package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	Reader
	st   *store.Store
	opts Options

	// Owned by the store's writer goroutine.
	last int64
	ad   []byte

	moving sync.Mutex
	gone   *[]int64 // erased since values are copied to the next file; nil where none are
	copied int64    // the last number that was
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
	j := &Journal{Reader: Reader{r: st.Reader(), sealer: s, now: opts.Now}, st: st, opts: opts}
	if err := j.loadLastNumber(ctx); err != nil {
		st.Unclaim("journal")
		return nil, err
	}
	st.OnMove((*mover)(j))
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
