package bash

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
)

// prints returns what the simplest programs print, so that text which is
// echoed into a shell is read as the shell would.
func (s *shell) prints(name string, args []field, in stream) stream {
	none := stream{open: true}
	for _, a := range args {
		if a.unknown || a.proc != nil {
			return none
		}
	}
	if name == "echo" && (len(args) == 0 || !strings.HasPrefix(args[0].text, "-")) {
		return knownStream(said(args))
	}
	texts := s.c.words(len(args))
	for i, a := range args {
		texts[i] = a.text
	}
	switch name {
	case "echo":
		return knownStream(echo(texts))
	case "printf":
		return printed(texts)
	case "pwd":
		if v := s.def.vars["PWD"]; len(v) == 1 && !v.isUnknown() {
			return knownStream(v[0].text() + "\n")
		}
	case "true", ":", "export", "set", "shopt", "wait", "sleep":
		return knownStream("")
	case "yes":
		return stream{open: true, endless: true}
	case "seq":
		return counted(texts)
	case "mktemp":
		return stream{open: true, known: true, text: "/tmp/tmp.XXXXXXXXXX\n"}
	case "ls", "compgen", "locate", "plocate", "mlocate":
		return s.lists(name, args)
	case "rg":
		if has(args, "--files") {
			none.trees = texts[:0:0]
			for _, o := range operands(args, "gtTjM") {
				none.trees = append(none.trees, o.text)
			}
		}
		return none
	case "dirname", "basename", "realpath", "readlink":
		return s.renames(name, args)
	}
	if s.about(name)&inFilters != 0 && filters[name] != nil && s.budget.TakeBytes(4*len(in.text)) {
		return filtered(name, texts, in)
	}
	return none
}

func knownStream(text string) stream { return stream{open: true, known: true, text: text} }

func echo(args []string) string {
	escapes, end := false, "\n"
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		if strings.Contains(args[0], "n") {
			end = ""
		}
		escapes = escapes || strings.Contains(args[0], "e")
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if escapes && strings.Contains(text, `\`) {
		if t, _, err := expand.Format(&expand.Config{}, strings.ReplaceAll(text, "%", "%%"), nil); err == nil {
			text = t
		}
	}
	return text + end
}

func printed(args []string) stream {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || args[0] == "-v" {
		return stream{open: true}
	}
	format, rest := args[0], args[1:]
	var b strings.Builder
	for range 64 {
		t, n, err := expand.Format(&expand.Config{}, unescaped(format, rest), rest)
		if err != nil {
			return stream{open: true}
		}
		b.WriteString(t)
		rest = rest[min(n, len(rest)):]
		if n == 0 || len(rest) == 0 || b.Len() > MaxShell {
			break
		}
	}
	return knownStream(b.String())
}

// reversed turns each line round.
func reversed(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		r := []rune(l)
		for a, b := 0, len(r)-1; a < b; a, b = a+1, b-1 {
			r[a], r[b] = r[b], r[a]
		}
		lines[i] = string(r)
	}
	return strings.Join(lines, "\n")
}
