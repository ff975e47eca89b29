package bash

import (
	"encoding/base64"
	"encoding/hex"
	paths "path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// prints are the programs whose output is worked out, filters aside.
var prints = toSet("date echo printf pwd true : export set shopt wait sleep yes seq mktemp ls compgen locate plocate mlocate rg dirname basename realpath readlink")

func listTexts(args []field) []string {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.text
	}
	return texts
}

var printsNothing = toSet("true : export set shopt wait sleep")

// printText returns what the simplest programs print, so that text which is
// echoed into a shell is read as the shell would.
func (s *shell) printText(name string, args []field, in stream) stream {
	none := stream{open: true}
	if slices.ContainsFunc(args, func(a field) bool { return a.unknown || a.proc != nil }) {
		return none
	}
	if name == "echo" && (len(args) == 0 || !strings.HasPrefix(args[0].text, "-")) {
		return knownStream(joinTexts(args) + "\n")
	}
	if !prints[name] && filters[name] == nil {
		return none
	}
	texts := listTexts(args)
	if printsNothing[name] {
		return knownStream("")
	}
	if name == "rg" && hasWord(args, "--files") {
		for _, o := range listOperands(args, "gtTjM") {
			none.trees = append(none.trees, o.text)
		}
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
	case "date":
		return printDate(texts)
	case "yes":
		return stream{open: true, endless: true}
	case "seq":
		return countNumbers(texts)
	case "mktemp":
		return stream{open: true, known: true, text: "/tmp/tmp.XXXXXXXXXX\n"}
	case "ls", "compgen", "locate", "plocate", "mlocate":
		return s.listNames(name, args)
	case "dirname", "basename", "realpath", "readlink":
		return s.printPath(name, args)
	}
	if filters[name] != nil && s.budget.TakeBytes(2*len(in.text)) {
		return runFilter(name, texts, in)
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

// filter works out what a program makes of a known input; ok is false where
// that can't be said.
type filter func(args []string, in string) (out string, ok bool)

var filters = map[string]filter{
	"cat": passText, "tee": passAlways, "sort": passAlways, "uniq": passAlways, "tac": reverseOrder, "rev": passEach(reverseLines),
	"head": printHead, "tail": printTail, "cut": cutColumns, "tr": translateText, "base64": decodeBase64, "xxd": decodeHex,
	"sed": replaceText, "awk": printColumns, "gawk": printColumns, "mawk": printColumns,
	"grep": siftLines, "egrep": siftLines, "fgrep": siftLines,
}

// runFilter returns what a filter prints of its input.
func runFilter(name string, args []string, in stream) stream {
	none := stream{open: true}
	if in.known {
		if f := filters[name]; len(in.text) <= MaxShell {
			if t, ok := f(args, in.text); ok && len(t) <= MaxShell {
				return knownStream(t)
			}
		}
		return none
	}
	switch name {
	case "cat", "sort", "uniq", "tac", "tr", "tee":
		none.trees, none.some, none.endless = in.trees, in.some, in.endless
	case "grep", "egrep", "fgrep", "head", "tail":
		// Fewer of the same.
		none.some = slices.Clone(in.some)
		for _, t := range in.trees {
			none.some = append(none.some, strings.TrimSuffix(strings.TrimRight(t, "*"), "/")+"/$entry")
		}
	}
	return none
}

func passText(args []string, in string) (string, bool) {
	return in, len(args) == 0 || strings.Join(args, " ") == "-"
}

func passAlways(_ []string, in string) (string, bool) { return in, true }

func reverseOrder(_ []string, in string) (string, bool) {
	lines := strings.SplitAfter(in, "\n")
	slices.Reverse(lines)
	return strings.Join(lines, ""), true
}

func passEach(f func(string) string) filter {
	return func(args []string, in string) (string, bool) { return f(in), len(args) == 0 }
}

// findOption returns what follows a short option, in its word or in the next.
func findOption(args []string, short string, long string) (string, bool) {
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, "--"+long+"="); ok {
			return v, true
		}
		if a == short || a == "--"+long {
			if i+1 < len(args) {
				return args[i+1], true
			}
			return "", false
		}
		if v, ok := strings.CutPrefix(a, short); ok {
			return v, true
		}
	}
	return "", false
}

