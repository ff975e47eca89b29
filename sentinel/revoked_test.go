package sentinel_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// What a principal began stops when its access ends: before a decision, while a person is asked, and while the call
// waits for its skill.
func TestCallsEndWithTheirPrincipal(t *testing.T) {
	for name, tc := range map[string]struct {
		principal string
		when      string
		kinds     []string
	}{
		"before the call":            {"token:a", "before", []string{"decision"}},
		"while a person is asked":    {"token:a", "asked", []string{"held", "decision"}},
		"while it waits for others":  {"token:a", "queue", []string{"held", "decision", "outcome"}},
		"another's":                  {"token:b", "before", nil},
		"of the program's own calls": {"", "before", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var ended atomic.Bool
			end := func(when string) {
				if tc.when == when {
					ended.Store(true)
				}
			}
			b := newBench(t, func(o *sentinel.Options, _ *bench) {
				o.Ended = func(principal string) bool { return principal == "token:a" && ended.Load() }
				o.Approver = approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
					end("asked")
					return yesFrom("ann", "test"), nil
				})
				o.Queues = map[string]sentinel.Queue{"test.do": queue(func(context.Context, sentinel.Call) (func(), error) {
					end("queue")
					return func() {}, nil
				})}
			}, askingJudge())
			end("before")
			sc, err := skills.NewScope("test.*")
			require.NoError(t, err)
			req := "please do it"
			g, err := sentinel.NewGrant(sentinel.GrantOptions{
				ID: "g1", User: "u1", Conversation: "c1", Turn: "t1", Agent: "a1", Mission: "do it", Principal: tc.principal,
				MissionBy: sentinel.ByOrchestrator, Request: &req, Scope: sc,
			})
			require.NoError(t, err)
			_, err = b.Desk(g).Invoke(t.Context(), "test.do", nil)
			if tc.kinds == nil {
				require.NoError(t, err)
				return
			}
			no := refusalOf(t, err)
			require.Equal(t, sentinel.CodeRevoked, no.Code)
			require.Equal(t, skills.KindDeny, no.Kind)
			require.False(t, no.Retryable)
			require.Empty(t, b.runs())
			require.Equal(t, tc.kinds, b.rec.kinds())
			if tc.when == "queue" {
				require.Equal(t, sentinel.CodeWithdrawn, b.rec.records[2].Code)
			}
		})
	}
}
