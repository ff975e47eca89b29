package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/limits"
)

const (
	// patience is after how many failures in a row calls stop trying: one can
	// be a connection that the server closed.
	patience = 3
	// quiet is the least time between two log lines about going away, for a
	// server that answers every other call.
	quiet = time.Second
)

// Event says that the server went away or came back.
type Event struct {
	// Away is true when it went away.
	Away bool
	// Cause is why it is away: "timeout", "connection", or the server's word.
	Cause string
	// For is, when it came back, how long it was away.
	For time.Duration
}

// Stats counts the calls that the server didn't answer.
type Stats struct {
	// Away says that the last call that tried could not be answered; Since is
	// when the first of its row failed.
	Away  bool
	Since time.Time
	// Failures are calls that tried; Skipped are calls that did not, because
	// the server had just been away.
	Failures, Skipped uint64
}

// health knows whether the server is there.
type health struct {
	retry   time.Duration
	address string
	log     *slog.Logger
	observe func(Event)

	mu     sync.Mutex
	row    int       // failures in a row
	next   time.Time // when a call may try again, once patience is at an end
	stats  Stats
	told   time.Time // of the last log line about going away
	logged bool      // this absence was logged
}

// enter lets a call try, or answers in the server's place.
func (h *health) enter(now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.row < patience {
		return nil
	}
	if now.Before(h.next) {
		h.stats.Skipped++
		return fmt.Errorf("%w since %s", limits.ErrAway, h.stats.Since.UTC().Format(time.RFC3339))
	}
	h.next = now.Add(h.retry) // the others wait for this one's word
	return nil
}

// leave learns from a call that tried. A caller that gave up says nothing
// about the server; a refusal says that it is there.
func (h *health) leave(now time.Time, err error) {
	var gone *away
	switch {
	case errors.As(err, &gone):
		h.failed(now, gone.cause)
	case err == nil || errors.Is(err, limits.ErrFull) || errors.As(err, new(*refusal)):
		h.answered(now)
	}
}

func (h *health) failed(now time.Time, cause string) {
	h.mu.Lock()
	h.stats.Failures++
	h.row++
	h.next = now.Add(h.retry)
	first := !h.stats.Away
	if first {
		h.stats.Away, h.stats.Since = true, now
	}
	tell := !h.logged && (h.told.IsZero() || now.Sub(h.told) >= quiet)
	if tell {
		h.logged, h.told = true, now
	}
	h.mu.Unlock()
	if tell {
		h.log.Error("LIMITS AWAY: the Redis server that counts can't be asked; what happens to calls is limits.store.when_away",
			"address", h.address, "cause", cause)
	}
	if first {
		h.tell(Event{Away: true, Cause: cause})
	}
}

func (h *health) answered(now time.Time) {
	h.mu.Lock()
	h.row = 0
	back, tell := h.stats.Away, h.logged
	gone := now.Sub(h.stats.Since)
	h.stats.Away, h.stats.Since, h.logged = false, time.Time{}, false
	failures, skipped := h.stats.Failures, h.stats.Skipped
	h.mu.Unlock()
	if back && tell {
		h.log.Warn("the Redis server that counts the limits is back", "address", h.address, "away_for", gone,
			"failures_so_far", failures, "skipped_so_far", skipped)
	}
	if back {
		h.tell(Event{For: gone})
	}
}

func (h *health) tell(e Event) {
	if h.observe == nil {
		return
	}
	defer func() {
		if recover() != nil {
			h.log.Error("the observer of the limits' store panicked")
		}
	}()
	h.observe(e)
}

func (h *health) read() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stats
}
