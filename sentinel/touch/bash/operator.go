package bash

import (
	paths "path"
	"slices"
	"strings"
)

// ownName is what this program's command line is called, whatever the running
// binary is.
const ownName = "vedette"

// findOperator looks for this program's own commands that are its operators' alone:
// they lift pauses and erase or open what is sealed. The rest of it only reads
// configurations and cases, and is free.
func (s *shell) findOperator(f field, name string, args []field) {
	if (name == ownName || s.isSelf(f, name)) && isOperators(args) {
		s.addDanger(Operator)
	}
}

// isSelf reports whether a command is the running program, by its name or by
// where the word leads.
func (s *shell) isSelf(f field, name string) bool {
	self := s.env.Program
	if self == "" {
		return false
	}
	if name == programName(self) {
		return true
	}
	if f.unknown || !strings.Contains(f.text, "/") {
		return false
	}
	return slices.ContainsFunc(s.resolvePath(f.text), func(p string) bool { return p == self || s.links.Follow(p) == self })
}

// isOperators reports whether the words after the program's name are, or may
// turn out to be, an operator's command. The command is the first word that is
// no option; behind an option it may be that one's value, and the next counts
// too.
func isOperators(args []field) bool {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !a.unknown && len(a.text) > 1 && a.text[0] == '-' {
			continue
		}
		if isOperator(a, args[i+1:]) {
			return true
		}
		if i == 0 || args[i-1].text == "--" || !strings.HasPrefix(args[i-1].text, "-") || strings.Contains(args[i-1].text, "=") {
			return false
		}
	}
	return false
}

// isOperator reports whether one word, with what follows, is such a command.
func isOperator(command field, rest []field) bool {
	if command.unknown || command.glob {
		return true
	}
	switch command.text {
	case "pause", "journal":
		return !asksHelp(rest)
	case "ledger": // its records are no secret, what the journal holds of them is
		return slices.ContainsFunc(rest, func(f field) bool { return f.unknown || strings.HasPrefix(f.text, "--values") })
	}
	return false
}

// guessOperator looks for the same behind a name that can't be known for sure: a
// pattern that this program's name fits, or words that make sense to nothing
// else.
func (s *shell) guessOperator(f field, args []field) {
	if !f.unknown {
		for _, n := range []string{ownName, paths.Base(s.env.Program)} {
			if ok, _ := paths.Match(paths.Base(f.text), n); ok && isOperators(args) {
				s.addDanger(Operator)
			}
		}
		return
	}
	if len(args) > 1 && (args[0].text == "pause" && slices.ContainsFunc(args[1:], func(a field) bool {
		opt, _, _ := strings.Cut(a.text, "=")
		return slices.Contains([]string{"--lift", "--all", "--user", "--skill"}, opt)
	}) || args[0].text == "journal" && args[1].text == "purge") {
		s.addDanger(Operator)
	}
}
