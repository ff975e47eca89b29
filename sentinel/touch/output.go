package touch

import (
	"encoding/base64"
	"encoding/hex"
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
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.text
	}
	switch name {
	case "echo":
		return known(echo(texts))
	case "printf":
		return printed(texts)
	case "pwd":
		if v := s.vars["PWD"]; len(v) == 1 && !v.unknown() {
			return known(v[0].text() + "\n")
		}
	case "true", ":", "export", "set", "shopt":
		return known("")
	case "cat", "tac", "tee", "sort", "uniq", "head", "tail", "rev", "base64", "tr", "xxd", "ls":
		return filtered(name, texts, in)
	}
	return none
}

func known(text string) stream { return stream{open: true, known: true, text: text} }

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
		t, n, err := expand.Format(&expand.Config{}, format, rest)
		if err != nil {
			return stream{open: true}
		}
		b.WriteString(t)
		rest = rest[min(n, len(rest)):]
		if n == 0 || len(rest) == 0 || b.Len() > MaxShell {
			break
		}
	}
	return known(b.String())
}

func filtered(name string, args []string, in stream) stream {
	none := stream{open: true}
	if !in.known {
		if name == "cat" || name == "sort" || name == "uniq" || name == "tac" || name == "tr" {
			none.trees = in.trees
		}
		return none
	}
	flags := strings.Join(args, " ")
	switch name {
	case "cat", "tee", "sort", "uniq", "head", "tail", "tac":
		if len(args) == 0 || flags == "-" || name != "cat" {
			return in
		}
	case "rev":
		if len(args) == 0 {
			return known(reversed(in.text))
		}
	case "xxd":
		if strings.Contains(flags, "-r") && strings.Contains(flags, "p") {
			if b, err := hex.DecodeString(strings.Join(strings.Fields(in.text), "")); err == nil {
				return known(string(b))
			}
		}
	case "base64":
		if strings.Contains(flags, "-d") || strings.Contains(flags, "-D") {
			text := strings.Join(strings.Fields(in.text), "")
			if b, err := base64.StdEncoding.DecodeString(text); err == nil {
				return known(string(b))
			}
		}
	}
	return none
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
