package query

import (
	"strconv"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// Hour is what was decided within one hour.
type Hour struct {
	// Begin is when it began, in UTC.
	Begin time.Time
	OutcomeCounts
	Asked, Degraded int64
	// Checks are the times that all gates took together, Reviews those that the model took.
	Checks, Reviews Times
	// Tokens are what the model read and wrote, Cost what that came to in millionths of the prices' currency.
	Tokens, Cost int64
}

// Sum is how many decisions there were.
func (h *Hour) Sum() int64 { return h.sum() }

// Series counts decisions hour by hour. The zero Series has counted nothing.
type Series struct {
	hours map[int64]*Hour // by the hours since 1970
}

// Add counts one record. Records that are no decisions count in nothing.
func (s *Series) Add(r *ledger.Record) {
	if r.Kind != sentinel.RecordDecision && r.Kind != sentinel.RecordRefused {
		return
	}
	key := r.Time.Unix() / int64(time.Hour/time.Second)
	h := s.hours[key]
	if h == nil {
		if s.hours == nil {
			s.hours = map[int64]*Hour{}
		}
		h = &Hour{}
		s.hours[key] = h
	}
	b := openBody(r)
	h.add(r.Outcome)
	h.Asked += countIf(!b.AskedAt.IsZero())
	h.Degraded += countIf(b.Degraded)
	if b.ElapsedUS != nil {
		h.Checks.add(*b.ElapsedUS)
	}
	for _, g := range b.Gates {
		h.addReview(g)
	}
}

// addReview counts what a model did.
func (h *Hour) addReview(g gateBody) {
	if g.Gate != sentinel.GateReview || g.Meta["tokens_in"] == "" {
		return
	}
	h.Reviews.add(g.ElapsedUS)
	for key, into := range map[string]*int64{"tokens_in": &h.Tokens, "tokens_out": &h.Tokens, "cost": &h.Cost} {
		if n, err := strconv.ParseInt(g.Meta[key], 10, 64); err == nil && n > 0 {
			*into += n
		}
	}
}

// Hours returns n hours up to the one in which now lies, the oldest first, those too in which nothing was decided.
func (s *Series) Hours(now time.Time, n int) []Hour {
	last := now.Unix() / int64(time.Hour/time.Second)
	out := make([]Hour, n)
	for i := range out {
		key := last - int64(n-1-i)
		if h := s.hours[key]; h != nil {
			out[i] = *h
			out[i].Checks.sumUp()
			out[i].Reviews.sumUp()
		}
		out[i].Begin = time.Unix(key*int64(time.Hour/time.Second), 0).UTC()
	}
	return out
}

// Forget drops the hours before a time.
func (s *Series) Forget(before time.Time) {
	for key := range s.hours {
		if key < before.Unix()/int64(time.Hour/time.Second) {
			delete(s.hours, key)
		}
	}
}
