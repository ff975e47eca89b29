package redisstore

import "time"

// WithClock returns s with a clock in the place of the server's, for the
// contract's tests: a test can't move a server's clock.
func WithClock(s *Store, now func() time.Time) *Store {
	c := *s
	c.clock = now
	return &c
}

// WithPrefix returns s with other keys.
func WithPrefix(s *Store, prefix string) *Store {
	c := *s
	c.prefix = prefix
	return &c
}
