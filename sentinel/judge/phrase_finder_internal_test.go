package judge

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// One pass finds what a search for each phrase finds.
func TestPhrases(t *testing.T) {
	for _, list := range [][]string{instructions, secretWords, {"aa", "aab", "ab", "ba"}} {
		p := newPhraseFinder(list)
		rapid.Check(t, func(t *rapid.T) {
			piece := rapid.OneOf(rapid.SampledFrom(list), rapid.StringOfN(rapid.RuneFrom([]rune("ab <yé")), 0, 4, -1),
				rapid.Just(list[0][:len(list[0])-1]))
			text := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
			var got []string
			p.find(text, func(i, at int) bool {
				require.Equal(t, strings.Index(text, list[i])+len(list[i]), at, "the first place, once")
				require.NotContains(t, got, list[i])
				got = append(got, list[i])
				return false
			})
			for _, s := range list {
				require.Equal(t, strings.Contains(text, s), slices.Contains(got, s), "%q in %q", s, text)
			}
			require.Equal(t, len(got) > 0, p.find(text, func(int, int) bool { return true }))
		})
	}
}
