package sentinel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
)

// The scope gate may leave a question to the review. A judgement spends it where it was
// shown all doubts of the decision, those of the judge and those of the scope gate.
func TestDoubtOfTheScope(t *testing.T) {
	later, topic := doubted(sentinel.Ask, "after_taint"), doubted(sentinel.Ask, "other_topic")
	all := append(append([]sentinel.Evidence{}, later.Evidence...), topic.Evidence...)
	for name, tc := range map[string]struct {
		scope, judge sentinel.Verdict
		shown        []sentinel.Evidence
		want         sentinel.Outcome
		blockedBy    string
	}{
		"both were shown":          {later, topic, all, sentinel.Allow, ""},
		"the scope's alone was":    {later, topic, later.Evidence, sentinel.Ask, sentinel.GateScope},
		"the judge's alone was":    {later, topic, topic.Evidence, sentinel.Ask, sentinel.GateScope},
		"none was":                 {later, topic, nil, sentinel.Ask, sentinel.GateScope},
		"there is one, and it was": {later, sentinel.Pass(), later.Evidence, sentinel.Allow, ""},
		"the scope would deny for it": {
			doubted(sentinel.Deny, "after_taint"), sentinel.Pass(), later.Evidence, sentinel.Deny, sentinel.GateScope},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, says("scope", tc.scope), says("judge", tc.judge), says("review", approved(tc.shown)))
			c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Grant: grant(t)})
			require.NoError(t, err)
			d, err := b.Decide(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, tc.want, d.Outcome)
			require.Equal(t, tc.blockedBy, d.BlockedBy)
		})
	}
}
