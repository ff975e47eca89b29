package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// Whatever the bytes: no panic, and each mistake stands within the file.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"good/vedette.yaml", "twelve/vedette.yaml", "good/skills/email.yaml", "good/skills/pdf/SKILL.md"} {
		src, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
		require.NoError(f, err)
		f.Add(src)
	}
	for _, s := range []string{"", "version: 1", "a: &a [*a]", "? a", "- - - -", "{a: b, c}", "a: |\n  x\n y", "\"", "a: !!x",
		"---\n---\n", "%", "a: *", "{[a]: b}", "a: ${B:-", "-\n-\n -", ": :", "a: >", "&a", "<<: 1", "a:\r\n b", "a\u2028: 1",
		"a: \"\\x00\"", "...", "#", "'", "[", "\ufeff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, opts := range []config.Options{{}, {FS: fstest.MapFS{"s.yaml": {Data: src}, "SKILL.md": {Data: src}}}} {
			opts.Env, opts.Dir = env(map[string]string{"A": "x"}), "/nowhere"
			main := src
			if opts.FS != nil {
				main = []byte("version: 1\nskills: {include: [s.yaml, SKILL.md]}")
			}
			c, err := config.Parse("x.yaml", main, opts)
			require.Equal(t, err == nil, c != nil)
			if err == nil {
				_, _ = c.Pos("permissions[0].when")
				continue
			}
			var list config.Errors
			require.ErrorAs(t, err, &list)
			require.NotEmpty(t, list)
			for _, e := range list {
				text := src
				if e.File == "x.yaml" {
					text = main
				}
				require.Positive(t, e.Line, e)
				require.Positive(t, e.Column, e)
				require.LessOrEqual(t, e.Line, strings.Count(string(text), "\n")+1, e)
			}
		}
	})
}

// Shapes that are hard on a parser end, and are mistakes. Nothing in a file can
// exhaust the reader's stack or time.
func TestHardShapes(t *testing.T) {
	const n = config.MaxFile / 4
	shapes := map[string]string{
		"keys":        strings.Repeat("a: 1\n", n/5),
		"maps":        strings.Repeat("- a: 1\n  b: 1\n", n/16),
		"open lists":  strings.Repeat("[", n),
		"open maps":   strings.Repeat("{a: ", n/4),
		"dashes":      strings.Repeat("- ", n/2),
		"explicit":    strings.Repeat("? ", n/2),
		"anchors":     strings.Repeat("&a ", n/3),
		"tags":        strings.Repeat("!!s ", n/4),
		"documents":   strings.Repeat("---\n", n/4),
		"blank":       strings.Repeat("\n", n),
		"spaces":      strings.Repeat(" ", n) + "a",
		"tabs":        strings.Repeat("\t", n) + "a",
		"colons":      strings.Repeat("a:", n/2),
		"colon pairs": strings.Repeat("a: ", n/3),
		"quotes":      strings.Repeat("'", n),
		"one text":    "a: \"" + strings.Repeat("\\n", n/2) + "\"",
		"folded":      "a: >\n" + strings.Repeat("  x\n\n", n/5),
		"plain lines": "a:" + strings.Repeat(" x\n  y", n/6),
		"comments":    strings.Repeat("# x\n", n/4) + "a: 1",
		"commas":      "[" + strings.Repeat("a,", n/2) + "]",
		"references":  "a: " + strings.Repeat("${A}", n/4),
	}
	var staircase strings.Builder
	for i := 0; staircase.Len() < n; i++ {
		staircase.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	shapes["staircase"] = staircase.String()[:n]
	for name, src := range shapes {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("x.yaml", []byte(src), config.Options{Env: env(nil)})
			require.Error(t, err) // none has a version
		})
	}
}
