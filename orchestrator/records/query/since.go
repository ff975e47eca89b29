package query

import (
	"context"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// ReadSince reads at most 1,000 records that were written after the one in place last, the oldest first, and returns
// those that match with the place of the last that was read. Where the place stays, there are no more.
func (q Query) ReadSince(ctx context.Context, r *ledger.Reader, last int64) (page []ledger.Record, now int64, err error) {
	read, err := r.List(ctx, ledger.Query{AfterIndex: &last, Limit: pageSize})
	if err != nil || len(read) == 0 {
		return nil, last, err
	}
	for i := range read {
		if q.Matches(&read[i]) {
			page = append(page, read[i])
		}
	}
	return page, read[len(read)-1].Index, nil
}