// printHead is what head prints.
func printHead(args []string, in string) (string, bool) {
	n, bytes, ok := readAmount(args)
	switch {
	case !ok:
		return "", false
	case bytes:
		return in[:min(n, len(in))], true
	}
	lines := strings.SplitAfter(in, "\n")
	return strings.Join(lines[:min(n, len(lines))], ""), true
}

// printTail is what tail prints.
func printTail(args []string, in string) (string, bool) {
	n, bytes, ok := readAmount(args)
	switch {
	case !ok:
		return "", false
	case bytes:
		return in[len(in)-min(n, len(in)):], true
	}
	lines := strings.SplitAfter(strings.TrimSuffix(in, "\n"), "\n")
	return strings.Join(lines[len(lines)-min(n, len(lines)):], ""), true
}

// readAmount is how many bytes or lines head and tail print.
func readAmount(args []string) (n int, bytes, ok bool) {
	text := "10"
	if c, given := findOption(args, "-c", "bytes"); given {
		text, bytes = c, true
	} else if c, given := findOption(args, "-n", "lines"); given {
		text = c
	} else if len(args) > 0 && len(args[0]) > 1 && isNumber(args[0][1:]) {
		text = args[0][1:]
	} else if len(args) > 0 && (len(args) > 1 || args[0] != "-q") {
		return 0, false, false
	}
	n, err := strconv.Atoi(text)
	return n, bytes, err == nil && n >= 0 && !strings.HasPrefix(text, "+")
}

// cutColumns is cut -c and cut -d -f, of one field or a range.
func cutColumns(args []string, in string) (string, bool) {
	list, chars := findOption(args, "-c", "characters")
	if !chars {
		list, chars = findOption(args, "-b", "bytes")
	}
	delim := "\t"
	if d, ok := findOption(args, "-d", "delimiter"); ok {
		delim = d
	}
	if !chars {
		var ok bool
		if list, ok = findOption(args, "-f", "fields"); !ok {
			return "", false
		}
	}
	from, to, dash := strings.Cut(list, "-")
	lo, err1 := strconv.Atoi(orElse(from, "1"))
	hi := lo
	var err2 error
	if dash {
		hi, err2 = strconv.Atoi(orElse(to, "65536"))
	}
	if err1 != nil || err2 != nil || lo < 1 || hi < lo || delim == "" {
		return "", false
	}
	var out strings.Builder
	for line := range strings.Lines(in) {
		line = strings.TrimSuffix(line, "\n")
		switch parts := strings.Split(line, delim); {
		case chars:
			out.WriteString(line[min(lo-1, len(line)):min(hi, len(line))])
		case len(parts) == 1:
			out.WriteString(line)
		default:
			out.WriteString(strings.Join(parts[min(lo-1, len(parts)):min(hi, len(parts))], delim))
		}
		out.WriteByte('\n')
	}
	return out.String(), true
}

// translateText is tr with sets of plain characters and ranges.
func translateText(args []string, in string) (string, bool) {
	mode := ""
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		mode, args = mode+args[0][1:], args[1:]
	}
	if strings.Trim(mode, "ds") != "" || len(args) == 0 || strings.Contains(args[0], "[:") && !strings.Contains(mode, "d") {
		return "", false
	}
	from := listMembers(args[0])
	if strings.Contains(mode, "d") {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(from, r) {
				return -1
			}
			return r
		}, in), true
	}
	if len(args) < 2 || from == "" {
		return in, mode == "s"
	}
	f, t := []rune(from), []rune(listMembers(args[1]))
	if len(t) == 0 {
		return "", false
	}
	return strings.Map(func(r rune) rune {
		if i := slices.Index(f, r); i >= 0 {
			return t[min(i, len(t)-1)]
		}
		return r
	}, in), true
}

var classes = strings.NewReplacer("[:space:]", " \t\n\r", "[:upper:]", "A-Z", "[:lower:]", "a-z", "[:digit:]", "0-9", "[:alpha:]", "A-Za-z")

