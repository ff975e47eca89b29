package touch

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// powershell reads what PowerShell is given: text behind -Command, also
// encoded, or the words themselves.
func (s *shell) powershell(name string, args []field, in stream) {
	for i := 0; i < len(args); i++ {
		a := args[i].text
		opt := strings.ToLower(strings.TrimLeft(a, "-/"))
		dashed := a != opt && (strings.HasPrefix(a, "-") || strings.HasPrefix(a, "/")) && opt != ""
		switch {
		case dashed && (opt == "ec" || opt[0] == 'e' && strings.HasPrefix("encodedcommand", opt)): //nolint:gocritic // options may be cut short
			if i+1 < len(args) {
				s.encodedPower(name, args[i+1])
			}
			return
		case dashed && (strings.HasPrefix("commandwithargs", opt) || opt == "cwa"): //nolint:gocritic // the same
			s.powerWords(name, args[i+1:], in)
			return
		case dashed && strings.HasPrefix("file", opt): //nolint:gocritic // the same
			if i+1 < len(args) {
				s.feed(name, args[i+1], in)
			}
			return
		case dashed && slices.ContainsFunc([]string{"executionpolicy", "ep", "version", "windowstyle", "workingdirectory", "wd", "configurationname", "outputformat", "inputformat", "psconsolefile", "settingsfile"}, func(o string) bool { return strings.HasPrefix(o, opt) }):
			i++
		case dashed && i+1 < len(args):
		case !dashed && a != "":
			s.powerWords(name, args[i:], in)
			return
		}
	}
	switch {
	case flag(args, "vh", "version", "help") && !in.known:
	case in.known:
		s.power(name, in.text)
	case in.open:
		s.opaque(name)
	}
}

