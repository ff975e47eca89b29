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
func (q Query) ReadPage(ctx context.Context, r *ledger.Reader, after *int64, most int) (page []ledger.Record, next *int64, err error) {
	columns := q.narrow()
	columns.Newest, columns.AfterIndex = true, after
	return q.readPage(ctx, r, columns, most)
}

// ReadOldest is ReadPage from the oldest record on.
func (q Query) ReadOldest(ctx context.Context, r *ledger.Reader, after *int64, most int) (page []ledger.Record, next *int64, err error) {
	columns := q.narrow()
	columns.AfterIndex = after
	return q.readPage(ctx, r, columns, most)
}

// readPage reads once and leaves out what the columns could not.
func (q Query) readPage(
	ctx context.Context, r *ledger.Reader, columns ledger.Query, most int,
) (page []ledger.Record, next *int64, err error) {
	most = min(max(most, 1), pageSize)
	columns.Limit = pageSize
	if len(q.terms) == 0 {
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

// narrow returns what the ledger's columns can choose: every record that q matches, and others.
func (q Query) narrow() (out ledger.Query) {
	into := map[string]*string{
		"id": &out.ID, "kind": &out.Kind, "call": &out.Call, "decision": &out.Decision, "conversation": &out.Conversation,
		"user": &out.User, "agent": &out.Agent, "skill": &out.Skill, "outcome": &out.Outcome, "gate": &out.Gate, "code": &out.Code,
	}
	for _, t := range q.terms {
		switch column := into[t.key]; {
		case t.key == "since" && t.moment.After(out.Since):
			out.Since = t.moment
		case t.key == "until" && (out.Until.IsZero() || t.moment.Before(out.Until)):
			out.Until = t.moment
		case column != nil && *column == "" && !t.not && len(t.values) == 1 && len(t.values[0]) == 1:
			*column = t.values[0][0]
		}
	}
	return out
}
