package review

import (
	"maps"
	"time"
)

const (
	// floodFrom requests of one user within a window are a flood, if they are most of
	// all.
	floodFrom = 4
	// maxShares bounds the users that are told apart.
	maxShares = 4096
)

// shares are how many requests each user has had with a server lately. A limit
// that the server names says nothing against it where one user has used it up:
// that user, or a stranger whose text its agents read, would decide that all
// others' reads go on unjudged. The zero value has no window: set one.
type shares struct {
	window      time.Duration
	now, before share
	since       time.Time // when now began
	// limited is set from the first request that the server refuses for a limit to the next that
	// it answers. blamed says that a flood brought that about.
	limited, blamed bool
}

// share is what was counted within a half of the window.
type share struct {
	all    int
	byUser map[string]int
}

// add counts a request that the server didn't refuse for a limit.
func (s *shares) add(user string, now time.Time) {
	s.rollWindow(now)
	if s.now.byUser == nil {
		s.now.byUser = map[string]int{}
	}
	s.now.all++
	if n, known := s.now.byUser[user]; known || len(s.now.byUser) < maxShares {
		s.now.byUser[user] = n + 1
	}
}

// noteAnswer notes that the server names no limit any more.
func (s *shares) noteAnswer() { s.limited, s.blamed = false, false }

// isFlooded reports whether the limit that the server names now is one user's
// doing. The answer stays until the server answers a request: a flood that has
// ended may be why the limit lasts.
func (s *shares) isFlooded(now time.Time) bool {
	if s.limited {
		return s.blamed
	}
	s.rollWindow(now)
	s.limited, s.blamed = true, false
	sums := maps.Clone(s.now.byUser)
	if sums == nil {
		sums = map[string]int{}
	}
	for user, n := range s.before.byUser {
		sums[user] += n
	}
	delete(sums, canaryUser)
	for _, n := range sums {
		if n >= floodFrom && 2*n > s.now.all+s.before.all {
			s.blamed = true
		}
	}
	return s.blamed
}

// rollWindow forgets what is older than the window, a half of it at a time.
func (s *shares) rollWindow(now time.Time) {
	switch past := now.Sub(s.since); {
	case past >= s.window:
		s.now, s.before, s.since = share{}, share{}, now
	case past >= s.window/2:
		s.now, s.before, s.since = share{}, s.now, now
	}
}
