package touch

import (
	"path"
	"slices"
	"strings"
)

// ownName is what this program's command line is called, whatever the running
// binary is.
const ownName = "vedette"

// operates looks for this program's own commands that are its operators' alone:
// they lift pauses and erase or open what is sealed. The rest of it only reads
// configurations and cases, and is free.
func (s *shell) operates(f field, name string, args []field) {
	if (name == ownName || s.isSelf(f, name)) && operators(args) {
		s.danger(Operator)
	}
}

// isSelf reports whether a command is the running program, by its name or by
// where the word leads.
func (s *shell) isSelf(f field, name string) bool {
	self := s.c.env.Program
	if self == "" {
		return false
	}
	if name == programName(self) {
		return true
	}
	if f.unknown || !strings.Contains(f.text, "/") {
		return false
	}
	return slices.ContainsFunc(s.resolve(f.text), func(p string) bool { return p == self || s.c.links.Follow(p) == self })
}

// operators reports whether the words after the program's name are, or may
// turn out to be, an operator's command. The command is the first word that is
// no option; behind an option it may be that one's value, and the next counts
// too.
func operators(args []field) bool {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !a.unknown && len(a.text) > 1 && a.text[0] == '-' {
			continue
		}
		if operator(a, args[i+1:]) {
			return true
		}
		if i == 0 || args[i-1].text == "--" || !strings.HasPrefix(args[i-1].text, "-") || strings.Contains(args[i-1].text, "=") {
			return false
		}
	}
	return false
}

// operator reports whether one word, with what follows, is such a command.
func operator(command field, rest []field) bool {
	if command.unknown || command.glob {
		return true
	}
	switch command.text {
	case "pause", "journal":
		return !helps(rest)
	case "ledger": // its records are no secret, what the journal holds of them is
		return slices.ContainsFunc(rest, func(f field) bool { return f.unknown || strings.HasPrefix(f.text, "--values") })
	}
	return false
}

// mayOperate looks for the same behind a name that can't be known for sure: a
// pattern that this program's name fits, or words that make sense to nothing
// else.
func (s *shell) mayOperate(f field, args []field) {
	if !f.unknown {
		for _, n := range []string{ownName, path.Base(s.c.env.Program)} {
			if ok, _ := path.Match(path.Base(f.text), n); ok && operators(args) {
				s.danger(Operator)
			}
		}
		return
	}
	if len(args) > 1 && (args[0].text == "pause" && slices.ContainsFunc(args[1:], func(a field) bool {
		opt, _, _ := strings.Cut(a.text, "=")
		return slices.Contains([]string{"--lift", "--all", "--user", "--skill"}, opt)
	}) || args[0].text == "journal" && args[1].text == "purge") {
		s.danger(Operator)
	}
}
