package sentinel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A doubt that counts lifts no verdict, whatever a gate says it would come to.
func TestACountedDoubtLiftsNothing(t *testing.T) {
	for _, verdict := range []Outcome{Deny, Defer, Ask, Allow} {
		for _, doubt := range []Outcome{Deny, Defer, Ask, Allow} {
			v := Verdict{State: Judged, Outcome: verdict, Doubt: &Doubt{Outcome: doubt}}
			v.countDoubt()
			require.Equal(t, min(verdict, doubt), v.Outcome)
			require.Equal(t, DoubtCounted, v.Doubt.State)
		}
	}
}
