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
func (fv *fileView) printText(name string, args []field, in stream) stream {
	none := stream{open: true}
	for i := range args {
		if args[i].unknown || args[i].proc != nil {
			return none
		}
	}
	switch name {
	case "true", ":", "export", "set", "shopt", "wait", "sleep":
		return knownStream("")
	case "echo":
		var room [8]string
		return knownStream(printEcho(appendTexts(room[:0], args)))
	case "printf":
		return printFormat(listTexts(args))
	case "pwd":
		if v := fv.def.vars[folderName]; len(v) == 1 && !v.isUnknown() {
			return knownStream(v[0].text() + "\n")
		}
	case "date":
		return printDate(listTexts(args))
	case "yes":
		none.endless = true
	case "seq":
		none.endless = hasWord(args, "inf") || hasWord(args, "infinity")
	case "mktemp":
		return fv.printTemporary(args)
	case "locate", "plocate", "mlocate":
		for _, o := range listOperands(args, "dln") {
			none.some = append(none.some, "/"+strings.TrimLeft(o.text, "/"))
		}
	case "ls":
		return fv.listNames(args)
	case "rg":
		if hasWord(args, "--files") {
			for _, o := range listOperands(args, "gtTjM") {
				none.trees = append(none.trees, o.text)
			}
		}
	case "dirname", "basename", "realpath", "readlink":
		return fv.printPath(name, args)
	default:
		if filters.has(name) {
			return fv.filterText(name, listTexts(args), in)
		}
	}
	return none
}

func listTexts(args []field) []string { return appendTexts(make([]string, 0, len(args)), args) }

func appendTexts(texts []string, args []field) []string {
	for i := range args {
		texts = append(texts, args[i].text)
	}
	return texts
}

// filters print what they read, some of it, or it in another form.
var filters = newWordSet("cat sort uniq tac tr tee grep egrep fgrep head tail base64 sed awk gawk mawk cut rev xxd")

// lowers are the sets of small letters that tr is given, with those of capitals.
var lowers = map[string]string{"a-z": "A-Z", "[a-z]": "[A-Z]", "[:lower:]": "[:upper:]"}

// filterText returns what a filter prints of its input, or what names are in it.
func (fv *fileView) filterText(name string, args []string, in stream) stream {
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
	case !in.known || len(in.text) > MaxShell || !fv.budget.TakeBytes(len(in.text)):
	case plain && (name == "cat" || name == "sort" || name == "uniq"), name == "tee":
		return knownStream(in.text)
	case name == "base64" && len(args) == 1 && (args[0] == "-d" || args[0] == "-D" || args[0] == "--decode"):
		if b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(in.text), "")); err == nil {
			out := knownStream(string(b))
			out.source = fromDecoder
			return out
		}
	case name == "tr" && len(args) == 2 && lowers[args[0]] == "" && lowers[args[1]] == args[0]:
		return knownStream(strings.ToLower(in.text))
	case name == "tr" && len(args) == 2 && lowers[args[0]] != "" && lowers[args[0]] == args[1]:
		return knownStream(strings.ToUpper(in.text))
	case in.source == fromDecoder:
		fv.addUnread(UnreadCode) // it is taken further apart than is followed here
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
	if escapes {
		return readEscapes(strings.Join(args, " ")) + end
	}
	n := len(args) + len(end)
	for _, a := range args {
		n += len(a)
	}
	var b strings.Builder
	b.Grow(n)
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(a)
	}
	b.WriteString(end)
	return b.String()
}

func printFormat(args []string) stream {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || args[0] == "-v" {
		return stream{open: true}
	}
	format, rest := args[0], args[1:]
	if wideField.MatchString(format) {
		return stream{open: true}
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

// printPath is dirname, basename, realpath and readlink of one path.
func (fv *fileView) printPath(name string, args []field) stream {
	ops := listOperands(args, "s")
	if len(ops) != 1 {
		return stream{open: true}
	}
	t := ops[0].text
	switch name {
	case "dirname":
		t = paths.Dir(strings.TrimRight(t, "/"))
		if strings.HasPrefix(ops[0].text, "/") && t == "." {
			t = "/"
		}
	case "basename":
		t = paths.Base(t)
	default:
		t = fv.links.Follow(fv.resolvePath(t)[0])
	}
	return knownStream(t + "\n")
}

// printTemporary is mktemp. The letters that mktemp chooses stay as its template has
// them: what counts is the folder, which later commands may go up from. Options that
// name a folder make the whole text unknown.
func (fv *fileView) printTemporary(args []field) stream {
	template, inTemporary := "", false
	for _, a := range args {
		switch a.text {
		case "-d", "-q", "-u", "--directory", "--quiet":
		case "-t", "-dt":
			inTemporary = true
		default:
			if strings.HasPrefix(a.text, "-") || template != "" {
				return stream{open: true}
			}
			template = a.text
		}
	}
	if template != "" && !inTemporary {
		return knownStream(template + "\n")
	}
	folder := fv.lookUpVariable("TMPDIR")
	if len(folder) != 1 || folder.isUnknown() || strings.Contains(template, "/") {
		return stream{open: true}
	}
	return knownStream(paths.Join(folder[0].text(), orElse(template, "tmp.XXXXXXXXXX")) + "\n")
}

// listNames is ls: what a pattern with a folder names is printed with it; of a
// folder, what is in it.
func (fv *fileView) listNames(args []field) stream {
	out := stream{open: true}
	ops := listOperands(args, "IwT")
	if len(ops) == 0 {
		ops = literalFields([]string{"."})
	}
	for _, o := range ops {
		pattern := strings.ContainsAny(o.text, "*?[")
		switch {
		case o.unknown:
		case pattern && path.IsEveryEntry(paths.Base(o.text)):
			out.trees = append(out.trees, o.text)
		case pattern:
			out.some = append(out.some, o.text)
		case o.text == "." || o.text == "./":
			out.trees = append(out.trees, "./*")
		default: // names without their folder
			out.some = append(out.some, "./$entry")
		}
	}
	return out
}

// wideField prints more than there may be room for: its width has three digits,
// or an argument gives it.
var wideField = regexp.MustCompile(`%[-+ #0]*(\d*\.)?(\*|\d{3})`)

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
