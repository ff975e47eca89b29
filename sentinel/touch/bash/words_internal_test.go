package bash

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"
)

// A set has the words of its list and no others, whatever their lengths.
func TestWordSet(t *testing.T) {
	long := strings.Repeat("x", 40)
	s := newWordSet("a bc bd é " + long)
	for w, in := range map[string]bool{"a": true, "bc": true, "bd": true, "be": false, "b": false, "": false, "A": false, "é": true,
		"è": false, long: true, long + "x": false, long[1:]: false} {
		require.Equal(t, in, s.has(w), "%q", w)
	}
	for _, w := range []*wordSet{saysText, scary, shells, reservedWords} {
		for name := range w.words {
			require.True(t, w.has(name), name)
		}
	}
}

// No two commands share room for their words, also where they ask for much.
func TestTextRoom(t *testing.T) {
	var room textRoom
	var all [][]string
	for i := range 2_000 {
		texts := room.takeTexts(i * 7 % 300)
		require.Len(t, texts, i*7%300)
		require.Equal(t, len(texts), cap(texts))
		for j := range texts {
			require.Empty(t, texts[j])
			texts[j] = fmt.Sprint(i)
		}
		all = append(all, texts)
	}
	for i, texts := range all {
		for _, text := range texts {
			require.Equal(t, fmt.Sprint(i), text)
		}
	}
}

// A word that is read at once is what it is when it is expanded.
func TestLiteralsAreReadAlike(t *testing.T) {
	read := 0
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"%s", "'%s'", `"%s"`, `$'%s'`, `$"%s"`, "%s''", `"%s"a`, "''%s"}).Draw(t, "quotes")
		inner := rapid.StringMatching(`([a-c]|\*|\\|~|\{|\}|,|/|\$x|-| |\[|é){0,5}`).Draw(t, "inner")
		f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader("a "+fmt.Sprintf(text, inner)), "")
		if err != nil || len(f.Stmts) != 1 {
			return
		}
		call, ok := f.Stmts[0].Cmd.(*syntax.CallExpr)
		if !ok {
			return
		}
		for _, w := range call.Args[1:] {
			got, ok := newTestShell().readLiteral(w)
			if !ok {
				continue
			}
			read++
			require.Equal(t, [][]field{{literalField(got)}}, newTestShell().expandPlain(w), "%q", text)
			require.False(t, hasBraces(w), "%q", text)
		}
	})
	require.Positive(t, read)
}

// One piece makes the field that the builder makes of it.
func TestOnePieceIsBuiltAlike(t *testing.T) {
	out := stream{open: true}
	for _, kind := range []fragKind{litFrag, quotedFrag, unknownFrag} {
		for bits := range 1 << 8 {
			has := func(i int) bool { return bits>>i&1 != 0 }
			p := frag{kind: kind, provenance: provenance{tree: has(0), home: has(1), fed: has(2), unsure: has(3)},
				taint: taint{leak: leak{secret: has(4)}, foreign: has(5)}}
			if has(6) {
				p.s, p.minted, p.proc = "a*", "h", &out
			}
			if has(7) {
				p.bare = "b"
			}
			var b builder
			b.add(p)
			require.Equal(t, b.end(nil), splitFields(frags{p}), "%+v", p)
		}
	}
}
