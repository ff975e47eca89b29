package bash

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"
)

// What is read without the parser is what the parser reads: the same words of one
// command. Lines that begin with a word of the shell's own are left to it.
func TestPlainLinesAreReadAlike(t *testing.T) {
	pieces := []string{"rm", "-rf", "a/b.c", "x_1", "--", "2", "..", "a,b", " ", " ", " ", "", "\t", ";", "=", "if", "do", "let", "time", "{",
		"é", "#", "~"}
	random := rand.New(rand.NewPCG(1, 2))
	lines := []string{"", " ", "rm -rf /", "rm  x", " rm", "rm ", "in x", "a=b c", "eval eval rm x", "time -p rm x", "coproc a", "test 1",
		"export A", "2 rm", "local"}
	for range 20_000 {
		var b strings.Builder
		for range 1 + random.IntN(8) {
			b.WriteString(pieces[random.IntN(len(pieces))])
			b.WriteString(pieces[random.IntN(12)])
		}
		lines = append(lines, b.String())
	}
	read := 0
	for _, line := range lines {
		got := parsePlain(syntax.LangBash, line)
		if got == nil {
			continue
		}
		read++
		want, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
		require.NoError(t, err, "%q", line)
		require.Equal(t, listPlain(t, want), listPlain(t, got), "%q", line)
	}
	require.Greater(t, read, 500, "plain lines among %d", len(lines))
	require.Nil(t, parsePlain(syntax.LangZsh, "rm x"))
}

// listPlain returns the words of the one command that a file must hold.
func listPlain(t *testing.T, f *syntax.File) []string {
	t.Helper()
	require.Len(t, f.Stmts, 1)
	require.Empty(t, f.Stmts[0].Redirs)
	require.False(t, f.Stmts[0].Negated || f.Stmts[0].Background)
	call, ok := f.Stmts[0].Cmd.(*syntax.CallExpr)
	require.True(t, ok)
	require.Empty(t, call.Assigns)
	var out []string
	for _, w := range call.Args {
		require.Len(t, w.Parts, 1)
		require.IsType(t, &syntax.Lit{}, w.Parts[0])
		out = append(out, w.Lit())
	}
	return out
}
