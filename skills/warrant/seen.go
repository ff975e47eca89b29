package warrant

import (
	"context"
	"errors"
	"sync"
	"time"
)

// SeenOptions configures NewSeen.
type SeenOptions struct {
	// MaxIDs bounds how many ids are kept. If zero or less, 100,000.
	MaxIDs int
	// Now is the clock, the same as VerifyOptions.Now. If nil, time.Now.
	Now func() time.Time
}

// Seen remembers token ids in memory, for VerifyOptions.Seen. It suits a
// receiver that is one process; several need a shared store, and one that must
// refuse a token also after its own restart needs a durable one. It is safe for
// concurrent use.
type Seen struct {
	mu     sync.Mutex
	max    int
	now    func() time.Time
	latest time.Time // the clock never goes back, so no forgotten id is new again
	ids    map[string]time.Time
	swept  time.Time
}

// NewSeen returns an empty Seen.
func NewSeen(o SeenOptions) *Seen {
	if o.MaxIDs <= 0 {
		o.MaxIDs = 100_000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Seen{max: o.MaxIDs, now: o.Now, ids: map[string]time.Time{}}
}

// First says whether id is seen for the first time, and remembers it until exp.
// An id that has expired already is not remembered and not new. It returns an
// error when MaxIDs ids are live: refusing is the only answer that lets none
// through twice.
func (s *Seen) First(ctx context.Context, id string, exp time.Time) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); now.After(s.latest) {
		s.latest = now
	}
	if !s.latest.Before(exp) {
		return false, nil
	}
	if _, known := s.ids[id]; known {
		return false, nil
	}
	s.sweepExpired()
	if len(s.ids) >= s.max {
		return false, errors.New("too many live token ids; raise SeenOptions.MaxIDs or shorten the tokens' life")
	}
	s.ids[id] = exp
	return true, nil
}

// sweepExpired drops what has expired, at most once a second: a full set that was
// searched for every request would be a way to keep the receiver busy.
func (s *Seen) sweepExpired() {
	if s.latest.Sub(s.swept) < time.Second {
		return
	}
	s.swept = s.latest
	for id, exp := range s.ids {
		if !s.latest.Before(exp) {
			delete(s.ids, id)
		}
	}
}
