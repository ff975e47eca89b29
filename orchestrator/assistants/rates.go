package assistants

import (
	"sync"
	"time"
)

const (
	defaultWindow = time.Hour
	maxWindows    = 10_000 // users whose requests are counted at a time
)

// rates count the requests of users to assistants, in memory. They estimate a sliding window from two
// fixed ones.
type rates struct {
	now func() time.Time

	mu sync.Mutex
	of map[string]window
}

// window is how many requests came since its beginning, and in the window before.
type window struct {
	begun         time.Time
	long          time.Duration
	count, before float64
}

// take counts a request. Where it is one too many it returns how long to wait.
func (r *rates) take(key string, most int, long time.Duration) (wait time.Duration) {
	if most == 0 {
		return 0
	}
	if long == 0 {
		long = defaultWindow
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	w, known := r.of[key]
	if !known && len(r.of) >= maxWindows {
		r.dropOld(now)
	}
	switch age := now.Sub(w.begun); {
	case !known || w.long != long || age >= 2*long:
		w = window{begun: now, long: long}
	case age >= long:
		w = window{begun: w.begun.Add(long), long: long, before: w.count}
	}
	rest := long - now.Sub(w.begun)
	if w.count+w.before*float64(rest)/float64(long) >= float64(most) {
		r.of[key] = w
		return max(rest, time.Second)
	}
	w.count++
	r.of[key] = w
	return 0
}

// dropOld drops windows that count no more; all where that makes no room.
func (r *rates) dropOld(now time.Time) {
	for key, w := range r.of {
		if now.Sub(w.begun) >= 2*w.long {
			delete(r.of, key)
		}
	}
	for key := range r.of {
		if len(r.of) < maxWindows {
			return
		}
		delete(r.of, key)
	}
}
