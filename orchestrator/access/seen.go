package access

import (
	"context"
	"sync/atomic"
)

// Seen is who was found to call, for the log line of a request that began before that was known.
type Seen struct{ id atomic.Pointer[string] }

// ID is the principal's id, empty where no caller was let in.
func (s *Seen) ID() string {
	if id := s.id.Load(); id != nil {
		return *id
	}
	return ""
}

type seenKey struct{}

// Watch returns ctx with a Seen that a Guard below fills in.
func Watch(ctx context.Context) (context.Context, *Seen) {
	s := &Seen{}
	return context.WithValue(ctx, seenKey{}, s), s
}

// noteSeen fills in who calls.
func noteSeen(ctx context.Context, p Principal) {
	if s, ok := ctx.Value(seenKey{}).(*Seen); ok {
		s.id.Store(&p.ID)
	}
}
