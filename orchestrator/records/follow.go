package records

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// FollowOptions say what Follow hands out.
type FollowOptions struct {
	// Chosen are the records; its Limit is how many of those that are there already come first, none
	// if zero.
	Chosen ListOptions
	// Every is how often the database is looked at. If zero, a quarter of a second.
	Every time.Duration
}

// defaultEvery is FollowOptions.Every where it is zero.
const defaultEvery = 250 * time.Millisecond

// Follow hands out the records that match as they are written, the oldest first, until ctx ends: then
// it returns nil. An error of show ends it and is returned.
func Follow(ctx context.Context, s Source, o FollowOptions, show func(Page) error) (err error) {
	r, err := s.openReader(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	defer func() {
		if ctx.Err() != nil { // its end is what broke the reading off
			err = nil
		}
	}()
	last, err := showNewest(ctx, r, o.Chosen, show)
	if err != nil {
		return s.AdviseOn(err)
	}
	every := o.Every
	if every <= 0 {
		every = defaultEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if last, err = showSince(ctx, r, o.Chosen, last, show); err != nil {
			return s.AdviseOn(err)
		}
	}
}

// showNewest shows the newest records that match, as many as are wanted, the oldest of them first. It
// returns the index of the newest record of all.
func showNewest(ctx context.Context, r *ledger.Reader, o ListOptions, show func(Page) error) (last int64, err error) {
	newest, err := r.List(ctx, ledger.Query{Newest: true, Limit: 1})
	if err != nil || len(newest) == 0 {
		return -1, err
	}
	last = newest[0].Index
	beyond := last + 1
	found, place := Page{}, &beyond
	for len(found) < o.Limit && place != nil {
		page, next, err := o.Query.ReadPage(ctx, r, place, min(pageSize, o.Limit-len(found)))
		if err != nil {
			return last, err
		}
		found, place = append(found, page...), next
	}
	slices.Reverse(found)
	return last, show(found)
}

// showSince shows the records that match and were written after the index. It returns the index of the
// last one that it looked at.
func showSince(ctx context.Context, r *ledger.Reader, o ListOptions, last int64, show func(Page) error) (int64, error) {
	for {
		page, err := r.List(ctx, ledger.Query{AfterIndex: &last, Limit: pageSize})
		if err != nil || len(page) == 0 {
			return last, err
		}
		chosen := Page{}
		for i := range page {
			if o.Query.Matches(&page[i]) {
				chosen = append(chosen, page[i])
			}
		}
		last = page[len(page)-1].Index
		if len(chosen) > 0 {
			if err := show(chosen); err != nil {
				return last, err
			}
		}
	}
}

// Count reads the records that the query chooses and counts them, with what reviewers said of them.
func Count(ctx context.Context, s Source, q query.Query) (*query.Statistics, error) {
	out := query.NewStatistics()
	if err := readLabels(ctx, s, out); err != nil {
		return nil, err
	}
	_, _, err := s.List(ctx, ListOptions{Query: q, Limit: math.MaxInt}, func(p Page) error {
		for i := range p {
			out.Add(&p[i])
		}
		return nil
	})
	out.SumUp()
	return out, err
}

// readLabels gives statistics what reviewers said.
func readLabels(ctx context.Context, s Source, into *query.Statistics) (err error) {
	r, err := store.OpenReader(ctx, s.Database)
	if err != nil {
		return s.AdviseOn(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return into.ReadLabels(ctx, r)
}

// Export writes the records that the query chooses, the oldest first, up to the newest of when it
// began, and returns how many. What was written before an error stands in the writer.
func Export(ctx context.Context, s Source, q query.Query, out query.Writer) (n int64, err error) {
	r, err := s.openReader(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close(), out.Flush()) }()
	newest, err := r.List(ctx, ledger.Query{Newest: true, Limit: 1})
	if err != nil || len(newest) == 0 {
		return 0, s.AdviseOn(err)
	}
	for place := (*int64)(nil); ; { // a busy server would never let it end without the bound
		page, next, err := q.ReadOldest(ctx, r, place, pageSize)
		if err != nil {
			return n, s.AdviseOn(err)
		}
		for i := range page {
			if page[i].Index > newest[0].Index {
				return n, nil
			}
			if err := out.Write(&page[i]); err != nil {
				return n, err
			}
			n++
		}
		if place = next; next == nil || *next >= newest[0].Index {
			return n, nil
		}
	}
}
