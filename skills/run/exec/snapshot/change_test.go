package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A name is shown so that it can't pass for another or for the text around it.
func TestShow(t *testing.T) {
	for name, want := range map[string]string{
		"a/b c.txt": "a/b c.txt", "größe": "größe", "a\nb": `"a\nb"`, "a\x1b[2Jb": `"a\x1b[2Jb"`, "a\xff": `"a\xff"`,
		" a": `" a"`, "a ": `"a "`,
		"a\u202eb": `"a\u202eb"`, `a"b`: `"a\"b"`, `a\b`: `"a\\b"`, "a\u00a0": `"a\u00a0"`,
		"a\u00a0b": `"a\u00a0b"`, "a\u2003b": `"a\u2003b"`, "a\u3164": `"a\u3164"`, "a\u2800b": `"a\u2800b"`, "a\ufe0f": `"a\ufe0f"`,
		"e\u0301": "e\u0301", "e\u0301\u0301\u0301": `"e\u0301\u0301\u0301"`, "a\ufffdb": `"a\ufffdb"`,
	} {
		require.Equal(t, want, Change{Path: name}.Show())
	}
}
