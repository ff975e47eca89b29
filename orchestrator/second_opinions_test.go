package orchestrator

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// A model that gives second opinions has a child in the tree like any other of
// the review: when it breaks down it comes back with a breaker that knows
// nothing, and no other model's breaker changes.
func TestSecondOpinionsAreSupervised(t *testing.T) {
	book := &logbook{}
	o := with(book.skill(t, "note.burn", skills.Irreversible, false, skills.Trusted))
	o.models = "}\n  strong: {model: strong, base_url: \"$URL\", timeout: 20s"
	o.config = "sentinel: {retries: 0, canaries: {every: 0s}, escalate: {to: strong}, breaker: {failures: 1, open_for: 1h}}\n"
	r := start(t, o, []rule{
		{"when": rule{"model": "strong"}, "reply": rule{"status": 500}},
		{"when": rule{"schema": "sentinel_decision"}, "reply": rule{"content": `{"decision":"approve","reason":"fits"}`}},
	})
	breakers := func() (out []string) {
		for _, m := range r.parts.Review.State().Models {
			out = append(out, m.Model+" "+m.Breaker)
		}
		return out
	}
	decide := func(user string) string {
		cp := r.Parts().Checkpoint
		c, err := cp.NewCall(sentinel.Proposal{Skill: "note.burn", Args: json.RawMessage(`{"X":"1"}`), Grant: freeGrantOf(t, user, "note.burn")})
		require.NoError(t, err)
		d, err := cp.Decide(t.Context(), c)
		require.NoError(t, err)
		for _, v := range d.Verdicts {
			if v.Gate == sentinel.GateReview {
				return v.Meta["second_failure"]
			}
		}
		return "no review"
	}
	require.Equal(t, "lone_server", decide("eve"), "one user's failure is no outage")
	require.Equal(t, "server", decide("ann"))
	require.Equal(t, "breaker_open", decide("eve"))
	require.Equal(t, []string{"m closed", "strong open"}, breakers())
	child, ok := r.sys.Whereis("review/strong")
	require.True(t, ok)
	child.Send(breakdown{})
	require.Eventually(t, func() bool { return breakers()[1] == "strong closed" }, eventually, tick)
	require.Equal(t, "server", decide("eve"))
}
