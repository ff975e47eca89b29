package sentinel

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// Where there is no skill the gates that look at one may skip; scope, which says
// that there is none, never may. Where there is one no mandatory gate may.
func TestWhoMaySkip(t *testing.T) {
	s, err := skills.Compile(skills.Spec{Name: "test.do", Effect: skills.Read, Parameters: []byte(`{"type":"object"}`)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	g, err := NewGrant(GrantOptions{ID: "g", Conversation: "c", Agent: "a"})
	require.NoError(t, err)
	for _, skill := range []string{"test.do", "no.such"} {
		c, err := NewCall(reg, touch.Env{NoFS: true}, Proposal{Skill: skill, Args: []byte(`{}`), Grant: g})
		require.NoError(t, err)
		for _, name := range GateNames() {
			want := !mandatory[name] || skill == "no.such" && name != GateScope
			require.Equal(t, want, isAnswer(name, Verdict{State: Skipped}, c), fmt.Sprint(name, " of ", skill))
		}
		require.False(t, isAnswer(GateScope, Verdict{State: Skipped}, c), skill)
	}
}
