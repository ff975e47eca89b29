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
	// maxFailuresInRow is after how many failures in a row calls stop trying. One
	// failure can be a connection that the server closed.
	maxFailuresInRow = 3
	// minLogInterval is the least time between two log lines about going away. A
	// server that answers every other call needs it.
	minLogInterval = time.Second
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
	// Away says that the last call that tried had no answer. Since is when the
	// first of its row failed.
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

	mu            sync.Mutex
	failuresInRow int       // failures in a row
	next          time.Time // when a call may try again, once patience is at an end
	stats         Stats
	loggedAt      time.Time // of the last log line about going away
	absenceLogged bool      // this absence was logged
}

// allowAttempt lets a call try, or answers in the server's place.
func (h *health) allowAttempt(now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failuresInRow < maxFailuresInRow {
		return nil
	}
	if now.Before(h.next) {
		h.stats.Skipped++
		return fmt.Errorf("%w since %s", limits.ErrAway, h.stats.Since.UTC().Format(time.RFC3339))
	}
	h.next = now.Add(h.retry) // the others wait for this one's word
	return nil
}

// learnFromResult learns from a call that tried. A caller that gave up says
// nothing about the server; a refusal says that it is there.
func (h *health) learnFromResult(now time.Time, err error) {
	var gone *awayError
	switch {
	case errors.As(err, &gone):
		h.onFailure(now, gone.cause)
	case err == nil || errors.Is(err, limits.ErrFull) || errors.As(err, new(*refusalError)):
		h.onAnswer(now)
	}
}

// onFailure counts a call without an answer, and logs the first of them.
func (h *health) onFailure(now time.Time, cause string) {
	h.mu.Lock()
	h.stats.Failures++
	h.failuresInRow++
	h.next = now.Add(h.retry)
	first := !h.stats.Away
	if first {
		h.stats.Away, h.stats.Since = true, now
	}
	tell := !h.absenceLogged && (h.loggedAt.IsZero() || now.Sub(h.loggedAt) >= minLogInterval)
	if tell {
		h.absenceLogged, h.loggedAt = true, now
	}
	h.mu.Unlock()
	if tell {
		h.log.Error("LIMITS AWAY: the Redis server that counts can't be asked; what happens to calls is limits.store.when_away",
			"address", h.address, "cause", cause)
	}
	if first {
		h.notifyObserver(Event{Away: true, Cause: cause})
	}
}

// onAnswer ends an absence, and logs its end if its beginning was logged.
func (h *health) onAnswer(now time.Time) {
	h.mu.Lock()
	h.failuresInRow = 0
	back, tell := h.stats.Away, h.absenceLogged
	gone := now.Sub(h.stats.Since)
	h.stats.Away, h.stats.Since, h.absenceLogged = false, time.Time{}, false
	failures, skipped := h.stats.Failures, h.stats.Skipped
	h.mu.Unlock()
	if back && tell {
		h.log.Warn("the Redis server that counts the limits is back", "address", h.address, "away_for", gone,
			"failures_so_far", failures, "skipped_so_far", skipped)
	}
	if back {
		h.notifyObserver(Event{For: gone})
	}
}

// notifyObserver passes e to Options.Observe and contains its panics.
func (h *health) notifyObserver(e Event) {
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

// currentStats returns the counts so far.
func (h *health) currentStats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stats
}
