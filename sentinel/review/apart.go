package review

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// farOff is later than any wait for a turn ends: while measuring, the caller's
// own context is the bound.
const farOff = 365 * 24 * time.Hour

// enter waits for the model's lane and returns until when the request may wait
// for room in a budget. A gate that measures waits as long as it takes and gives
// the time back to the turn and to the review: how many cases are measured at a
// time says nothing of a call. Canaries have no such time.
func (m *model) enter(ctx context.Context, q *inquiry, t *turn) (time.Time, error) {
	by := t.patience()
	switch {
	case q.urgent:
		return by, nil
	case !q.apart || q.canary:
		return by, m.lane.enter(ctx, q.user, by)
	}
	began := time.Now()
	err := m.lane.enter(ctx, q.user, began.Add(farOff))
	waited := time.Since(began)
	t.end, q.until, q.waited = t.end.Add(waited), q.until.Add(waited), q.waited+waited
	return t.patience(), err
}

// spent is what asking one model about a call came to. The cost is in millionths
// of the prices' currency.
type spent struct {
	model             string
	requests, in, out int
	cost              int64
}

// share counts a request for its model.
func (q *inquiry) share(e RequestEvent) {
	if !e.Sent {
		return
	}
	for i := range q.by {
		if b := &q.by[i]; b.model == e.Model {
			*b = spent{b.model, b.requests + 1, b.in + e.TokensIn, b.out + e.TokensOut, b.cost + e.Cost}
			return
		}
	}
	q.by = append(q.by, spent{e.Model, 1, e.TokensIn, e.TokensOut, e.Cost})
}

// detail notes what only a measured review has: by model what was spent, where it
// was more than one ("fast=REQUESTS/TOKENS IN/TOKENS OUT/COST strong=…"), and how
// long the call waited for its turn.
func (q *inquiry) detail(meta map[string]string) {
	if q.apart && len(q.by) > 1 {
		words := make([]string, len(q.by))
		for i, s := range q.by {
			words[i] = fmt.Sprintf("%s=%d/%d/%d/%d", s.model, s.requests, s.in, s.out, s.cost)
		}
		meta["spent"] = strings.Join(words, " ")
	}
	if q.waited >= time.Millisecond {
		meta["waited_us"] = strconv.FormatInt(q.waited.Microseconds(), 10)
	}
}
