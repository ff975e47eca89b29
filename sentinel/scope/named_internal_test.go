package scope

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/skills"
)

// A name is split by bytes, and holds the words that splitting it by characters gives.
func TestNamesAreSplitByBytesAlike(t *testing.T) {
	words := wordSet("step steps run")
	rapid.Check(t, func(t *rapid.T) {
		parts := []string{"step", "steps", "run", "Step", "RUN", "next", "_", "-", ".", "/", "1", "é", "ſ", "\xff", "x", ""}
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 6).Draw(t, "parts"), "")
		want := false
		for w := range strings.FieldsFuncSeq(splitHumps(name), func(r rune) bool { return r < 'a' || r > 'z' }) {
			want = want || words[w]
		}
		require.Equal(t, want, holdsName(name, words), "%q", name)
	})
}

// One plain word names no skill, since each skill has a domain.
func TestOnePlainWordNamesNoSkill(t *testing.T) {
	pay, err := skills.Compile(skills.Spec{Name: "bank.pay", Effect: skills.Modify})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(pay)
	require.NoError(t, err)
	g, err := New(Options{Registry: reg})
	require.NoError(t, err)
	for text, want := range map[string][]string{
		"pay": nil, "command": nil, "bankpay": nil, "": nil, "bank.pay": {"bank.pay"}, "Bank_Pay": {"bank.pay"},
	} {
		require.Equal(t, want, g.namedSkills(text), "%q", text)
	}
}
