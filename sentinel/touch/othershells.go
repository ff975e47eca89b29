package touch

import (
	"regexp"
	"strings"
)

var fishHead = regexp.MustCompile(`^(for\s+\w+\s+in\b.*|while\b.*|if\b.*|else if\b.*|begin|function\s+\S+.*|switch\b.*|else|end)$`)

// fish turns a program of fish into one of a shell that is read here, as far as
// its blocks and its substitutions go; ok is false where nothing had to change.
func fish(text string) (sh string, ok bool) {
	if !strings.Contains(text, "end") && !strings.ContainsAny(text, "(") {
		return text, false
	}
	var open []string
	var out []string
	for _, st := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		t := strings.TrimSpace(st)
		if !fishHead.MatchString(t) {
			out = append(out, fishSubst(t))
			continue
		}
		word, rest, _ := strings.Cut(t, " ")
		switch word {
		case "for", "while":
			open, out = append(open, "done"), append(out, fishSubst(t)+"; do :")
		case "if":
			open, out = append(open, "fi"), append(out, fishSubst(t)+"; then :")
		case "else":
			if strings.HasPrefix(rest, "if ") {
				out = append(out, "elif "+fishSubst(rest[3:])+"; then :")
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

// fishSubst turns (cmd) into $(cmd).
func fishSubst(t string) string {
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

// otherWords reads what the other shells have words for: the options of fish,
// the qualifiers of zsh's patterns, an alias without "=".
func (s *shell) otherWords(name string, args []field) {
	for i, a := range args {
		switch {
		case name == "fish" && (a.text == "-C" || a.text == "--init-command") && i+1 < len(args):
			s.hooked(args[i+1])
		case name == "fish" && strings.HasPrefix(a.text, "--init-command="):
			s.hooked(a.after(a.text[len("--init-command="):]))
		case name == "zsh" && strings.Contains(a.text, "("):
			for _, m := range globCode.FindAllStringSubmatch(a.text, 8) {
				code := strings.Trim(m[2], `'":{}\`)
				s.hooked(field{text: code, bare: code})
			}
		case (name == "bash" || name == "sh" || name == "ksh") && (a.text == "--rcfile" || a.text == "--init-file") && i+1 < len(args):
			s.feed(name, args[i+1], stream{})
		}
	}
}

// shellWords reads the built-in commands that keep a line for later, and their
// like in other shells.
func (s *shell) shellWords(name string, args []field) {
	switch name {
	case "alias":
		if len(args) > 1 && !strings.Contains(args[0].text, "=") {
			s.guesswork(joined(args[1:]))
		}
	case "complete", "compgen", "mapfile", "readarray":
		for i, a := range args {
			if a.text == "-C" && i+1 < len(args) {
				s.hooked(args[i+1])
			}
		}
	case "bind":
		for i, a := range args {
			if _, cmd, ok := strings.Cut(a.text, ":"); ok && i > 0 && args[i-1].text == "-x" {
				s.hooked(a.after(strings.Trim(strings.TrimSpace(cmd), `"'`)))
			}
		}
	case "fc":
		if len(args) > 1 && args[0].text == "-s" {
			s.guesswork(joined(args[1:]))
		}
	case "history":
		if len(args) > 1 && args[0].text == "-s" {
			s.guesswork(joined(args[1:]))
		}
	case "enable":
		if flag(args, "f") {
			s.opaque("enable")
		}
	case "zargs":
		s.zargs(args)
	case "let":
		for _, a := range args {
			s.subscript(a.text)
		}
	}
}

// zargs is zsh's xargs: "zargs -- FILES -- COMMAND".
func (s *shell) zargs(args []field) {
	var parts [][]field
	cur := []field{}
	for _, a := range args {
		if a.text == "--" {
			parts, cur = append(parts, cur), []field{}
			continue
		}
		cur = append(cur, a)
	}
	if parts = append(parts, cur); len(parts) < 2 {
		return
	}
	files := parts[len(parts)-2]
	for _, f := range files {
		s.run(append(append([]field{}, parts[len(parts)-1]...), f), stream{})
	}
}
