package code_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch/code"
)

// row is one line of a table below testdata: a language, what a finding of an
// attack must hold ("?" for what can't be read), and the code. "⏎" is a line
// break.
type row struct{ lang, want, text string }

func rows(t testing.TB, file string, fields int) []row {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	var out []row
	for line := range strings.Lines(string(raw)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", fields)
		require.Len(t, parts, fields, line)
		r := row{lang: parts[0], text: strings.ReplaceAll(parts[fields-1], "⏎", "\n")}
		if r.lang == "make" {
			r.text = strings.ReplaceAll(r.text, "\\t", "\t")
		}
		if fields == 3 {
			r.want = parts[1]
		}
		out = append(out, r)
	}
	return out
}

// told is everything that was found, with the words of inner code read as well.
func told(f code.Findings, depth int) (all string, unread bool) {
	unread = f.Unread
	var b strings.Builder
	fmt.Fprint(&b, f.Paths, f.URLs, f.Effects)
	for _, c := range f.Commands {
		fmt.Fprint(&b, " ", c.Line, strings.Join(c.Words, " "))
	}
	if f.Environment {
		b.WriteString(" environment")
	}
	for _, in := range f.Inner {
		if depth == 0 {
			return b.String(), true
		}
		t, u := told(code.Read(in.Lang, in.Text), depth-1)
		b.WriteString(t)
		unread = unread || u
	}
	return b.String(), unread
}

// caught reports whether a person or a rule gets to see what a row does.
func caught(r row) bool {
	f := code.Read(r.lang, r.text)
	all, unread := told(f, 4)
	return unread || r.want == "?" && len(f.Effects) > 0 || r.want != "?" && strings.Contains(all, r.want)
}

func asked(r row) bool {
	f := code.Read(r.lang, r.text)
	_, unread := told(f, 4)
	return unread || len(f.Effects) > 0
}

// Each attack is read, or a person is asked; daily work passes unasked. The
// rows of the held tables were written before the reader was, those of the
// later ones when it read all others.
func TestTables(t *testing.T) {
	for _, file := range []string{"attack_open.txt", "attack_held.txt", "attack_later.txt"} {
		list := rows(t, file, 3)
		missed := 0
		for _, r := range list {
			if !caught(r) {
				missed++
				t.Logf("%s: missed: %s: %s: %+v", file, r.lang, r.text, code.Read(r.lang, r.text))
			}
		}
		t.Logf("%s: %d of %d missed", file, missed, len(list))
		assert.LessOrEqual(t, missed*100, len(list)*2, file)
	}
	for _, file := range []string{"benign_open.txt", "benign_held.txt", "benign_later.txt"} {
		list := rows(t, file, 2)
		stopped := 0
		for _, r := range list {
			if asked(r) {
				stopped++
				t.Logf("%s: asked: %s: %s: %+v", file, r.lang, r.text, code.Read(r.lang, r.text))
			}
		}
		t.Logf("%s: %d of %d asked", file, stopped, len(list))
		assert.LessOrEqual(t, stopped*100, len(list)*3, file)
	}
}
