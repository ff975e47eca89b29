package bash

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxRepair is the longest text that is tried with closing marks, in bytes.
const maxRepair = 16 << 10

// parseCost is what starting a parser counts for, in bytes.
const parseCost = 768

type parsed uint8

const (
	whole parsed = iota
	unclosed
	unparsable
)

// parseShell returns the statements of text. Text that only lacks a closing
// mark is read as if it had it: no shell runs that part, but the complete
// lines before it run.
func parseShell(b *Budget, text string) ([]*syntax.Stmt, parsed) {
	if len(text) > MaxShell || countOpeners(text) > maxOpeners {
		return nil, unparsable
	}
	list, err := parseAsVariant(b, syntax.LangBash, text)
	if err == nil {
		return list, whole
	}
	if syntax.IsIncomplete(err) && len(text) <= maxRepair {
		for _, end := range []string{`"`, "'", "`", ")", "}", "))", `")`, `")"`, "\nfi", "\ndone", "\nesac", "\n}"} {
			if list, err := parseAsVariant(b, syntax.LangBash, text+end); err == nil {
				return list, unclosed
			}
		}
	}
	for _, lang := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangZsh} {
		if list, err := parseAsVariant(b, lang, text); err == nil {
			return list, whole
		}
	}
	return nil, unparsable
}

// countOpeners bounds how deep the parser may recurse, whose stack can't be caught
// when it overflows.
func countOpeners(text string) int {
	n := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[', '`':
			n++
		}
	}
	return n
}

// maxParses is how often one text is read.
const maxParses = 16

// parseAsVariant reads text as a shell of that kind does.
//
// The parser takes a "#" for the beginning of a comment where it follows an
// expansion or a quote inside of a subshell: to it "rm" is hidden in
//
//	(echo $x#; rm -rf /
//	)
//
// and to every shell it isn't, since a comment begins a word. Such a mark is
// escaped, which changes nothing for a shell, and the text read again.
func parseAsVariant(b *Budget, lang syntax.LangVariant, text string) ([]*syntax.Stmt, error) {
	if !hasHashInWord(text) {
		f, err := parseVariantOnce(b, lang, text, false)
		if err != nil {
			return nil, err
		}
		return f.Stmts, nil
	}
	h := hashes{budget: b, lang: lang, left: maxParses}
	return h.parseUntilPlain(text)
}

// hashes reads one text until no comment begins in the middle of a word.
type hashes struct {
	budget *Budget
	lang   syntax.LangVariant
	left   int // parses
}

func (h *hashes) parseUntilPlain(text string) ([]*syntax.Stmt, error) {
	for ; h.left > 0; h.left-- {
		f, err := parseVariantOnce(h.budget, h.lang, text, true)
		if err != nil {
			return h.parseUnhidden(text, err)
		}
		at, ok := findMisread(f)
		if !ok {
			return f.Stmts, nil
		}
		text = escapeAt(text, at)
	}
	return nil, errHashes
}

// parseUnhidden reads a text that the parser can't, as it would be without a
// comment that hides the end of something.
func (h *hashes) parseUnhidden(text string, err error) ([]*syntax.Stmt, error) {
	for i := 1; i < len(text) && h.left > 0; i++ {
		if text[i] != '#' || text[i-1] == '\\' || !continuesWord(text[i-1]) {
			continue
		}
		h.left--
		if stmts, perr := h.parseUntilPlain(escapeAt(text, i)); perr == nil {
			return stmts, nil
		}
	}
	return nil, err
}

func escapeAt(text string, at int) string { return text[:at] + `\` + text[at:] }

var errHashes = syntax.ParseError{Text: "too many marks that may begin a comment"}

func parseVariantOnce(b *Budget, lang syntax.LangVariant, text string, comments bool) (*syntax.File, error) {
	if !b.TakeBytes(2 * len(text)) { // a text that is no shell's may be read in many ways
		return nil, errHashes
	}
	if f := parsePlain(lang, text); f != nil {
		return f, nil
	}
	return syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(comments)).Parse(strings.NewReader(text), "")
}

// hasHashInWord reports whether a "#" stands where a word goes on.
func hasHashInWord(text string) bool {
	for i := 1; i < len(text); i++ {
		if text[i] == '#' && continuesWord(text[i-1]) {
			return true
		}
	}
	return false
}

func continuesWord(c byte) bool { return strings.IndexByte(" \t\n;&|<>({", c) < 0 }

// findMisread returns where a comment begins in the middle of a word.
func findMisread(f *syntax.File) (at int, ok bool) {
	ends := map[uint]bool{}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Word:
			ends[n.End().Offset()] = true
		case *syntax.Assign:
			ends[n.End().Offset()] = true
		}
		return true
	})
	syntax.Walk(f, func(n syntax.Node) bool {
		if c, is := n.(*syntax.Comment); is && !ok && ends[c.Pos().Offset()] {
			at, ok = int(c.Pos().Offset()), true
		}
		return !ok
	})
	return at, ok
}
