package bash

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxRepair is the longest text that is tried with closing marks, in bytes.
const maxRepair = 16 << 10

// parseCost is what starting a parser counts for, in bytes.
const parseCost = 256

// parseText reads text and walks it, and returns what it prints.
func (s *shell) parseText(text string) stream {
	if s.level > maxLevels || !s.budget.TakeBytes(2*len(text)+parseCost) {
		s.budget.over = true
		return stream{open: true}
	}
	list, how := parseShell(text)
	switch {
	case s.quiet:
	case how == unparsable:
		s.out.Unparsed = true
	case how == unclosed:
		s.out.Incomplete = true
	}
	s.level++
	defer func() { s.level-- }()
	if strings.Contains(strings.ReplaceAll(text, "$((", ""), "((") && how != unparsable {
		// To a plain sh that is no arithmetic but two subshells.
		if posix, err := parseAs(syntax.LangPOSIX, text); err == nil {
			f := s.fork()
			f.quiet = true
			f.runStatements(posix, stream{})
		}
	}
	if startsItself(text) && breedsList(list) {
		s.addDanger(ForkBomb)
	}
	return s.runStatements(list, stream{})
}

// guessLine reads text that may be a command line: only what it touches counts,
// never that it isn't one.
func (s *shell) guessLine(text string) {
	f := s.fork()
	f.quiet = true
	f.parseText(text)
}

type parsed uint8

const (
	whole parsed = iota
	unclosed
	unparsable
)

// parseShell returns the statements of text. Text that only lacks a closing
// mark is read as if it had it: no shell runs that part, but the complete
// lines before it run.
func parseShell(text string) ([]*syntax.Stmt, parsed) {
	if len(text) > MaxShell || countOpeners(text) > maxOpeners {
		return nil, unparsable
	}
	list, err := parseAs(syntax.LangBash, text)
	if err == nil {
		return list, whole
	}
	if list, err := parseAs(syntax.LangBash, text+endHeredoc(text)); err == nil {
		return list, whole // a shell warns and runs it
	}
	if syntax.IsIncomplete(err) && len(text) <= maxRepair {
		for _, end := range []string{`"`, "'", "`", ")", "}", "))", `")`, `")"`, "\nfi", "\ndone", "\nesac", "\n}"} {
			if list, err := parseAs(syntax.LangBash, text+end); err == nil {
				return list, unclosed
			}
		}
	}
	for _, lang := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangZsh} {
		if list, err := parseAs(lang, text); err == nil {
			return list, whole
		}
	}
	return nil, unparsable
}

var heredoc = regexp.MustCompile(`<<-?\s*\\?["']?(\w+)["']?[^\n]*\n`)

// endHeredoc returns the line that would end the last here-document of text.
func endHeredoc(text string) string {
	all := heredoc.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	return "\n" + all[len(all)-1][1] + "\n"
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
