package path

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A plain text has the one reading that it has the long way.
func TestPlainReadings(t *testing.T) {
	for raw, plain := range map[string]bool{
		"notes/today.md": true, "/srv/a_b/c-1": true, "a": true, "": false, ".": false, "a/": false, "../a": false, "a//b": false, "/": false,
		"a/..2fb": false, "x2f": true, "a25c": false, "5c": true, "a%2fb": false, "~/a": false, "C:/a": false, "a b": false, "é": false,
		"/proc/self/root/etc": true, "a/.ssh": false, "/a\x00": false,
	} {
		_, ok := readPlain(raw, Env{Root: "/workspace"})
		require.Equal(t, plain, ok, "%q", raw)
	}
	require.Len(t, ListReadings("/proc/self/root/etc/x", Env{}), 2)
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.StringMatching(`(/?(proc/self/root|proc/1/cwd|[a-c2f5._-]{1,6}|\.\.|[A-Z]:|~|%2e|f)){1,5}`).Draw(t, "raw")
		roots := rapid.SampledFrom([]string{"", "/", "/workspace", "/srv/a b/", "/srv/../x", "relative", "/proc/self/root"})
		env := Env{Root: roots.Draw(t, "root")}
		p, ok := readPlain(raw, env)
		if ok {
			found++
			require.Equal(t, p, resolveLexically(DecodeText(raw), env, true), "%q", raw)
		}
		require.Equal(t, listAllReadings(raw, env), ListReadings(raw, env), "%q", raw)
	})
	require.Positive(t, found)
}
