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
	if !q.apart || q.canary {
		return by, m.lane.enter(ctx, q.user, by)
	}
	began := time.Now()
	err := m.lane.enter(ctx, q.user, began.Add(farOff))
	waited := time.Since(began)
	t.end, q.until, q.waited = t.end.Add(waited), q.until.Add(waited), q.waited+waited
	return t.patience(), err
}

// Spent is what asking one model about a call came to. Cost is in millionths of
// the prices' currency.
type Spent struct {
	Model               string
	Requests            int
	TokensIn, TokensOut int64
	Cost                int64
}

// share counts a request for its model.
func (q *inquiry) share(e RequestEvent) {
	if !e.Sent {
		return
	}
	s := Spent{e.Model, 1, int64(e.TokensIn), int64(e.TokensOut), e.Cost}
	for i := range q.by {
		if b := &q.by[i]; b.Model == s.Model {
			b.Requests, b.TokensIn, b.TokensOut, b.Cost = b.Requests+1, b.TokensIn+s.TokensIn, b.TokensOut+s.TokensOut, b.Cost+s.Cost
			return
		}
	}
	q.by = append(q.by, s)
}

// detail notes what only a measured review has: by model what was spent, where it
// was more than one, and how long the call waited for its turn.
func (q *inquiry) detail(meta map[string]string) {
	if q.apart && len(q.by) > 1 {
		words := make([]string, len(q.by))
		for i, s := range q.by {
			words[i] = fmt.Sprintf("%s=%d/%d/%d/%d", s.Model, s.Requests, s.TokensIn, s.TokensOut, s.Cost)
		}
		meta["spent"] = strings.Join(words, " ")
	}
	if q.waited >= time.Millisecond {
		meta["waited_us"] = strconv.FormatInt(q.waited.Microseconds(), 10)
	}
}

// ParseSpent reads what a verdict's Meta says under "spent". What is no such word
// is left out.
func ParseSpent(meta string) []Spent {
	var out []Spent
	for _, word := range strings.Fields(meta) {
		name, numbers, _ := strings.Cut(word, "=")
		parts := strings.Split(numbers, "/")
		var n [4]int64
		ok := name != "" && len(parts) == len(n)
		for i := 0; ok && i < len(n); i++ {
			v, err := strconv.ParseInt(parts[i], 10, 64)
			n[i], ok = v, err == nil && v >= 0
		}
		if ok {
			out = append(out, Spent{name, int(n[0]), n[1], n[2], n[3]})
		}
	}
	return out
}
