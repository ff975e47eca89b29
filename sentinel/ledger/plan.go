package ledger

import (
	"context"
	"database/sql"
	"errors"

	"math"
	"slices"
)

// columnIndex is an index on a column. It has the records for which only holds, empty for all; without are the
// values whose records it leaves out.
type columnIndex struct {
	only    string
	without []string
}

// columnIndexes are the indexes of the records, by column, and alwaysIndexed those that a file of version 1 has.
func columnIndexes() map[string]columnIndex {
	none := []string{""}
	return map[string]columnIndex{
		"id": {}, "call": {}, "conversation": {}, "user": {},
		"decision": {onlyDecision, none}, "skill": {onlySkill, none}, "agent": {onlyAgent, none}, "gate": {onlyGate, none},
		"code": {onlyCode, none}, "outcome": {onlyOutcome, []string{"", "allow", "ok"}},
		"kind": {onlyKind, []string{"decision", "outcome"}},
	}
}

var alwaysIndexed = []string{"id", "call", "conversation", "user"}

// has reports whether the index has all records of a column's values.
func (x columnIndex) has(c Column) bool {
	return !slices.ContainsFunc(c.OneOf, func(v string) bool { return slices.Contains(x.without, v) })
}

// span are the places that the matches of a query lie in: from <= idx < to.
type span struct{ from, to int64 }

// plan is how the records of a query are read: by the index on one column, or through all places of the span.
type plan struct {
	q       Query
	columns []Column
	// by is the column whose index is used, -1 for none; index is that index.
	by    int
	index columnIndex
	// others are columns whose indexes say of each place that was found whether it matches, so that the record itself is
	// read only where it does.
	others []int
	span   span
}

const (
	// maxMerged is how many values of a column are read side by side.
	maxMerged = 64
	// probed is how many entries of an index are looked at to see how many matches it has.
	probed = 256
	// dense is the share of records from which on an index saves nothing.
	dense = 0.5
)

// planQuery chooses the index whose newest matches (the oldest, where the oldest come first) reach farthest: the
// fewest records are read for a page then, whatever the other columns have.
func planQuery(ctx context.Context, tx *sql.Tx, q Query) (*plan, error) {
	p := &plan{q: q, by: -1}
	var err error
	if p.columns, err = q.listColumns(); err != nil {
		return nil, err
	}
	second, err := hasTimes(ctx, tx)
	if err != nil {
		return nil, err
	}
	if p.span, err = findSpan(ctx, tx, q, second); err != nil || p.span.from >= p.span.to {
		return p, err
	}
	indexes := columnIndexes()
	var usable []int
	for i, c := range p.columns {
		x, indexed := indexes[c.Name]
		if indexed && (second || slices.Contains(alwaysIndexed, c.Name)) && x.has(c) && len(c.OneOf) > 0 && len(c.OneOf) <= maxMerged {
			usable = append(usable, i)
		}
	}
	least := math.Inf(1)
	for _, i := range usable {
		c := p.columns[i]
		share := 0.0
		if len(usable) > 1 {
			if share, err = estimateShare(ctx, tx, c, indexes[c.Name], p.span, q.Newest); err != nil {
				return nil, err
			}
		}
		if share < least && share < dense {
			least, p.by, p.index = share, i, indexes[c.Name]
		}
	}
	for _, i := range usable {
		if p.by >= 0 && i != p.by && p.columns[i].Name != "id" && p.columns[p.by].Name != "id" {
			p.others = append(p.others, i)
		}
	}
	return p, nil
}

