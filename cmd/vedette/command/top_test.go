package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// No line of a frame is wider than the screen and no frame higher, so the first
// lines stay where they are seen.
func TestFit(t *testing.T) {
	lines := []string{
		strings.Repeat("x", 80), strings.Repeat("x", 81), "short", strings.Repeat("漢", 41), "e" + strings.Repeat("\u0301", 200),
		"\x1b[31m" + strings.Repeat("r", 100) + "\x1b[0m",
	}
	got := fit(lines, 80, 24)
	require.Len(t, got, len(lines))
	require.Equal(t, lines[0], got[0], "just fits")
	require.Equal(t, strings.Repeat("x", 79)+"…", got[1])
	require.Equal(t, "short", got[2])
	require.Equal(t, strings.Repeat("漢", 39)+"…", got[3])
	require.Equal(t, lines[4], got[4], "marks take no room")
	require.Equal(t, "\x1b[31m"+strings.Repeat("r", 79)+"…\x1b[0m", got[5], "the colour ends")
	for _, l := range got {
		require.LessOrEqual(t, columns(sequences.ReplaceAllString(l, "")), 80)
	}
	many := fit(strings.Split(strings.Repeat("line\n", 50), "\n"), 20, 24)
	require.Len(t, many, 23)
	require.Equal(t, "… and 29 more lines…", many[22], "the last line is cut too")
	require.Equal(t, lines, fit(lines, 0, 0), "a screen that has no size")
}

// The hint is a command as a shell reads it.
func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"ann": "ann", "a.b:c@d-e_f": "a.b:c@d-e_f", "*": "'*'", "email.*": "'email.*'", "it's": `'it'\''s'`, "a b": "'a b'", "": "''", "$(id)": "'$(id)'",
	} {
		require.Equal(t, want, quoted(in))
	}
}
