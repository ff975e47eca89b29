package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two edits are a typo, more are another word.
func TestAlike(t *testing.T) {
	for _, tc := range []struct {
		typed, name string
		want        bool
	}{
		{"confg", "config", true}, {"conf", "config", true}, {"cofnig", "config", true}, {"json", "jobs", false}, {"x", "json", false},
		{"", "json", false}, {"limit", "values", false}, {"db", "db", true}, {strings.Repeat("a", 100), "a", false},
	} {
		require.Equal(t, tc.want, isAlike(tc.typed, tc.name), "%s %s", tc.typed, tc.name)
	}
	require.Equal(t, 3, editDistance("kitten", "sitting"))
	require.Equal(t, 4, editDistance("", "four"))
}
