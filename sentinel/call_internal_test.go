package sentinel

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// A call's arguments are those that its skill walks by, however many there are, and also
// where the first walk broke off.
func TestWalkArgs(t *testing.T) {
	s, err := skills.Compile(skills.Spec{Name: "test.do", Effect: skills.Read,
		Parameters: []byte(`{"type":"object","properties":{"command":{"type":"string"},"to":{"x-target":true}}}`)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	g, err := NewGrant(GrantOptions{ID: "g", Conversation: "c", Agent: "a"})
	require.NoError(t, err)
	for n := range 8 {
		var args []string
		for i := range n {
			args = append(args, fmt.Sprintf(`"k%d":{"to":["v%d"]}`, i, i))
		}
		raw := json.RawMessage("{" + strings.Join(args, ",") + "}")
		c, err := NewCall(reg, touch.Env{NoFS: true}, Proposal{Skill: "test.do", Args: raw, Grant: g})
		require.NoError(t, err)
		var want []skills.Arg
		s.Walk(c.Parsed(), func(a skills.Arg) { want = append(want, a) })
		require.Len(t, want, n)
		require.Equal(t, want, walkedArgs(c))
		require.Equal(t, n, c.held.seen)

		parts := *c.held
		require.Equal(t, n > 0, panics(func() { parts.keepArgs(func(skills.Arg) { panic("a reader broke") }) }))
		require.Zero(t, parts.seen)
		require.Equal(t, want, walkedArgs(Call{held: &parts}))
	}
	unknown, err := NewCall(reg, touch.Env{NoFS: true}, Proposal{Skill: "no.such", Args: []byte(`{"a":1}`), Grant: g})
	require.NoError(t, err)
	require.Empty(t, walkedArgs(unknown))
	require.Empty(t, walkedArgs(Call{}))
}

func walkedArgs(c Call) (out []skills.Arg) {
	c.WalkArgs(func(a skills.Arg) { out = append(out, a) })
	return out
}

func panics(do func()) (broke bool) {
	defer func() { broke = recover() != nil }()
	do()
	return false
}
