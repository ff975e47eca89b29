package review

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
)

// inquiry is one review: who asks, how long, and what asking has cost.
type inquiry struct {
	user, conversation string
	turn               string
	prejudging         *expected // nil: the call's turn has come
	apart              bool      // it is measured

	began  time.Time
	until  time.Time // the end of the review
	left   int       // models whose turn may still come
	second bool      // it is for a second opinion now
	canary bool      // its verdict is known, and no budget pays for it
	urgent bool      // a canary that waits behind no call

	sent int
	in   int
	out  int
	cost int64
	// by is that by model; waited is the time of the waits that don't count.
	by     []spent
	waited time.Duration
	// repaired is what was wrong with an answer before one that could be used.
	repaired Failure
}

func (q *inquiry) countRequest(e RequestEvent) {
	if e.Sent {
		q.sent++
	}
	q.in += e.TokensIn
	q.out += e.TokensOut
	q.cost += e.Cost
	q.countByModel(e)
}

// spent is what asking one model about a call came to. The cost is in millionths
// of the prices' currency.
type spent struct {
	model             string
	requests, in, out int
	cost              int64
}

// countByModel counts a request for its model.
func (q *inquiry) countByModel(e RequestEvent) {
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

// noteDetail notes what only a measured review has: by model what was spent, where it
// was more than one ("fast=REQUESTS/TOKENS IN/TOKENS OUT/COST strong=…"), and how
// long the call waited for its turn.
func (q *inquiry) noteDetail(meta map[string]string) {
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

// stampCosts notes what asking has cost, and what it took.
func (q *inquiry) stampCosts(v sentinel.Verdict) sentinel.Verdict {
	v.Meta["attempts"] = strconv.Itoa(q.sent)
	v.Meta["tokens_in"], v.Meta["tokens_out"] = strconv.Itoa(q.in), strconv.Itoa(q.out)
	if q.cost > 0 {
		v.Meta["cost"] = strconv.FormatInt(q.cost, 10)
	}
	q.noteDetail(v.Meta)
	if q.repaired != "" {
		v.Meta["repaired"] = string(q.repaired)
	}
	return v
}

// nextTurn gives the next model an equal share of what is left of the review.
func (q *inquiry) nextTurn() turn {
	now := time.Now()
	share := max(q.until.Sub(now), 0) / time.Duration(max(q.left, 1))
	q.left--
	return turn{end: now.Add(share), fair: share / 2, user: q.user, turn: q.turn, prejudging: q.prejudging, canary: q.canary}
}
