package query

import (
	"context"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// pageSize is how many records are read at a time.
const pageSize = 1000

// ReadPage reads at most so many records that match, 1 to 1,000, from the newest of a ledger on, or
// from the place that the page before returned. A page may be short, or empty, and not be the last:
// next is nil at the end. The error is the reader's.
func (q Query) ReadPage(ctx context.Context, r Reader, after *int64, most int) (page []ledger.Record, next *int64, err error) {
	return q.readPage(ctx, r, ledger.Query{Newest: true, AfterIndex: after}, most)
}

// ReadOldest is ReadPage from the oldest record on.
func (q Query) ReadOldest(ctx context.Context, r Reader, after *int64, most int) (page []ledger.Record, next *int64, err error) {
	return q.readPage(ctx, r, ledger.Query{AfterIndex: after}, most)
}

// Reader reads records: *ledger.Reader does.
type Reader interface {
	List(ctx context.Context, q ledger.Query) ([]ledger.Record, error)
	Values(ctx context.Context, column string, most int) (list []string, complete bool, err error)
}

// readPage reads once and leaves out what the columns could not.
func (q Query) readPage(ctx context.Context, r Reader, columns ledger.Query, most int) (page []ledger.Record, next *int64, err error) {
	exact, err := q.narrow(ctx, r, &columns)
	if err != nil {
		return nil, nil, err
	}
	most = min(max(most, 1), pageSize)
	columns.Limit = pageSize
	if exact {
		columns.Limit = most
	}
	read, err := r.List(ctx, columns)
	if err != nil {
		return nil, nil, err
	}
	for i := range read {
		if !q.Matches(&read[i]) {
			continue
		}
		if page = append(page, read[i]); len(page) == most {
			return page, &read[i].Index, nil
		}
	}
	if len(read) == columns.Limit {
		next = &read[len(read)-1].Index
	}
	return page, next, nil
}

// narrow adds what the ledger's columns can choose: every record that q matches, and others where it isn't exact.
func (q Query) narrow(ctx context.Context, r Reader, into *ledger.Query) (exact bool, err error) {
	exact = true
	for _, t := range q.terms {
		switch {
		case t.key == "since":
			if t.moment.After(into.Since) {
				into.Since = t.moment
			}
		case t.key == "until":
			if into.Until.IsZero() || t.moment.Before(into.Until) {
				into.Until = t.moment
			}
		case t.readColumn == nil || t.not:
			exact = false
		default:
			values, known, err := t.listValues(ctx, r)
			if err != nil {
				return false, err
			}
			if known {
				into.Columns = append(into.Columns, ledger.Column{Name: t.key, OneOf: values})
			}
			exact = exact && known
		}
	}
	return exact, nil
}

// mostValues is how many values of a column a pattern is compared with.
const mostValues = 500

// listValues lists the values of a column that a term allows. known is false where a star stands for too many.
func (t term) listValues(ctx context.Context, r Reader) (values []string, known bool, err error) {
	var all []string
	for _, p := range t.values {
		if len(p) == 1 {
			values = append(values, p[0])
			continue
		}
		if all == nil {
			if all, known, err = t.listColumn(ctx, r); err != nil || !known {
				return nil, false, err
			}
		}
		for _, v := range all {
			if p.matches(v) {
				values = append(values, v)
			}
		}
	}
	return values, len(values) <= mostValues, nil
}

// listColumn lists the values that records may have in a column, where those are few.
func (t term) listColumn(ctx context.Context, r Reader) (values []string, known bool, err error) {
	switch t.key {
	case "skill", "agent", "code", "gate", "outcome", "kind":
		return r.Values(ctx, t.key, mostValues)
	}
	return nil, false, nil
}
