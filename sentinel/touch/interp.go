package touch

import (
	"regexp"
	"slices"
	"strings"
)

// language says how an interpreter takes its program.
type language struct {
	code  string // short options whose value is the program
	stops string // short options that take the rest of their word
	long  []string
	first bool // the first operand is the program: awk
}

var languages = map[string]language{
	"python": {code: "c", stops: "mWX"}, "pypy": {code: "c", stops: "mWX"}, "perl": {code: "eE", stops: "MmIDV"}, "ruby": {code: "e", stops: "rIECKWT"}, "node": {code: "ep", stops: "rC", long: []string{"--eval", "--print"}},
	"nodejs": {code: "ep", long: []string{"--eval", "--print"}}, "bun": {code: "e", long: []string{"--eval"}}, "deno": {code: ""},
	"php": {code: "rBRE"}, "lua": {code: "e", stops: "l"}, "tclsh": {}, "osascript": {code: "e"}, "pwsh": {code: "c", long: []string{"-Command", "-command"}},
	"powershell": {code: "c", long: []string{"-Command", "-command"}}, "awk": {first: true}, "gawk": {first: true}, "mawk": {first: true}, "nawk": {first: true},
	"rscript": {code: "e"}, "julia": {code: "eE"}, "groovy": {code: "e"},
}

// interpreter returns how name takes programs: "python3.12" is python.
func interpreter(name string) (language, bool) {
	l, ok := languages[strings.TrimRight(name, "0123456789.")]
	return l, ok
}

// interpret looks for a program among an interpreter's arguments, or on its
// input.
func (s *shell) interpret(name string, l language, args []field, in stream) {
	script := false
	for i := 0; i < len(args); i++ {
		a := args[i].text
		switch {
		case slices.Contains(l.long, a) && i+1 < len(args):
			s.code(args[i+1])
			return
		case len(a) > 1 && a[0] == '-' && a[1] != '-':
			if l.code != "" && l.inline(a[1:]) {
				s.inlineCode(l, args[i:])
				script = true
				i++
				continue
			}
			s.mentions(args[i : i+1])
		case a == "-" || strings.HasPrefix(a, "--"):
		case !script && l.first:
			s.code(args[i])
			script = true
		case !script:
			script = true
			s.feed(name, args[i], stream{})
		case l.first:
			s.path(args[i], Read)
		default:
			s.mentions(args[i : i+1])
		}
	}
	switch {
	case script || flag(args, "Vvh", "version", "help"):
	case in.known:
		s.code(field{text: in.text, bare: in.text})
	case in.open:
		s.opaque(name)
	}
}

// inline reports whether a cluster of short options holds the one for code.
func (l language) inline(cluster string) bool {
	for i := range len(cluster) {
		if strings.IndexByte(l.code, cluster[i]) >= 0 {
			return true
		}
		if strings.IndexByte(l.stops, cluster[i]) >= 0 {
			return false
		}
	}
	return false
}

// inlineCode reads what follows -e: the rest of the word, or the next one.
func (s *shell) inlineCode(l language, args []field) {
	at := strings.IndexAny(args[0].text[1:], l.code)
	if rest := args[0].text[at+2:]; len(rest) > 1 {
		s.code(field{text: rest, bare: rest, unknown: args[0].unknown})
	}
	if len(args) > 1 {
		s.code(args[1])
	}
}

var (
	// runsText are the ways in which programs run command lines.
	runsText = regexp.MustCompile("(?i)\\b(system|exec\\w*|popen\\w*|spawn\\w*|subprocess|shell_exec|passthru|proc_open|check_call|check_output|do shell script|fork)\\b|%x|`|\\bqx\\b|\\|\\s*getline|print\\s*\\|")
	// removesTrees are the functions that remove a folder with all in it.
	removesTrees = regexp.MustCompile(`(?i)\b(rmtree|rm_rf|rm_r|rmsync|rm|rimraf|remove_tree|removesync|rmdirsync|remove_entry\w*|deltree|remove-item|rmdir|removeall|unlink\w*)\b`)
	breedsText   = regexp.MustCompile(`(?i)\bfork\s*(\(\s*\))?\s*while\s+(fork|1|true)|while\s*\(?\s*(1|true)\s*\)?\s*[:{]?\s*(os\.)?fork\b|loop\s*\{\s*fork`)
	stringText   = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`|\\b(?:%x|qx|qw|q)\\s*[{(/\\[][^})/\\]]*")
)

const maxCode = 64 << 10

// code reads a program in another language: not for what it does, but for the
// command lines and paths in its strings.
func (s *shell) code(f field) {
	text := f.text
	if f.unknown {
		s.opaque("")
	}
	if len(text) > maxCode {
		s.spent.over = true
		return
	}
	s.guesswork(text)
	s.c.urls(text, Host{Arg: s.arg, Shell: true})
	if breedsText.MatchString(text) {
		s.danger(ForkBomb)
	}
	runs, removes := runsText.MatchString(text), removesTrees.MatchString(text)
	var all []string
	loose := looseAccess(text)
	for _, at := range stringText.FindAllStringIndex(text, 256) {
		q := unquote(text[at[0]:at[1]])
		all = append(all, q)
		s.codePath(text, q, at, loose)
		if runs {
			s.guesswork(q)
		}
		if removes && q != "" && (q[0] == '/' || q[0] == '~') {
			s.removeOne(field{text: q, bare: q}, true)
		}
	}
	if runs && len(all) > 1 {
		s.guesswork(strings.Join(all, " "))
	}
}

// codePath records the file that a string of a program names.
func (s *shell) codePath(text, q string, at []int, loose Access) {
	file, a := fileOf(text, q, at[0])
	if a == 0 {
		a = codeAccess(text, at[0], at[1], loose)
	}
	rooted := strings.HasPrefix(file, "/") || strings.HasPrefix(file, "~")
	switch {
	case strings.ContainsAny(file, "\n\x00") || file == "" || len(file) > maxPath:
		return
	case a == 0 && rooted:
		a = Read
	case a == 0 || !rooted && strings.ContainsAny(file, "*(){};$<>|"):
		return
	}
	f := field{text: file, bare: file}
	if a.Has(Write) {
		s.writes(f)
		a &^= Write
	}
	if a != 0 {
		s.path(f, a)
	}
}

func unquote(q string) string {
	if i := strings.IndexAny(q, "\"'`{(/["); i >= 0 {
		end := len(q)
		if strings.IndexByte("\"'`", q[i]) >= 0 && end > i+1 {
			end--
		}
		q = q[i+1 : end]
	}
	return strings.NewReplacer(`\"`, `"`, `\'`, `'`, `\/`, `/`).Replace(q)
}
