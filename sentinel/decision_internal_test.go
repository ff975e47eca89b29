package sentinel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A decision in which no gate took part denies.
func TestSettleWithoutGatesDenies(t *testing.T) {
	for _, vs := range [][]Verdict{nil, {{Gate: GateScope, State: Skipped, Outcome: Allow}, {Gate: GateReview, State: Shadow, Outcome: Allow}, {Gate: GateJudge, Outcome: Allow}}} {
		d := Decision{Outcome: Allow, Verdicts: vs}
		d.settle()
		require.Equal(t, Deny, d.Outcome)
		require.Equal(t, "checkpoint.no_gate", d.Code)
	}
}
