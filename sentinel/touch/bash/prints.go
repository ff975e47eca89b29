package bash

import (
	paths "path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// printText returns what the simplest programs print, so that text which is
// echoed into a shell is read as the shell would.
func (s *shell) printText(name string, args []field, in stream) stream {
	none := stream{open: true}
	for _, a := range args {
		if a.unknown || a.proc != nil {
			return none
		}
	}
	if name == "echo" && (len(args) == 0 || !strings.HasPrefix(args[0].text, "-")) {
		return knownStream(joinTexts(args) + "\n")
	}
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.text
	}
	switch name {
	case "echo":
		return knownStream(printEcho(texts))
	case "printf":
		return printFormat(texts)
	case "pwd":
		if v := s.def.vars["PWD"]; len(v) == 1 && !v.isUnknown() {
			return knownStream(v[0].text() + "\n")
		}
	case "true", ":", "export", "set", "shopt", "wait", "sleep":
		return knownStream("")
	case "yes":
		return stream{open: true, endless: true}
	case "seq":
		return countNumbers(texts)
	case "mktemp":
		return stream{open: true, known: true, text: "/tmp/tmp.XXXXXXXXXX\n"}
	case "ls", "compgen", "locate", "plocate", "mlocate":
		return s.listNames(name, args)
	case "rg":
		if hasWord(args, "--files") {
			none.trees = texts[:0:0]
			for _, o := range listOperands(args, "gtTjM") {
				none.trees = append(none.trees, o.text)
			}
		}
		return none
	case "dirname", "basename", "realpath", "readlink":
		return s.printPath(name, args)
	}
	if filters[name] != nil && s.budget.TakeBytes(2*len(in.text)) {
		return runFilter(name, texts, in)
	}
	return none
}

func printEcho(args []string) string {
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

func printFormat(args []string) stream {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || args[0] == "-v" {
		return stream{open: true}
	}
	format, rest := args[0], args[1:]
	if strings.Contains(format, "*") || sumWidths(format) > MaxShell {
		return stream{open: true} // "%9999999d" prints more than there is room for
	}
	var b strings.Builder
	for range 64 {
		t, n, err := expand.Format(&expand.Config{}, unescapeFormat(format, rest), rest)
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

// reverseLines turns each line round.
func reverseLines(text string) string {
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

// countNumbers is seq; without an end it never stops.
func countNumbers(args []string) stream {
	if slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "inf") || strings.EqualFold(a, "infinity") }) {
		return stream{open: true, endless: true}
	}
	from := 1
	var to int
	var err error
	switch len(args) {
	case 1:
		to, err = strconv.Atoi(args[0])
	case 2:
		var err2 error
		from, err2 = strconv.Atoi(args[0])
		if to, err = strconv.Atoi(args[1]); err2 != nil {
			err = err2
		}
	default:
		return stream{open: true}
	}
	if err != nil || to-from > maxAlts {
		return stream{open: true}
	}
	var out strings.Builder
	for i := from; i <= to; i++ {
		out.WriteString(strconv.Itoa(i))
		out.WriteByte('\n')
	}
	return knownStream(out.String())
}

// printPath is dirname, basename, realpath and readlink, which print a path.
func (s *shell) printPath(name string, args []field) stream {
	ops := listOperands(args, "s")
	if len(ops) == 0 || len(ops) > 8 {
		return stream{open: true}
	}
	if name == "basename" && len(ops) == 2 && !hasFlag(args, "a", "multiple") {
		t := paths.Base(ops[0].text)
		if cutOff := strings.TrimSuffix(t, ops[1].text); cutOff != "" {
			t = cutOff
		}
		return knownStream(t + "\n")
	}
	var out strings.Builder
	for _, o := range ops {
		t := o.text
		switch name {
		case "dirname":
			t = paths.Dir(strings.TrimRight(t, "/"))
			if strings.HasPrefix(o.text, "/") && t == "." {
				t = "/"
			}
		case "basename":
			t = paths.Base(t)
		case "realpath", "readlink":
			if t = s.resolvePath(t)[0]; name == "realpath" || hasFlag(args, "fem", "canonicalize") {
				t = s.links.Follow(t)
			}
		}
		out.WriteString(t)
		out.WriteByte('\n')
	}
	return knownStream(out.String())
}

// listNames is ls and what else prints names of files: what a pattern with a folder
// names is printed with it; of a folder, what is in it.
func (s *shell) listNames(name string, args []field) stream {
	out := stream{open: true}
	if name == "compgen" {
		if len(args) == 2 && args[0].text == "-G" {
			out.trees = append(out.trees, args[1].text)
		}
		return out
	}
	ops := listOperands(args, "IwT")
	if name != "ls" {
		for _, o := range ops {
			out.some = append(out.some, "/"+strings.TrimLeft(o.text, "/"))
		}
		return out
	}
	if len(ops) == 0 {
		ops = literalFields([]string{"."})
	}
	for _, o := range ops {
		last := paths.Base(o.text)
		switch {
		case o.unknown:
		case strings.ContainsAny(o.text, "*?[") && path.IsEveryEntry(last):
			out.trees = append(out.trees, o.text)
		case strings.ContainsAny(o.text, "*?["):
			out.some = append(out.some, o.text)
		case o.text == "." || o.text == "./":
			out.trees = append(out.trees, "./*")
		default: // names without their folder
			out.some = append(out.some, "./$entry")
		}
	}
	return out
}

// sumWidths adds the numbers in a format, each of which may be a width.
func sumWidths(format string) int {
	sum, n := 0, 0
	for i := range len(format) {
		if isDigit(format[i]) {
			n = min(n*10+int(format[i]-'0'), MaxShell)
			continue
		}
		sum, n = min(sum+n, 2*MaxShell), 0
	}
	return sum + n
}
