package orchestrator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/review"
)

const sixHourly = many + ", canaries: {every: 6h}"

// read makes one read and returns the review's verdict of it as the ledger has
// it, and whether the skill ran.
func (h *house) read(t *testing.T, user string) (gateOnRecord, bool) {
	t.Helper()
	events, ran := len(h.events), h.ran["self.read"]
	_, _ = h.invoke(t, "self.read", user)
	call := h.events[events].Call.ID()
	list := h.list(ledger.Query{Call: call, Kind: sentinel.RecordDecision})
	require.Len(t, list, 1)
	var b onRecord
	require.NoError(t, json.Unmarshal(list[0].Body, &b))
	return ofReview(b.Gates), h.ran["self.read"] > ran
}

// passed waits for the canaries at the start.
func (h *house) passed() {
	await(func() bool { return h.Parts().Review.State().Models[0].Canary != "" })
}

// A call that makes the model's server fail is held for a person, in whatever
// conversation and of whatever user, while canaries are answered: nothing of it
// goes ahead unjudged.
func TestProvokedFailureThroughTheCheckpoint(t *testing.T) {
	for _, fault := range []scripted.Fault{scripted.ServerError, scripted.RateLimited, scripted.QuotaSpent, scripted.ResetMidBody} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			h := build(t, offices()[0], fall{more: sixHourly})
			h.passed()
			stop := h.server.FaultWhen(func(r scripted.Received) bool { return strings.Contains(string(r.Body), canary) }, fault)
			defer stop()
			for i := range 12 {
				v, ran := h.read(t, []string{"mallory", "mallory", "eve"}[i%3])
				require.False(t, ran)
				require.Equal(t, []string{"ask", review.CodeUnjudgeable}, []string{v.Outcome, v.Code}, fmt.Sprint(i, v.Meta))
				require.Contains(t, v.Meta["failure"], "lone_")
			}
			require.NotContains(t, h.log.String(), "REVIEW DEGRADED")
			require.Len(t, h.held, 12)
		})
	}
}

// A server that fails over its canary too has an outage, also where one user is
// at work alone: reads go on, marked, and a person is asked until that is known.
func TestOutageOfOneUserThroughTheCheckpoint(t *testing.T) {
	for _, fault := range []scripted.Fault{scripted.ServerError, scripted.ResetMidBody} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			h := build(t, offices()[0], fall{more: sixHourly})
			h.passed()
			stop := h.server.FaultWhen(nil, fault)
			defer stop()
			v, ran := h.read(t, "ann")
			require.False(t, ran)
			require.Equal(t, review.CodeUnjudgeable, v.Code)
			for v.Code != review.CodeDegraded { // until a canary has met it
				require.False(t, ran)
				v, ran = h.read(t, "ann")
			}
			require.True(t, ran)
			require.True(t, v.Degraded)
			require.Contains(t, h.log.String(), "REVIEW DEGRADED")
		})
	}
}
