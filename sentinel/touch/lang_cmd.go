package touch

import (
	"regexp"
	"slices"
	"strings"
)

// wholeWindows is a drive as a whole, or what no Windows can be without.
var wholeWindows = regexp.MustCompile(`(?i)^(?:(?:[a-z]:|%systemdrive%|\$env:systemdrive)[\\/]*|[\\/]+)(?:\*(?:\.\*)?|windows(?:[\\/]system32)?|users|program ?files[^\\/]*|programdata)?[\\/]*\*?$|^(?:%|\$env:)(?:systemroot|windir|programfiles|userprofile|systemdrive|homepath)%?[\\/]*\*?$`)

// commandCom reads "cmd /c …".
func (s *shell) commandCom(args []field, in stream) {
	for i, a := range args {
		if t := strings.ToLower(a.text); len(t) > 1 && t[0] == '/' && (t[1] == 'c' || t[1] == 'k' || t[1] == 'r') {
			words := make([]string, 0, len(args))
			if len(t) > 2 {
				words = append(words, a.text[2:])
			}
			for _, f := range args[i+1:] {
				words = append(words, f.text)
				if f.unknown {
					s.opaque("cmd")
				}
			}
			s.batch(strings.Join(words, " "))
			return
		}
	}
	if in.known {
		s.batch(in.text)
	}
}

var batchBomb = regexp.MustCompile(`(?i)%0\s*\|\s*%0|\bfor\s+/l\b[^\n]*\(\s*\d+\s*,\s*0\s*,[^\n]*\bstart\b|:(\w+)[\s\S]*\bstart\b[\s\S]*\bgoto\b`)

// batch reads a command line of Windows' own shell.
func (s *shell) batch(text string) {
	if len(text) > maxCode || s.level > maxReparse {
		s.spent.over = true
		return
	}
	s.level += 4
	defer func() { s.level -= 4 }()
	if batchBomb.MatchString(text) {
		s.danger(ForkBomb)
	}
	if batchAll.MatchString(text) {
		s.danger(RmSystem)
	}
	if diskpartLoss.MatchString(echoed.ReplaceAllString(text, "\n$1\n")) && strings.Contains(strings.ToLower(text), "diskpart") {
		s.danger(DeviceWrite)
	}
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '&' || r == '|' || r == '\n' || r == '(' || r == ')' }) {
		words := batchWords(line)
		for len(words) > 1 && (strings.EqualFold(words[0], "call") || strings.EqualFold(words[0], "start") || strings.EqualFold(words[0], "do") || words[0] == "@") {
			words = words[1:]
		}
		if i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, "do") }); i >= 0 && i+1 < len(words) {
			words = words[i+1:]
		}
		if len(words) > 0 {
			s.batchCommand(words)
		}
	}
}

func batchWords(line string) []string {
	var out []string
	var b strings.Builder
	quoted := false
	for i := range len(line) {
		switch c := line[i]; {
		case c == '"':
			quoted = !quoted
		case c == '^' && !quoted:
		case (c == ' ' || c == '\t') && !quoted:
			if b.Len() > 0 {
				out = append(out, b.String())
				b.Reset()
			}
		default:
			b.WriteByte(c)
		}
	}
	if b.Len() > 0 {
		out = append(out, b.String())
	}
	return out
}

func (s *shell) batchCommand(words []string) {
	name := programName(words[0])
	all := strings.ToLower(strings.Join(words[1:], " "))
	help := strings.Contains(all, "/?")
	switch name {
	case "rd", "rmdir", "del", "erase":
		for _, w := range words[1:] {
			if strings.HasPrefix(w, "/") && len(w) <= 3 {
				continue
			}
			f := field{text: w, bare: w}
			s.path(f, Delete)
			if strings.Contains(all, "/s") && !help && wholeWindows.MatchString(w) {
				s.danger(RmSystem)
			}
		}
	case "format":
		if len(words) > 1 && len(words[1]) == 2 && words[1][1] == ':' && !help {
			s.danger(MakeFS)
		}
	case "type", "more", "copy":
		for _, w := range words[1:] {
			s.mentions([]field{{text: w, bare: w}})
		}
	default:
		f := s.fork()
		f.quiet = true
		f.run(literals(words), stream{})
	}
}
