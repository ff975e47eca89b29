package host

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is passed over as a plain path holds no host that matters.
func TestPlainPathsNameNoHost(t *testing.T) {
	for text, plain := range map[string]bool{
		"notes/today.md": true, "/srv/a_b/c1": true, "a/b.": false, "notes": false, "": false, "a/b.internal": false, "a/B.INTERNAL": false,
		"x/b.169.254.169.254.nip.io": false, "http://a/b": false, "a/b c": false, "169.254.169.254": false, "metadata/computeMetadata": true,
		"a/localhost": true, "a/xn--b": false,
	} {
		require.Equal(t, plain, isPlainPath(text), text)
	}
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "/", ".", "_", "-", "169.254.169.254", "nip", "io", "169", "254", "metadata",
			"metadata.google.internal", "internal", "local", "LOCALHOST", "0xa9fea9fe", "me", "traefik", "7", "%2e", ":", "@"}), 1, 9)
		text := ""
		for _, p := range pieces.Draw(t, "pieces") {
			text += p
		}
		if !isPlainPath(text) {
			return
		}
		found++
		whole, inner := listAllNamed(text, false)
		require.Empty(t, whole, text)
		require.Empty(t, inner, text)
	})
	require.Positive(t, found)
}
