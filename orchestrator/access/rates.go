package access

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxRates bounds how many principals have a rate of their own at a time. An issuer has many
// subjects: those who are at rest are forgotten first, the others share one rate.
const maxRates = 10_000

// rates counts each principal's requests.
type rates struct {
	usual Limits
	now   func() time.Time

	mu     sync.Mutex
	of     map[string]*principalRate
	shared *principalRate // of those for whom there is no room
}

// principalRate is the rate of one principal, with what it was made for.
type principalRate struct {
	*rate.Limiter
	limits Limits
}

// newRates counts by usual where a principal has no limits of its own.
func newRates(usual Limits, now func() time.Time) *rates {
	return &rates{usual: usual, now: now, of: map[string]*principalRate{}, shared: newRate(usual)}
}

// newRate returns a full rate.
func newRate(l Limits) *principalRate {
	return &principalRate{rate.NewLimiter(rate.Limit(float64(l.PerMinute)/60), l.Burst), l}
}

// resolve fills in what a principal's limits leave to the server.
func (r *rates) resolve(l Limits) Limits {
	if l.PerMinute <= 0 {
		l.PerMinute = r.usual.PerMinute
		if l.Burst <= 0 {
			l.Burst = r.usual.Burst
		}
	}
	if l.Burst <= 0 {
		l.Burst = l.PerMinute
	}
	return l
}

// spend takes one request of the principal's rate. wait is how long until there is room where
// there is none, left how many may come at once after this one.
func (r *rates) spend(p Principal) (l Limits, left int, wait time.Duration) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	l = r.resolve(p.Limits)
	own := r.of[p.ID]
	if own == nil || own.limits != l {
		own = r.addRate(p.ID, l, now)
	}
	res := own.ReserveN(now, 1)
	if wait = res.DelayFrom(now); wait > 0 {
		res.CancelAt(now)
		return own.limits, 0, wait
	}
	return own.limits, max(0, int(own.TokensAt(now))), 0
}

// addRate makes the principal's rate, or returns the shared one where there is no room. r.mu is held.
func (r *rates) addRate(id string, l Limits, now time.Time) *principalRate {
	if len(r.of) >= maxRates {
		for other, own := range r.of {
			if own.TokensAt(now) >= float64(own.limits.Burst) {
				delete(r.of, other)
			}
		}
	}
	if len(r.of) >= maxRates {
		return r.shared
	}
	r.of[id] = newRate(l)
	return r.of[id]
}
