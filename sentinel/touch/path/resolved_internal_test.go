package path

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What counts as resolved is what resolving it once more gives: "/." at its end
// takes the long way and changes nothing.
func TestResolved(t *testing.T) {
	for p, want := range map[string]bool{
		"": false, "/": false, "a": false, "/a": true, "/a/b.c/d-e": true, "/a/": false, "//a": false, "/a//b": false, "/./a": false,
		"/a/..":   false,
		"/a/.ssh": false, "/a./b": false, "/a /b": false, "/a/b ": false, "/a/?./b": false, "/é": false, "/a..b": true,
	} {
		require.Equal(t, want, isResolved(p), p)
	}
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		p := "/" + rapid.StringMatching(`([a-c_.\- ]{0,3}/){0,4}[a-c_.;?*é -]{0,4}`).Draw(t, "path")
		if !isResolved(p) {
			return
		}
		found++
		for _, lax := range []bool{false, true} {
			require.Equal(t, p, resolveDots(p+"/.", lax))
			require.Equal(t, p, resolveDots(p, lax))
		}
	})
	require.Positive(t, found)
}
