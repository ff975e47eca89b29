package limits

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// breaker is the state of one key; a key without one is closed.
type breaker struct {
	failures   []takenID     // closed: the failures that count, oldest first, at least one
	tripped    bool          // open or half-open
	openUntil  time.Duration // tripped: half-open from then on
	probe      string        // half-open: the call that was let through, or ""
	probeUntil time.Duration // another may be the probe from then on
}

// trip opens the breaker for rule.OpenFor.
func (b *breaker) trip(now time.Duration, rule Rule) {
	*b = breaker{tripped: true, openUntil: now + rule.OpenFor}
}

// stateAt returns the state at now; a nil breaker is closed.
func (b *breaker) stateAt(now time.Duration) State {
	switch {
	case b == nil || !b.tripped:
		return Closed
	case now < b.openUntil:
		return Open
	}
	return HalfOpen
}

// Admit implements Store.
func (m *Memory) Admit(ctx context.Context, key, callID string, rule Rule) (Admission, error) {
	if err := checkBreaker(ctx, key, callID, rule); err != nil {
		return Admission{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now, b := m.readClock(), m.breakers[key]
	switch b.stateAt(now) {
	case Closed:
		return Admission{OK: true}, nil
	case Open:
		return Admission{RetryAfter: b.openUntil - now}, nil
	}
	if b.probe != "" && b.probe != callID && now < b.probeUntil {
		return Admission{RetryAfter: b.probeUntil - now}, nil
	}
	if b.probe != callID {
		b.probe, b.probeUntil = callID, now+rule.OpenFor
	}
	return Admission{OK: true, Probe: true}, nil
}

// Settle implements Store. ErrFull: a first failure found MaxKeys breakers that
// are all in use.
func (m *Memory) Settle(ctx context.Context, key, callID string, outcome Outcome, rule Rule) error {
	if err := checkBreaker(ctx, key, callID, rule); err != nil {
		return err
	}
	if err := CheckOutcome(outcome); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now, b := m.readClock(), m.breakers[key]
	if b.stateAt(now) == Closed {
		if outcome != Failed {
			return nil
		}
		return m.countFailure(key, callID, now, rule)
	}
	if b.probe != callID {
		return nil
	}
	switch outcome {
	case Succeeded:
		delete(m.breakers, key)
	case Failed:
		b.trip(now, rule)
	case Abandoned:
		b.probe = ""
	}
	return nil
}

// State implements Store.
func (m *Memory) State(ctx context.Context, key string, rule Rule) (State, error) {
	if err := checkBreaker(ctx, key, "-", rule); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.breakers[key].stateAt(m.readClock()), nil
}

// countFailure adds a failure to a closed breaker and trips it when there are enough.
func (m *Memory) countFailure(key, callID string, now time.Duration, rule Rule) error {
	b := m.breakers[key]
	if b == nil {
		if len(m.breakers) >= m.maxKeys {
			m.dropIdleBreakers(now, rule)
		}
		if len(m.breakers) >= m.maxKeys {
			return fmt.Errorf("%w: %d breakers", ErrFull, len(m.breakers))
		}
		b = &breaker{}
		m.breakers[key] = b
	}
	b.failures = withinWindow(b.failures, now, rule.Window)
	if !slices.ContainsFunc(b.failures, func(e takenID) bool { return e.id == callID }) {
		b.failures = append(b.failures, takenID{at: now, id: callID})
	}
	if len(b.failures) >= rule.Failures {
		b.trip(now, rule)
	}
	return nil
}

// dropIdleBreakers removes breakers that are as good as none: closed, with no
// failure left in the window.
func (m *Memory) dropIdleBreakers(now time.Duration, rule Rule) {
	for key, b := range m.breakers {
		if !b.tripped && now-b.failures[len(b.failures)-1].at >= rule.Window {
			delete(m.breakers, key)
		}
	}
}

// checkBreaker is CheckBreaker for a context that may have ended.
func checkBreaker(ctx context.Context, key, callID string, rule Rule) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return CheckBreaker(key, callID, rule)
}