func (s *shell) encodedPower(name string, f field) {
	b, err := base64.StdEncoding.DecodeString(f.text)
	if f.unknown || err != nil || len(b)%2 != 0 {
		s.opaque(name)
		return
	}
	u := make([]uint16, len(b)/2)
	for i := range u {
		u[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
	}
	s.power(name, string(utf16.Decode(u)))
}

func (s *shell) powerWords(name string, args []field, in stream) {
	if len(args) == 1 && args[0].text == "-" {
		if in.known {
			s.power(name, in.text)
		} else if in.open {
			s.opaque(name)
		}
		return
	}
	texts := make([]string, len(args))
	for i, a := range args {
		if a.unknown {
			s.opaque(name)
		}
		texts[i] = a.text
	}
	s.power(name, strings.Join(texts, " "))
}

var (
	// powerNames are PowerShell's short names of its own commands.
	powerNames = map[string]string{
		"ri": "remove-item", "rm": "remove-item", "rmdir": "remove-item", "rd": "remove-item", "del": "remove-item", "erase": "remove-item", "gc": "get-content", "cat": "get-content", "type": "get-content", "sc": "set-content", "ac": "add-content",
		"clc": "clear-content", "gci": "get-childitem", "ls": "get-childitem", "dir": "get-childitem", "iex": "invoke-expression", "mi": "move-item", "mv": "move-item", "move": "move-item", "ci": "copy-item", "cp": "copy-item", "cpi": "copy-item", "saps": "start-process", "start": "start-process", "icm": "invoke-command",
	}
	powerReads  = set("get-content get-childitem get-item import-csv select-string get-acl import-clixml copy-item test-path get-filehash")
	powerWrites = set("set-content add-content out-file clear-content new-item export-csv tee-object set-acl set-itemproperty export-clixml")
	powerDisks  = map[string]string{
		"format-volume": MakeFS, "clear-disk": DeviceWrite, "initialize-disk": DeviceWrite, "remove-partition": DeviceWrite, "reset-physicaldisk": DeviceWrite, "remove-virtualdisk": VolumeDestroy, "remove-storagepool": VolumeDestroy, "clear-storagediagnosticinfo": "", "remove-volume": VolumeDestroy,
	}
	// powerCalls is "&" with a name that is made up on the way.
	powerCalls = regexp.MustCompile(`(?:^|[\s;{(])&\s*[($]`)
	powerNet   = regexp.MustCompile(`(?i)\bdelete\(\s*\)|shadowcopy`)
)

// power reads a PowerShell program: each command's words, and the strings.
func (s *shell) power(name, text string) {
	if len(text) > maxCode || s.level > maxReparse {
		s.spent.over = true
		return
	}
	s.level += 8
	defer func() { s.level -= 8 }()
	s.c.urls(text, Host{Arg: s.arg, Shell: true})
	if hasWord(text, "win32_shadowcopy") && powerNet.MatchString(text) || hasWord(text, "win32_shadowcopy") && hasWord(text, "remove-") {
		s.doubt(BackupLoss)
	}
	s.readsCode(text, dialects["power"], "")
	if powerDials.MatchString(text) {
		s.metadata(literals(strings.Fields(text)))
	}
	if powerBomb.MatchString(text) {
		s.danger(ForkBomb)
	}
	if powerHive.MatchString(text) {
		s.danger(RmSystem)
	}
	if strings.Contains(strings.ToLower(text), "$profile") && powerProfile.MatchString(text) {
		s.writes(field{text: "~/.config/powershell/profile.ps1", bare: "~/.config/powershell/profile.ps1"})
	}
	if powerCalls.MatchString(text) || downloads.MatchString(text) {
		s.opaque(name)
	}
	var piped, last []string
	for _, words := range powerCommands(text) {
		pipe := len(words) > 0 && words[0] == "|"
		if pipe {
			words = words[1:]
		} else {
			piped = nil
		}
		if len(words) == 0 {
			continue
		}
		if strings.EqualFold(words[0], ".delete") {
			words, piped, pipe = []string{"remove-item", "-recurse"}, last, true
		}
		piped = s.powerCommand(name, words, piped, pipe)
		last = piped
	}
}

func hasWord(text, w string) bool { return strings.Contains(strings.ToLower(text), w) }

// powerCommands splits a program into commands and their words. A command that
// is fed by the one before starts with "|".
func powerCommands(text string) [][]string {
	var out [][]string
	var cur []string
	var b strings.Builder
	word := func() {
		if b.Len() > 0 {
			cur = append(cur, b.String())
			b.Reset()
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"', '\'':
			j := strings.IndexByte(text[i+1:], c)
			if j < 0 {
				j = len(text) - i - 1
			}
			b.WriteString(text[i+1 : i+1+j])
			i += j + 1
		case '`':
			if i++; i < len(text) && text[i] != '\n' {
				b.WriteByte(text[i])
			}
		case ' ', '\t', ',':
			word()
		case ';', '\n', '\r', '{', '}', '(', ')', '&', '|':
			word()
			if len(cur) > 0 && (len(cur) > 1 || cur[0] != "|") {
				out = append(out, cur)
			}
			cur = nil
			if c == '|' {
				cur = append(cur, "|")
			}
		default:
			b.WriteByte(c)
		}
	}
	word()
	if len(cur) > 0 {
		out = append(out, cur)
	}
	return out
}

// powerCommand reads one command and returns the paths that it hands on.
func (s *shell) powerCommand(shell string, words, piped []string, fed bool) []string {
	name := strings.ToLower(words[0])
	if long := powerNames[name]; long != "" {
		name = long
	}
	paths, deep := powerOperands(words[1:])
	what := slices.Concat(paths, piped)
	switch {
	case powerDisks[name] != "" && !slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, "-whatif") }):
		s.danger(powerDisks[name])
	case name == "remove-item":
		for _, p := range what {
			f := field{text: p, bare: p, tree: fed && deep}
			s.path(f, Delete)
			s.removeOne(f, deep || fed)
			if wholeWindows.MatchString(p) && (deep || fed) {
				s.danger(RmSystem)
			}
		}
	case name == "invoke-expression":
		if rest := strings.Join(paths, " "); rest != "" && rest[0] != '$' {
			s.power(shell, rest)
		} else if fed || rest != "" {
			s.opaque(shell)
		}
	case name == "start-process" || name == "invoke-command":
		s.guesswork(strings.Join(paths, " "))
	case powerReads[name]:
		s.powerPaths(paths, Read)
		return what
	case powerWrites[name]:
		s.powerPaths(paths[:min(1, len(paths))], Write)
	case strings.HasPrefix(name, "where") || strings.HasPrefix(name, "select") || strings.HasPrefix(name, "foreach") || name == "?" || name == "%":
		return what
	case strings.HasPrefix(name, "$") || strings.HasPrefix(name, "["):
	default:
		f := s.fork()
		f.quiet = true
		f.run(literals(words), stream{})
	}
	return nil
}

func (s *shell) powerPaths(paths []string, a Access) {
	for _, p := range paths {
		f := field{text: p, bare: p}
		if a == Write {
			s.writes(f)
		} else {
			s.path(f, a)
		}
	}
}

// powerOperands returns a command's paths, and whether it goes below them.
func powerOperands(words []string) (paths []string, deep bool) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if len(w) > 1 && w[0] == '-' && letter(w[1]) {
			opt := strings.ToLower(w[1:])
			switch {
			case strings.HasPrefix("recurse", opt): //nolint:gocritic // options may be cut short
				deep = true
			case slices.Contains([]string{"filter", "include", "exclude", "erroraction", "ea", "value", "encoding", "itemtype", "name", "pattern", "property"}, opt):
				i++
			}
			continue
		}
		paths = append(paths, w)
	}
	return paths, deep
}