// listMembers writes out a set of tr: "a-z", "\n", "[:space:]".
func listMembers(set string) string {
	if strings.Contains(set, "[:") {
		set = classes.Replace(set)
	}
	set = readEscapes(set)
	var out []rune
	r := []rune(set)
	for i := 0; i < len(r) && len(out) < 1024; i++ {
		if i+2 < len(r) && r[i+1] == '-' && r[i] <= r[i+2] && r[i+2]-r[i] < 256 {
			for c := r[i]; c <= r[i+2]; c++ {
				out = append(out, c)
			}
			i += 2
			continue
		}
		out = append(out, r[i])
	}
	return string(out)
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

func decodeBase64(args []string, in string) (string, bool) {
	if !slices.ContainsFunc(args, func(a string) bool {
		return a == "--decode" || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.ContainsAny(a, "dD")
	}) {
		return base64.StdEncoding.EncodeToString([]byte(in)) + "\n", len(args) == 0
	}
	text := strings.TrimRight(strings.Join(strings.Fields(in), ""), "=")
	b, err := base64.RawStdEncoding.DecodeString(text)
	return string(b), err == nil
}

func decodeHex(args []string, in string) (string, bool) {
	flags := strings.Join(args, " ")
	if !strings.Contains(flags, "r") || !strings.Contains(flags, "p") {
		return "", false
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(in), ""))
	return string(b), err == nil
}

// siftLines is grep: what it may print is at most what it is fed.
func siftLines(args []string, in string) (string, bool) {
	ops := 0
	for _, a := range args {
		if a == "" || a[0] != '-' {
			ops++
		}
		if len(a) > 1 && a[0] == '-' && strings.ContainsAny(a[1:], "cnoqbHlLAB") {
			return "", false
		}
	}
	return in, ops == 1
}

// replaceText is sed with one or more s commands on plain text.
func replaceText(args []string, in string) (string, bool) {
	if len(args) == 2 && (args[0] == "-e" || args[0] == "-E" || args[0] == "-r") {
		args = args[1:]
	}
	if len(args) != 1 || len(args[0]) > 256 {
		return "", false
	}
	for _, c := range strings.Split(args[0], ";") {
		c = strings.TrimSpace(c)
		if len(c) < 4 || c[0] != 's' {
			return "", false
		}
		parts := strings.Split(c[2:], c[1:2])
		if len(parts) != 3 || strings.Trim(parts[2], "gI") != "" || strings.ContainsAny(parts[1], `\&`) {
			return "", false
		}
		re, err := regexp.Compile("(?m)" + parts[0])
		if err != nil {
			return "", false
		}
		if (len(in)+1)*(len(parts[1])+1) > maxBytes { // each place may be replaced
			return "", false
		}
		with := strings.ReplaceAll(parts[1], "$", "$$")
		if parts[2] == "" {
			if at := re.FindStringIndex(in); at != nil && strings.Count(strings.TrimSuffix(in, "\n"), "\n") == 0 {
				in = in[:at[0]] + parts[1] + in[at[1]:]
				continue
			}
		}
		in = re.ReplaceAllString(in, with)
	}
	return in, true
}

var printColumn = regexp.MustCompile(`^\s*\{\s*print\s+\$(\d)\s*;?\s*\}\s*$`)

// printColumns is awk '{print $2}'.
func printColumns(args []string, in string) (string, bool) {
	sep, prog := "", ""
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-F" && i+1 < len(args):
			i++
			sep = args[i]
		case strings.HasPrefix(args[i], "-F"):
			sep = args[i][2:]
		case prog == "":
			prog = args[i]
		default:
			return "", false
		}
	}
	m := printColumn.FindStringSubmatch(prog)
	if m == nil {
		return "", false
	}
	n := int(m[1][0] - '0')
	var out strings.Builder
	for line := range strings.Lines(in) {
		line = strings.TrimSuffix(line, "\n")
		parts := strings.Fields(line)
		if sep != "" && sep != " " {
			parts = strings.Split(line, sep)
		}
		switch {
		case n == 0:
			out.WriteString(line)
		case n <= len(parts):
			out.WriteString(parts[n-1])
		}
		out.WriteByte('\n')
	}
	return out.String(), true
}
