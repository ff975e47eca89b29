package bash

import (
	"encoding/base64"
	paths "path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// printText returns what the simplest programs print, so that text which is
// echoed into a shell is read as the shell would. What other filters make of
// known text is unknown: a shell that runs it is asked about.
func (s *shell) printText(name string, args []field, in stream) stream {
	none := stream{open: true}
	if slices.ContainsFunc(args, func(a field) bool { return a.unknown || a.proc != nil }) {
		return none
	}
	switch name {
	case "true", ":", "export", "set", "shopt", "wait", "sleep":
		return knownStream("")
	case "echo":
		return knownStream(printEcho(listTexts(args)))
	case "printf":
		return printFormat(listTexts(args))
	case "pwd":
		if v := s.def.vars["PWD"]; len(v) == 1 && !v.isUnknown() {
			return knownStream(v[0].text() + "\n")
		}
	case "date":
		return printDate(listTexts(args))
	case "yes":
		none.endless = true
	case "seq":
		none.endless = hasWord(args, "inf") || hasWord(args, "infinity")
	case "mktemp":
		return knownStream("/tmp/tmp.XXXXXXXXXX\n")
	case "ls", "compgen", "locate", "plocate", "mlocate":
		return s.listNames(name, args)
	case "rg":
		if hasWord(args, "--files") {
			for _, o := range listOperands(args, "gtTjM") {
				none.trees = append(none.trees, o.text)
			}
		}
	case "dirname", "basename", "realpath", "readlink":
		return s.printPath(name, args)
	default:
		if filters[name] {
			return s.filterText(name, listTexts(args), in)
		}
	}
	return none
}

func listTexts(args []field) []string {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.text
	}
	return texts
}

// filters print what they read, some of it, or it in another form.
var filters = toSet("cat sort uniq tac tr tee grep egrep fgrep head tail base64 sed awk gawk mawk cut rev xxd")

// lowers are the sets of small letters that tr is given, with those of capitals.
var lowers = map[string]string{"a-z": "A-Z", "[a-z]": "[A-Z]", "[:lower:]": "[:upper:]"}

// filterText returns what a filter prints of its input, or what names are in it.
func (s *shell) filterText(name string, args []string, in stream) stream {
	none := stream{open: true}
	switch name {
	case "cat", "sort", "uniq", "tac", "tr", "tee":
		none.trees, none.some, none.endless = in.trees, in.some, in.endless
	case "grep", "egrep", "fgrep", "head", "tail": // fewer of the same
		none.some = slices.Clone(in.some)
		for _, t := range in.trees {
			none.some = append(none.some, strings.TrimSuffix(strings.TrimRight(t, "*"), "/")+"/$entry")
		}
	}
	plain := len(args) == 0 || len(args) == 1 && args[0] == "-"
	switch {
	case !in.known || len(in.text) > MaxShell || !s.budget.TakeBytes(len(in.text)):
	case plain && (name == "cat" || name == "sort" || name == "uniq"), name == "tee":
		return knownStream(in.text)
	case name == "base64" && len(args) == 1 && (args[0] == "-d" || args[0] == "-D" || args[0] == "--decode"):
		if b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(in.text), "")); err == nil {
			out := knownStream(string(b))
			out.decoded = true
			return out
		}
	case name == "tr" && len(args) == 2 && lowers[args[0]] == "" && lowers[args[1]] == args[0]:
		return knownStream(strings.ToLower(in.text))
	case name == "tr" && len(args) == 2 && lowers[args[0]] != "" && lowers[args[0]] == args[1]:
		return knownStream(strings.ToUpper(in.text))
	case in.decoded:
		s.addUnread(UnreadCode) // it is taken further apart than is followed here
	}
	return none
}

// printDate is date with a format: what the clock says are digits, and what the
// format says besides is its own.
func printDate(args []string) stream {
	for _, a := range args {
		if format, ok := strings.CutPrefix(a, "+"); ok {
			return knownStream(dateFields.ReplaceAllString(format, "00") + "\n")
		}
	}
	return stream{open: true}
}

// dateFields are the marks in a format that stand for digits.
var dateFields = regexp.MustCompile(`%[-_0^#+]?[0-9]*[dFHIjkClmMNsSTuUVwWyYgGeqDR]`)

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
	if starWidth.MatchString(format) || sumWidths(format) > MaxShell {
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

// starWidth is a width that an argument gives.
var starWidth = regexp.MustCompile(`%[-+ #0]*(\*|\d*\.\*)`)

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

var octalEscape = regexp.MustCompile(`\\0([0-7]{1,3})`)

// readEscapes reads the backslashes that printf, echo -e and tr know.
func readEscapes(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	text = octalEscape.ReplaceAllString(text, `\$1`)
	t, _, err := expand.Format(&expand.Config{}, strings.ReplaceAll(text, "%", "%%"), nil)
	if err != nil {
		return text
	}
	return t
}

// unescapeFormat is a format whose %b are %s, their arguments' escapes read.
func unescapeFormat(format string, args []string) string {
	if !strings.Contains(format, "%b") {
		return format
	}
	for i := range args {
		args[i] = readEscapes(args[i])
	}
	return strings.ReplaceAll(format, "%b", "%s")
}