// hasTimes reports whether the file has what version 2 of the schema brought.
func hasTimes(ctx context.Context, tx *sql.Tx) (bool, error) {
	var n int
	err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'ledger_times' AND type = 'table'`).Scan(&n)
	return n > 0, err
}

// findSpan finds the places that a query's time and AfterIndex leave.
func findSpan(ctx context.Context, tx *sql.Tx, q Query, times bool) (s span, err error) {
	if err := tx.QueryRowContext(ctx, `SELECT ifnull(min(idx), 0) FROM ledger_records`).Scan(&s.from); err != nil {
		return s, err
	}
	if err := tx.QueryRowContext(ctx, sqlCount).Scan(&s.to); err != nil {
		return s, err
	}
	if q.AfterIndex != nil && q.Newest {
		s.to = min(s.to, *q.AfterIndex)
	} else if q.AfterIndex != nil && *q.AfterIndex < math.MaxInt64 {
		s.from = max(s.from, *q.AfterIndex+1)
	}
	if !times {
		return s, nil
	}
	if !q.Since.IsZero() {
		var from int64
		row := tx.QueryRowContext(ctx, `SELECT ifnull(min(start), ?) FROM ledger_times WHERE newest >= ?`, s.to, q.Since.UnixNano())
		if err := row.Scan(&from); err != nil {
			return s, err
		}
		s.from = max(s.from, from)
	}
	if !q.Until.IsZero() {
		var to int64
		row := tx.QueryRowContext(ctx, `SELECT ifnull(max(start) + ?, 0) FROM ledger_times WHERE oldest < ?`, timesBlock, q.Until.UnixNano())
		if err := row.Scan(&to); err != nil {
			return s, err
		}
		s.to = min(s.to, to)
	}
	return s, nil
}

// estimateShare estimates which share of the records, near the end where the reading begins, has a column's values.
func estimateShare(ctx context.Context, tx *sql.Tx, c Column, x columnIndex, s span, newest bool) (share float64, err error) {
	inner := "SELECT idx FROM ledger_records WHERE " + c.Name + " = ? AND idx >= ? AND idx < ?"
	if x.only != "" {
		inner += " AND " + x.only
	}
	inner += " ORDER BY idx"
	if newest {
		inner += " DESC"
	}
	query := "SELECT count(*), ifnull(min(idx), 0), ifnull(max(idx), 0) FROM (" + inner + " LIMIT ?)"
	for _, v := range c.OneOf {
		var n, low, high int64
		if err := tx.QueryRowContext(ctx, query, v, s.from, s.to, probed).Scan(&n, &low, &high); err != nil {
			return 0, err
		}
		places := s.to - s.from
		switch {
		case n < probed:
		case newest:
			places = s.to - low
		default:
			places = high + 1 - s.from
		}
		share += float64(n) / float64(places)
	}
	return share, nil
}

// read reads the records.
func (p *plan) read(ctx context.Context, tx *sql.Tx) ([]Record, error) {
	out := []Record{}
	if p.span.from >= p.span.to {
		return out, nil
	}
	values := []string{""}
	if p.by >= 0 {
		values = slices.Compact(slices.Sorted(slices.Values(p.columns[p.by].OneOf)))
	}
	m := merger{newest: p.q.Newest}
	defer m.close() //nolint:errcheck // it was only read
	for _, v := range values {
		if err := m.open(ctx, tx, p.format(v)); err != nil {
			return nil, err
		}
	}
	for len(out) < p.q.Limit {
		rec, ok, err := m.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		out = append(out, rec)
	}
	return out, m.close()
}

// statement is a query with its arguments.
type statement struct {
	text string
	args []any
}

// format writes the SQL for one value of the column whose index is used.
func (p *plan) format(value string) statement {
	order := " ORDER BY idx"
	if p.q.Newest {
		order += " DESC"
	}
	places, rest := p.formatPlaces(value, order), p.formatRest()
	if places.text == "" {
		return statement{"SELECT " + sqlColumns + " FROM ledger_records" + rest.format() + order + " LIMIT ?", append(rest.args, p.q.Limit)}
	}
	// SQLite runs the left side of a cross join as the outer loop, so the records come in the order of the places.
	text := "SELECT " + sqlColumns + " FROM (" + places.text + ") AS found CROSS JOIN ledger_records ON ledger_records.idx = found.place"
	return statement{text + rest.format() + " LIMIT ?", slices.Concat(places.args, rest.args, []any{p.q.Limit})}
}

// formatRest writes what is asked of each record that is read.
func (p *plan) formatRest() (c condition) {
	for i, of := range p.columns {
		if i != p.by && !slices.Contains(p.others, i) {
			c.addColumn(of, "+")
		}
	}
	if p.by < 0 {
		c.add("idx >= ?", p.span.from)
		c.add("idx < ?", p.span.to)
	}
	c.addRest(p.q)
	return c
}

// formatPlaces writes the query of the places that the index of the plan has, as far as the other indexes have them
// too. It reads no record. It is empty for a plan without an index.
func (p *plan) formatPlaces(value, order string) statement {
	if p.by < 0 {
		return statement{}
	}
	var c condition
	c.add(p.columns[p.by].Name+" = ?", value)
	if p.index.only != "" {
		c.add(p.index.only)
	}
	c.add("idx >= ?", p.span.from)
	c.add("idx < ?", p.span.to)
	indexes := columnIndexes()
	for _, i := range p.others {
		of := p.columns[i]
		var other condition
		other.addColumn(of, "")
		if only := indexes[of.Name].only; only != "" {
			other.add(only)
		}
		other.add("other.idx = ledger_records.idx")
		c.add("EXISTS (SELECT 1 FROM ledger_records AS other INDEXED BY ledger_records_"+of.Name+other.format()+")", other.args...)
	}
	// The bound that is none keeps SQLite from joining the two queries into one, which would read the records first.
	return statement{"SELECT idx AS place FROM ledger_records" + c.format() + order + " LIMIT -1", c.args}
}

// merger steps through the answers of several queries in the order of places.
type merger struct {
	newest bool
	opened []*answer
}

// answer is what one query gives next.
type answer struct {
	rows  *sql.Rows
	rec   Record
	begun bool
}

// errOrder is returned where the database gives records in another order than it was asked for.
var errOrder = errors.New("the database gives records out of their order")

func (m *merger) open(ctx context.Context, tx *sql.Tx, s statement) error {
	rows, err := tx.QueryContext(ctx, s.text, s.args...)
	if err != nil {
		return err
	}
	a := &answer{rows: rows}
	m.opened = append(m.opened, a)
	return m.step(a)
}

// step reads the next record of an answer, which leaves the merger at its end.
func (m *merger) step(a *answer) error {
	if a.rows.Next() {
		last := a.rec.Index
		a.rec = Record{}
		if err := scanRecord(a.rows, &a.rec); err != nil {
			return err
		}
		if a.begun && a.rec.Index < last != m.newest {
			return errOrder
		}
		a.begun = true
		return nil
	}
	m.opened = slices.DeleteFunc(m.opened, func(other *answer) bool { return other == a })
	return errors.Join(a.rows.Err(), a.rows.Close())
}

// next returns the next record of all.
func (m *merger) next() (rec Record, ok bool, err error) {
	if len(m.opened) == 0 {
		return rec, false, nil
	}
	first := m.opened[0]
	for _, a := range m.opened[1:] {
		if a.rec.Index < first.rec.Index != m.newest {
			first = a
		}
	}
	rec = first.rec
	return rec, true, m.step(first)
}

func (m *merger) close() error {
	var errs []error
	for _, a := range m.opened {
		errs = append(errs, a.rows.Close())
	}
	m.opened = nil
	return errors.Join(errs...)
}

// listValues lists the values in the index of one file.
func (p part) listValues(ctx context.Context, column, only string, most int) (list []string, complete bool, err error) {
	err = p.r.Snapshot(ctx, func(tx *sql.Tx) error {
		second, err := hasTimes(ctx, tx)
		if err != nil || !second && !slices.Contains(alwaysIndexed, column) {
			return err
		}
		for last := ""; ; {
			var next sql.NullString
			query := "SELECT min(" + column + ") FROM ledger_records WHERE " + column + " > ? AND " + only
			if err := tx.QueryRowContext(ctx, query, last).Scan(&next); err != nil {
				return err
			}
			if !next.Valid {
				complete = true
				return nil
			}
			if len(list) == most {
				return nil
			}
			list, last = append(list, next.String), next.String
		}
	})
	return list, complete, err
}

// timesRow is a row of ledger_times.
type timesRow struct{ start, oldest, newest int64 }

// addTime widens the last of the blocks, or adds another. base is the place of the ledger's first record.
func addTime(blocks []timesRow, index, base, ns int64) []timesRow {
	start := base + (index-base)/timesBlock*timesBlock
	if len(blocks) == 0 || blocks[len(blocks)-1].start != start {
		return append(blocks, timesRow{start, ns, ns})
	}
	last := &blocks[len(blocks)-1]
	last.oldest, last.newest = min(last.oldest, ns), max(last.newest, ns)
	return blocks
}
