package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel/store"
)

var (
	// ErrNotFound is returned by Get when no record has this id or prefix.
	ErrNotFound = errors.New("no such record")
	// ErrAmbiguous is returned by Get for a prefix of several ids.
	ErrAmbiguous = errors.New("several records start with this id: give more of it")
)

const (
	defaultLimit = 100
	maxLimit     = 1000
	minPrefix    = 4
)

// Reader reads a ledger. It verifies nothing; that is what Verify is for.
type Reader struct {
	r     *store.Reader
	owned bool
}

// OpenReader opens the ledger in a database file read-only, also while another
// process writes to it. Close it.
func OpenReader(ctx context.Context, path string) (*Reader, error) {
	r, err := store.OpenReader(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Reader{r: r, owned: true}, nil
}

// NewestHead returns the newest head in the database, whose signature is not checked. ErrNotFound: there is none.
func (r *Reader) NewestHead(ctx context.Context) ([]byte, error) {
	var signed []byte
	err := r.r.QueryRow(ctx, sqlNewestHead).Scan(&signed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: ledger is empty", ErrNotFound)
	}
	return signed, err
}

// Close closes a reader of OpenReader. On the reader inside of a Ledger it does
// nothing: that one belongs to the store.
func (r *Reader) Close() error {
	if !r.owned {
		return nil
	}
	return r.r.Close()
}

// Query says which records to list. Empty fields match everything; the others
// must all match, exactly.
type Query struct {
	ID, Kind, Call, Decision, Conversation, User, Agent, Skill, Outcome, Gate, Code string
	// By is the approver in the body of a decision: who said yes or no. Together
	// with Since and Until it is about the time of the answer, the time of such a
	// record. It reads the bodies of all decisions in that time.
	By string
	// Without leaves out records whose decision has a record of this kind: the
	// decisions that have no outcome, for example.
	Without string
	// Since and Until bound the time: Since <= time < Until. Zero is no bound.
	Since, Until time.Time
	// AfterIndex, if not nil, leaves out records up to that index. The index of
	// the last record of a page gives the next page.
	AfterIndex *int64
	// Newest turns the order round, newest first; AfterIndex then means before.
	Newest bool
	// Limit is how many records to return at most. If zero, 100; at most 1000.
	Limit int
}

// buildWhere builds the condition of constants and placeholders.
func (q Query) buildWhere() (string, []any) {
	var conds []string
	var args []any
	add := func(cond string, arg any) { conds, args = append(conds, cond), append(args, arg) }
	for _, c := range []struct{ column, value string }{
		{"id", q.ID}, {"kind", q.Kind}, {"call", q.Call}, {"decision", q.Decision}, {"conversation", q.Conversation},
		{"user", q.User}, {"agent", q.Agent}, {"skill", q.Skill}, {"outcome", q.Outcome}, {"gate", q.Gate}, {"code", q.Code},
	} {
		if c.value != "" {
			add(c.column+" = ?", c.value)
		}
	}
	if q.By != "" {
		add(sqlBy, q.By)
	}
	if q.Without != "" {
		add(sqlWithout, q.Without)
	}
	if !q.Since.IsZero() {
		add("time >= ?", q.Since.UnixNano())
	}
	if !q.Until.IsZero() {
		add("time < ?", q.Until.UnixNano())
	}
	if q.AfterIndex != nil && q.Newest {
		add("idx < ?", *q.AfterIndex)
	} else if q.AfterIndex != nil {
		add("idx > ?", *q.AfterIndex)
	}
	if len(conds) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(conds, " AND "), args
}

// List returns the matching records in the order they were appended, or newest
// first. No match is an empty list.
func (r *Reader) List(ctx context.Context, q Query) ([]Record, error) {
	if q.Limit < 0 || q.Limit > maxLimit {
		return nil, fmt.Errorf("limit %d: use 1 to %d", q.Limit, maxLimit)
	}
	if q.Limit == 0 {
		q.Limit = defaultLimit
	}
	where, args := q.buildWhere()
	order := " ORDER BY idx"
	if q.Newest {
		order += " DESC"
	}
	return r.readRecords(ctx, where+order+" LIMIT ?", append(args, q.Limit)...)
}

// Get returns the record with this id, or the only one whose id starts with it
// (4 characters or more). ErrNotFound: there is none. ErrAmbiguous: several.
func (r *Reader) Get(ctx context.Context, idOrPrefix string) (Record, error) {
	if !isValidID(idOrPrefix) {
		return Record{}, ErrNotFound
	}
	found, err := r.readRecords(ctx, " WHERE id = ?", idOrPrefix)
	if err != nil {
		return Record{}, err
	}
	if len(found) == 0 && len(idOrPrefix) >= minPrefix {
		// '~' sorts after every character that an id may have.
		found, err = r.readRecords(ctx, " WHERE id >= ? AND id < ? LIMIT 2", idOrPrefix, idOrPrefix+"~")
		if err != nil {
			return Record{}, err
		}
	}
	switch len(found) {
	case 0:
		return Record{}, ErrNotFound
	case 1:
		return found[0], nil
	}
	return Record{}, ErrAmbiguous
}

func (r *Reader) readRecords(ctx context.Context, tail string, args ...any) (_ []Record, err error) {
	rows, err := r.r.Query(ctx, "SELECT "+sqlColumns+" FROM ledger_records"+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := []Record{}
	for rows.Next() {
		var rec Record
		if err := scanRecord(rows, &rec); err != nil {
			return nil, err
		}
		out = append(out, rec)
	}
	return out, rows.Err()
}

func scanRecord(rows *sql.Rows, r *Record) error {
	var ns int64
	var body []byte
	err := rows.Scan(&r.Index, &r.ID, &ns, &r.Kind, &r.Call, &r.Decision, &r.Conversation, &r.User, &r.Agent,
		&r.Skill, &r.Outcome, &r.Gate, &r.Code, &body)
	if err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	r.Time, r.Body = time.Unix(0, ns).UTC(), nil
	if len(body) > 0 {
		r.Body = json.RawMessage(body)
	}
	return nil
}

// Stats is an overview of a ledger.
type Stats struct {
	Records int64 `json:"records"`
	// First and Last are the times of the first and the last record.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Kinds, Outcomes and Gates count records by these keys; records with an
	// empty key are left out.
	Kinds    map[string]int64 `json:"kinds"`
	Outcomes map[string]int64 `json:"outcomes"`
	Gates    map[string]int64 `json:"gates"`
}

// Stats counts the records that match q; its Limit, Newest and AfterIndex are
// ignored. All its numbers are of one moment.
func (r *Reader) Stats(ctx context.Context, q Query) (Stats, error) {
	q.AfterIndex = nil
	where, args := q.buildWhere()
	s := Stats{Kinds: map[string]int64{}, Outcomes: map[string]int64{}, Gates: map[string]int64{}}
	err := r.r.Snapshot(ctx, func(tx *sql.Tx) error {
		var first, last int64
		row := tx.QueryRowContext(ctx, "SELECT count(*), ifnull(min(time), 0), ifnull(max(time), 0) FROM ledger_records"+where, args...)
		if err := row.Scan(&s.Records, &first, &last); err != nil {
			return err
		}
		if s.Records > 0 {
			s.First, s.Last = time.Unix(0, first).UTC(), time.Unix(0, last).UTC()
		}
		for column, into := range map[string]map[string]int64{"kind": s.Kinds, "outcome": s.Outcomes, "gate": s.Gates} {
			if err := countByColumn(ctx, tx, column, where, args, into); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Stats{}, fmt.Errorf("count ledger: %w", err)
	}
	return s, nil
}

func countByColumn(ctx context.Context, tx *sql.Tx, column, where string, args []any, into map[string]int64) (err error) {
	rows, err := tx.QueryContext(ctx, "SELECT "+column+", count(*) FROM ledger_records"+where+" GROUP BY "+column, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var key string
		var n int64
		if err := rows.Scan(&key, &n); err != nil {
			return err
		}
		if key != "" {
			into[key] = n
		}
	}
	return rows.Err()
}
