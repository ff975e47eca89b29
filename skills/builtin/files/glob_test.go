//go:build unix

package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/skills"
)

// A glob matches what the library's own reading of its alternatives matches.
func TestGlobMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune(`ab{},[]\`)), 1, 10, -1).Draw(t, "pattern")
		name := rapid.StringOfN(rapid.RuneFrom([]rune(`ab{},[]\`)), 1, 5, -1).Draw(t, "name")
		g, err := parseGlob(pattern)
		if !doublestar.ValidatePattern(pattern) {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		want, err := doublestar.Match(pattern, name)
		require.NoError(t, err)
		got, err := g.match(context.Background(), name)
		require.NoError(t, err)
		require.Equal(t, want, got, "%s on %s: %q", pattern, name, g.patterns)
	})
}

func TestGlobWithStars(t *testing.T) {
	for pattern, want := range map[string]string{
		"*.{md,txt}": "a.md b.txt c/d.md", "{a,b}.*": "a.md b.txt", "c/*.{md,x}": "c/d.md", "**/{d,b}.{md,txt}": "b.txt c/d.md",
		"{c/*,*.txt}": "b.txt c/d.md", "*.{m{d,x},y}": "a.md c/d.md", "[{a].md": "a.md", `\{a,b\}*`: "{a,b}",
	} {
		g, err := parseGlob(pattern)
		require.NoError(t, err, pattern)
		var got []string
		for _, name := range []string{"a.md", "b.txt", "c/d.md", "{a,b}"} {
			ok, err := g.match(t.Context(), name)
			require.NoError(t, err)
			if ok {
				got = append(got, name)
			}
		}
		require.Equal(t, want, strings.Join(got, " "), pattern)
	}
}

// Alternatives that multiply are refused before anything is looked at.
func TestGlobThatMultiplies(t *testing.T) {
	d := open(t, nil)
	d.put(t, strings.Repeat("a", 24)+"c", "x")
	for _, g := range []string{strings.Repeat("{a,a}", 24) + "b", strings.Repeat("*{a,a}", 10), strings.Repeat("{a,", 30) + strings.Repeat("}",
		30) + strings.Repeat("{a,a}", 6),
		"{" + strings.Repeat("a,", 70) + "}", strings.Repeat("a", 257)} {
		_, err := d.do(t, "search", args{"query": "x", "glob": g})
		require.ErrorIs(t, err, skills.ErrNoEffect, g)
	}
	_, err := d.do(t, "search", args{"query": "x", "glob": "{" + strings.Repeat("a,", 60) + "b}"})
	require.NoError(t, err)
}

// A search whose time is up ends, wherever it is.
func TestSearchHeedsItsContext(t *testing.T) {
	g, err := parseGlob("a*")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.match(ctx, "abc")
	require.ErrorIs(t, err, context.Canceled)
	s := &searcher{query: "x", limit: 5}
	require.ErrorIs(t, s.searchLines(ctx, "f", strings.Repeat("y\n", 2000)), context.Canceled)
}

// Binary files count against the bound of a search. They are read no further than needed, and
// take no memory with them.
func TestSearchCountsBinaryFiles(t *testing.T) {
	root := t.TempDir()
	binary := func(name, head string) { // of zeros behind its head; they take no room on the disk
		name = filepath.Join(root, name)
		require.NoError(t, os.WriteFile(name, []byte(head), 0o600))
		require.NoError(t, os.Truncate(name, DefaultMaxFile))
	}
	for i := range 20 {
		binary(fmt.Sprintf("early%02d", i), "")
	}
	f := &folder{path: root, maxFile: DefaultMaxFile, now: time.Now}
	s := &searcher{folder: f, query: "zzz", limit: 5}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, s.walkFiles(t.Context(), "."))
	runtime.ReadMemStats(&after)
	require.Equal(t, 20, s.Skipped)
	require.Equal(t, int64(20*sniff), s.bytes)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))

	for i := range maxScanned/DefaultMaxFile + 3 {
		binary(fmt.Sprintf("late%02d", i), strings.Repeat("a", sniff)) // looks like text at first
	}
	s = &searcher{folder: f, query: "zzz", limit: 5}
	require.NoError(t, s.walkFiles(t.Context(), "."))
	require.True(t, s.Incomplete, "%d bytes", s.bytes)
	require.LessOrEqual(t, s.bytes, int64(maxScanned+2*DefaultMaxFile))
}
