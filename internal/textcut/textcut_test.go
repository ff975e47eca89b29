package textcut_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/textcut"
)

func TestHead(t *testing.T) {
	require.Equal(t, "short", textcut.Head("short", 5))
	require.Equal(t, "shor…", textcut.Head("short", 4))
	require.Equal(t, "a…", textcut.Head("aé", 2), "no half of a character is left")
	require.Equal(t, "…", textcut.Head("\xff\xff\xff", 2), "bytes that are no text go")
}

func TestEnds(t *testing.T) {
	head, left, tail := textcut.Ends("abc", 3)
	require.Equal(t, []any{"abc", 0, ""}, []any{head, left, tail})
	head, left, tail = textcut.Ends("abcdefghi", 3)
	require.Equal(t, []any{"ab", 6, "i"}, []any{head, left, tail})
}

func FuzzEnds(f *testing.F) {
	f.Add("ééééé", 4)
	f.Add(strings.Repeat("\x80", 9), 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = max(0, n%(len(s)+2))
		head, left, tail := textcut.Ends(s, n)
		require.Equal(t, len(s), len(head)+left+len(tail))
		require.True(t, strings.HasPrefix(s, head) && strings.HasSuffix(s, tail))
		require.LessOrEqual(t, len(head)+len(tail), max(n, 0))
		if utf8.ValidString(s) {
			require.True(t, utf8.ValidString(head) && utf8.ValidString(tail))
		}
	})
}
