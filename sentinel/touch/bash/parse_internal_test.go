package bash

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"
)

// What is read without the parser is what the parser reads: the same words in the same
// commands, joined alike. Lines that begin with a word of the shell's own are left to it.
func TestPlainLinesAreReadAlike(t *testing.T) {
	pieces := []string{"rm", "-rf", "a/b.c", "x_1", "--", "2", "..", "a,b", "k:v@h", "+%Y", "a=b", " ", " ", " ", "", "\t", ";", "|", "&&",
		"||", "\n", "=", "&", "if", "do", "let", "time", "{", "é", "#", "~", "*", "in", "}", "!", "[[", "\x00"}
	random := rand.New(rand.NewPCG(1, 2))
	lines := []string{"", " ", "rm -rf /", "rm  x", " rm", "rm ", "in x", "a=b c", "eval eval rm x", "time -p rm x", "coproc a", "test 1",
		"export A", "2 rm", "local", "a;", "a;b", "a;;b", ";a", "a|b|c", "a&&b||c|d", "a|&b", "a&", "a&b", "a&&", "a||", "a|", "|a", "a\n",
		"\na\n\nb\n", "a\n;b", "a;\nb", "a&&\nb", "a|||b", "a&&&b", "a | | b", "a && time b", "a | x=1 b", "a;a=b;c", "a \n b", "a; ;b", "a ;"}
	for range 60_000 {
		var b strings.Builder
		for range 1 + random.IntN(12) {
			b.WriteString(pieces[random.IntN(len(pieces)-16*random.IntN(2))])
			b.WriteString(pieces[11+random.IntN(10)])
		}
		lines = append(lines, b.String())
	}
	read, joined := 0, 0
	for _, line := range lines {
		if requirePlainAlike(t, line) {
			read++
			joined += strings.Count(line, "&&") + strings.Count(line, "|")
		}
	}
	require.Greater(t, read, 500, "plain lines among %d", len(lines))
	require.Greater(t, joined, 500)
	require.Nil(t, parsePlain(syntax.LangZsh, "rm x"))
	for _, line := range []string{"a|b && c; d || e\nf", "git status && ls -la src | head -20", "a=b", "a;b ;"} {
		require.Equal(t, line != "a=b", parsePlain(syntax.LangBash, line) != nil, "%q", line)
	}
}

// FuzzParsePlain holds the plain reader to the parser.
func FuzzParsePlain(f *testing.F) {
	for _, line := range []string{"rm -rf /", "a|b|c && d || e; f\ng", "a;;b", "a=b c", "time a", "a & b", "echo $x", "a && \n b",
		"-:@%+=,./_"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) { requirePlainAlike(t, line) })
}

// requirePlainAlike holds one line's plain reading to the parser's. It reports whether
// there was one.
func requirePlainAlike(t *testing.T, line string) bool {
	t.Helper()
	got := parsePlain(syntax.LangBash, line)
	if got == nil {
		return false
	}
	want, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	require.NoError(t, err, "%q", line)
	require.NotEmpty(t, got.Stmts, "%q", line)
	dropPositions(reflect.ValueOf(want))
	require.Equal(t, want.Stmts, got.Stmts, "%q", line)
	return true
}

// dropPositions sets all positions below v to none.
func dropPositions(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			dropPositions(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			dropPositions(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[syntax.Pos]() {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			dropPositions(v.Field(i))
		}
	}
}
