package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// Reader reads a ledger, through all its files that are there. It verifies nothing; that is what Verify is for.
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
func (r *Reader) NewestHead(ctx context.Context) ([]byte, error) { return part{r: r.r}.newestHead(ctx) }

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
	// Columns are columns of which a record must have one of several values.
	Columns []Column
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

// listColumns lists what columns must have: those of the fields first. A column that isn't one of the ledger's is an
// error.
func (q Query) listColumns() ([]Column, error) {
	var out []Column
	for _, c := range []struct{ name, value string }{
		{"id", q.ID}, {"kind", q.Kind}, {"call", q.Call}, {"decision", q.Decision}, {"conversation", q.Conversation},
		{"user", q.User}, {"agent", q.Agent}, {"skill", q.Skill}, {"outcome", q.Outcome}, {"gate", q.Gate}, {"code", q.Code},
	} {
		if c.value != "" {
			out = append(out, Column{c.name, []string{c.value}})
		}
	}
	for _, c := range q.Columns {
		if !isTextColumn(c.Name) {
			return nil, fmt.Errorf("query: %q is no column of the ledger", c.Name)
		}
		if len(c.OneOf) > maxAlternatives {
			return nil, fmt.Errorf("query: %d values for %s, at most %d", len(c.OneOf), c.Name, maxAlternatives)
		}
		out = append(out, c)
	}
	return out, nil
}

// maxAlternatives is how many values a query may have for one column.
const maxAlternatives = 1000

func isTextColumn(name string) bool {
	for _, f := range (&Entry{}).listTextFields() {
		if f.name == name {
			return true
		}
	}
	return false
}

// condition is the part of a query's SQL behind WHERE, of constants and placeholders.
type condition struct {
	parts []string
	args  []any
}

func (c *condition) add(part string, args ...any) {
	c.parts, c.args = append(c.parts, part), append(c.args, args...)
}

// addColumn adds that a column has one of its values. The plus keeps SQLite from another index than the one that
// was chosen.
func (c *condition) addColumn(of Column, plus string) {
	if len(of.OneOf) == 0 {
		c.add("0")
		return
	}
	part := plus + of.Name + " = ?"
	if len(of.OneOf) > 1 {
		part = plus + of.Name + " IN (?" + strings.Repeat(", ?", len(of.OneOf)-1) + ")"
	}
	args := make([]any, len(of.OneOf))
	for i, v := range of.OneOf {
		args[i] = v
	}
	c.add(part, args...)
}

// addRest adds what a query asks for beside columns and places.
func (c *condition) addRest(q Query) {
	if q.By != "" {
		c.add(sqlBy, q.By)
	}
	if q.Without != "" {
		c.add(sqlWithout, q.Without)
	}
	if !q.Since.IsZero() {
		c.add("time >= ?", q.Since.UnixNano())
	}
	if !q.Until.IsZero() {
		c.add("time < ?", q.Until.UnixNano())
	}
}

func (c *condition) format() string {
	if len(c.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.parts, " AND ")
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
	parts, err := r.listParts(ctx)
	if err != nil {
		return nil, err
	}
	out, err := listThrough(ctx, parts, q)
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	return out, nil
}

// Get returns the record with this id, or the only one whose id starts with it
// (4 characters or more). ErrNotFound: there is none. ErrAmbiguous: several.
func (r *Reader) Get(ctx context.Context, idOrPrefix string) (Record, error) {
	if !isValidID(idOrPrefix) {
		return Record{}, ErrNotFound
	}
	parts, err := r.listParts(ctx)
	if err != nil {
		return Record{}, err
	}
	var found []Record
	for _, p := range parts {
		exact, err := p.readRecords(ctx, " WHERE id = ?", idOrPrefix)
		if err != nil || len(exact) > 0 {
			return append(exact, Record{})[0], err
		}
	}
	for _, p := range parts {
		if len(idOrPrefix) < minPrefix {
			break
		}
		// '~' sorts after every character that an id may have.
		more, err := p.readRecords(ctx, " WHERE id >= ? AND id < ? LIMIT 2", idOrPrefix, idOrPrefix+"~")
		if err != nil {
			return Record{}, err
		}
		found = append(found, more...)
	}
	switch len(found) {
	case 0:
		return Record{}, ErrNotFound
	case 1:
		return found[0], nil
	}
	return Record{}, ErrAmbiguous
}

// Values lists the values that records may have in a column: those of its index, and those that the index leaves out.
// complete is false where there are more than most in the index, or the file has no index that tells.
func (r *Reader) Values(ctx context.Context, column string, most int) (list []string, complete bool, err error) {
	x, indexed := columnIndexes()[column]
	if !indexed {
		return nil, false, fmt.Errorf("query: the ledger has no index on %q", column)
	}
	if x.only == "" {
		x.only = "1"
	}
	parts, err := r.listParts(ctx)
	if err != nil {
		return nil, false, err
	}
	complete = true
	for _, p := range parts {
		found, whole, err := p.listValues(ctx, column, x.only, most)
		if err != nil {
			return nil, false, err
		}
		list, complete = append(list, found...), complete && whole
	}
	slices.Sort(list)
	list = slices.Compact(list)
	complete = complete && len(list) <= most
	return append(list[:min(len(list), most)], x.without...), complete, nil
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
// ignored, and what Without leaves out is told within each file. All numbers of a file are of one moment.
func (r *Reader) Stats(ctx context.Context, q Query) (Stats, error) {
	columns, err := q.listColumns()
	if err != nil {
		return Stats{}, err
	}
	var c condition
	for _, of := range columns {
		c.addColumn(of, "")
	}
	c.addRest(q)
	where, args := c.format(), c.args
	s := Stats{Kinds: map[string]int64{}, Outcomes: map[string]int64{}, Gates: map[string]int64{}}
	parts, err := r.listParts(ctx)
	if err != nil {
		return Stats{}, err
	}
	for _, p := range parts {
		if err := p.r.Snapshot(ctx, func(tx *sql.Tx) error { return s.add(ctx, tx, where, args) }); err != nil {
			return Stats{}, fmt.Errorf("count ledger: %w", err)
		}
	}
	return s, nil
}

// add counts the records of one file.
func (s *Stats) add(ctx context.Context, tx *sql.Tx, where string, args []any) error {
	var n, first, last int64
	row := tx.QueryRowContext(ctx, "SELECT count(*), ifnull(min(time), 0), ifnull(max(time), 0) FROM ledger_records"+where, args...)
	if err := row.Scan(&n, &first, &last); err != nil {
		return err
	}
	if from, to := time.Unix(0, first).UTC(), time.Unix(0, last).UTC(); n > 0 {
		if s.First.IsZero() || from.Before(s.First) {
			s.First = from
		}
		if to.After(s.Last) {
			s.Last = to
		}
	}
	s.Records += n
	for column, into := range map[string]map[string]int64{"kind": s.Kinds, "outcome": s.Outcomes, "gate": s.Gates} {
		if err := countByColumn(ctx, tx, column, where, args, into); err != nil {
			return err
		}
	}
	return nil
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
			into[key] += n
		}
	}
	return rows.Err()
}
