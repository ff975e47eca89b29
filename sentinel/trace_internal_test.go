package sentinel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What one trace gets after a snapshot is in no other that began alike.
func TestSnapshotsShareNothing(t *testing.T) {
	base := Trace{steps: make([]Step, 0, 8)} // there is room behind the last step
	base.steps = append(base.steps, Step{Skill: "a.b"})
	one, other := base.withStep(Step{Skill: "one.x"}), base.withStep(Step{Skill: "other.x"})
	require.Equal(t, "one.x", one.Step(1).Skill)
	require.Equal(t, "other.x", other.Step(1).Skill)
	require.Equal(t, 1, base.Len())
}
