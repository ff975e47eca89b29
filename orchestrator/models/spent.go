package models

import "sync/atomic"

// Spent is what questions to models came to. It is safe for concurrent use.
type Spent struct {
	tokens, cost atomic.Int64
	estimated    atomic.Bool
}

// Add counts more. Estimated says that a server did not tell.
func (s *Spent) Add(tokens, cost int64, estimated bool) {
	if s == nil {
		return
	}
	s.tokens.Add(tokens)
	s.cost.Add(cost)
	if estimated {
		s.estimated.Store(true)
	}
}

// Read returns the sums: tokens, money in millionths, and whether any of it is
// an estimate.
func (s *Spent) Read() (tokens, cost int64, estimated bool) {
	if s == nil {
		return 0, 0, false
	}
	return s.tokens.Load(), s.cost.Load(), s.estimated.Load()
}
