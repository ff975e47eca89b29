package redisstore

import (
	"context"
	_ "embed"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/vedette-dev/vedette/limits"
)

//go:embed breaker.lua
var breakerSource string

var breakerScript = redis.NewScript(breakerSource)

// Admit implements limits.Store.
func (s *Store) Admit(ctx context.Context, key, callID string, rule limits.Rule) (limits.Admission, error) {
	got, err := s.runBreakerScript(ctx, "admit", 3, key, callID, rule)
	if err != nil {
		return limits.Admission{}, err
	}
	return limits.Admission{OK: got[0] == 1, Probe: got[1] == 1, RetryAfter: fromMicroseconds(got[2])}, nil
}

// Settle implements limits.Store.
func (s *Store) Settle(ctx context.Context, key, callID string, outcome limits.Outcome, rule limits.Rule) error {
	if err := limits.CheckOutcome(outcome); err != nil {
		return err
	}
	_, err := s.runBreakerScript(ctx, strconv.Itoa(int(outcome)), 1, key, callID, rule)
	return err
}

// State implements limits.Store.
func (s *Store) State(ctx context.Context, key string, rule limits.Rule) (limits.State, error) {
	got, err := s.runBreakerScript(ctx, "state", 1, key, "-", rule)
	if err != nil {
		return 0, err
	}
	return limits.State(got[0]), nil
}

// runBreakerScript asks a question about one breaker and returns the answer's n
// numbers.
func (s *Store) runBreakerScript(ctx context.Context, question string, n int, key, callID string, rule limits.Rule) ([]int64, error) {
	if err := limits.CheckBreaker(key, callID, rule); err != nil {
		return nil, err
	}
	keys := []string{s.prefix + ":s:{" + key + "}", s.prefix + ":f:{" + key + "}"}
	return s.runScript(ctx, breakerScript, n, keys, question, callID, rule.Failures, toMicroseconds(rule.Window), toMicroseconds(rule.OpenFor),
		s.idle.Milliseconds(), slack.Milliseconds())
}
