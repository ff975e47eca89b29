package eval

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// quietLog is a log that says the same thing once in a while. All cases of an outage
// say one thing, and the rows say which cases they were.
type quietLog struct {
	slog.Handler
	s *lastSaid
}

type lastSaid struct {
	mu    sync.Mutex
	every time.Duration
	last  map[string]time.Time
	left  map[string]int // out since
}

func newQuietLog(h slog.Handler, every time.Duration) *quietLog {
	return &quietLog{h, &lastSaid{every: every, last: map[string]time.Time{}, left: map[string]int{}}}
}

// degradedMark begins what the review says of a call that goes ahead without a
// judgement. In an eval none goes anywhere.
const degradedMark = "REVIEW DEGRADED"

// Handle leaves out what was said just now. Messages are the program's own, so
// there are few.
func (h *quietLog) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, degradedMark) {
		r.Message = "the review gave no judgement; in production the call would go ahead"
	}
	h.s.mu.Lock()
	last, known := h.s.last[r.Message]
	silent := known && r.Time.Sub(last) < h.s.every
	left := h.s.left[r.Message]
	if silent {
		h.s.left[r.Message]++
	} else {
		h.s.last[r.Message], h.s.left[r.Message] = r.Time, 0
	}
	h.s.mu.Unlock()
	if silent {
		return nil
	}
	if left > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("not_said_again", left))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs returns a handler that says the same thing once in a while too.
func (h *quietLog) WithAttrs(a []slog.Attr) slog.Handler {
	return &quietLog{h.Handler.WithAttrs(a), h.s}
}

// WithGroup returns a handler that says the same thing once in a while too.
func (h *quietLog) WithGroup(name string) slog.Handler {
	return &quietLog{h.Handler.WithGroup(name), h.s}
}
