package intake

import (
	"math"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel/intent"
)

// Rate is how many requests may come.
type Rate struct {
	// PerMinute is how many a minute; zero bounds nothing. Burst is how many of them at once; zero is PerMinute.
	PerMinute, Burst int
}

// maxRates bounds how many users have a rate of their own at a time. Those at rest are forgotten first, the others share one.
const maxRates = 10_000

// rateKey is whose requests of which risk are counted. The shared one has no user.
type rateKey struct {
	user string
	risk intent.Risk
}

// bucket is what is left of a rate, in requests.
type bucket struct {
	left float64
	at   time.Time
}

// rates count each user's requests by the risk of their actions, for this process.
type rates struct {
	by map[intent.Risk]Rate

	mu sync.Mutex
	of map[rateKey]*bucket
}

func newRates(by map[intent.Risk]Rate) *rates { return &rates{by: by, of: map[rateKey]*bucket{}} }

// take takes one request of a user's rate. wait is how long until there is room where there is none.
func (r *rates) take(user string, risk intent.Risk, now time.Time) (wait time.Duration) {
	rate := r.by[risk]
	if rate.PerMinute <= 0 {
		return 0
	}
	most, perSecond := float64(rate.Burst), float64(rate.PerMinute)/60
	if rate.Burst <= 0 {
		most = float64(rate.PerMinute)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.find(rateKey{user, risk}, most, now)
	if passed := now.Sub(b.at); passed > 0 { // a clock that was set back gives nothing
		b.left = math.Min(most, b.left+passed.Seconds()*perSecond)
	}
	b.at = now
	if b.left >= 1 {
		b.left--
		return 0
	}
	return time.Duration((1 - b.left) / perSecond * float64(time.Second))
}

// find returns a bucket; the shared one where there is no room for another. r.mu is held.
func (r *rates) find(key rateKey, most float64, now time.Time) *bucket {
	if b := r.of[key]; b != nil {
		return b
	}
	if len(r.of) >= maxRates {
		for other, b := range r.of {
			if now.Sub(b.at) >= time.Minute*time.Duration(math.Ceil(most)) { // it is full again: a rate has one a minute at least
				delete(r.of, other)
			}
		}
		if key.user != "" && len(r.of) >= maxRates {
			return r.find(rateKey{risk: key.risk}, most, now)
		}
	}
	b := &bucket{most, now}
	r.of[key] = b
	return b
}
