package otp

import "time"

// intensity grants limit restarts in any window of period; now-then <= period counts.
type intensity struct {
	limit  int
	period time.Duration
	times  []time.Time
}

// newIntensity returns an intensity with the defaults for zero and negative options.
func newIntensity(limit int, period time.Duration) intensity {
	switch {
	case limit == 0:
		limit = defaultMaxRestarts
	case limit < 0:
		limit = 0
	}
	if period <= 0 {
		period = defaultPeriod
	}
	return intensity{limit: limit, period: period}
}

// grantRestart enters one restart and reports whether it is still granted. Where the
// clock was set back, earlier restarts count as of now: they neither vanish nor stay for
// longer than a period.
func (in *intensity) grantRestart(now time.Time) bool {
	kept := in.times[:0]
	for _, t := range in.times {
		if t.After(now) {
			t = now
		}
		if now.Sub(t) <= in.period {
			kept = append(kept, t)
		}
	}
	kept = append(kept, now)
	in.times = kept
	return len(in.times) <= in.limit
}
