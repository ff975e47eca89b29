package bash

import (
	"regexp"
	"strings"
)

var fishHead = regexp.MustCompile(`^(for\s+\w+\s+in\b.*|while\b.*|if\b.*|else if\b.*|begin|function\s+\S+.*|switch\b.*|else|end)$`)

// translateFish turns a program of fish into one of a shell that is read here, as far as
// its blocks and its substitutions go; ok is false where nothing had to change.
func translateFish(text string) (sh string, ok bool) {
	if !strings.Contains(text, "end") && !strings.ContainsAny(text, "(") {
		return text, false
	}
	var open []string
	var out []string
	for _, st := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		t := strings.TrimSpace(st)
		if !fishHead.MatchString(t) {
			out = append(out, markSubstitutions(t))
			continue
		}
		word, rest, _ := strings.Cut(t, " ")
		switch word {
		case "for", "while":
			open, out = append(open, "done"), append(out, markSubstitutions(t)+"; do :")
		case "if":
			open, out = append(open, "fi"), append(out, markSubstitutions(t)+"; then :")
		case "else":
			if strings.HasPrefix(rest, "if ") {
				out = append(out, "elif "+markSubstitutions(rest[3:])+"; then :")
			} else {
				out = append(out, "else :")
			}
		case "begin":
			open, out = append(open, "}"), append(out, "{ :")
		case "function":
			name, _, _ := strings.Cut(rest, " ")
			open, out = append(open, "}"), append(out, name+"() { :")
		case "end":
			if len(open) == 0 {
				return text, false
			}
			out, open = append(out, open[len(open)-1]), open[:len(open)-1]
		default:
			return text, false
		}
	}
	return strings.Join(out, "\n"), len(open) == 0
}

// markSubstitutions turns (cmd) into $(cmd).
func markSubstitutions(t string) string {
	var b strings.Builder
	quote := byte(0)
	for i := range len(t) {
		c := t[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' && (i == 0 || t[i-1] != '$'):
			b.WriteByte('$')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// zshFor is the short form of zsh's loop: for x (a b) cmd.
var zshFor = regexp.MustCompile(`\bfor\s+(\w+)\s*\(([^()]*)\)\s*(?:\{\s*)?([^;{}\n]+?)\s*;?\s*\}?\s*$`)

// globCode is the code in a qualifier of zsh: *(e:"rm x":).
var globCode = regexp.MustCompile(`\([^()]*[eE+](['"{:|<\[])(.+?)['"}:|>\]]*\)`)
