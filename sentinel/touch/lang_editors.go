package touch

import (
	"regexp"
	"strings"
)

// sed runs what "e" says, and reads and writes what "r" and "w" name.
func (s *shell) sed(args []field) {
	given := false
	take := func(f field) {
		given = true
		s.sedScript(f.text)
	}
	s.values(args, "e", []string{"-e", "--expression", "-ne", "-nE", "-Ee", "-re", "-ie", "-nre", "-rne", "-nEe"}, take)
	if given || flag(args, "f", "file") {
		return
	}
	if ops := operands(args, "lE"); len(ops) > 0 {
		s.sedScript(ops[0].text)
	}
}

// sedScript walks a script's commands. Those that it can't tell it skips to the
// end of the line.
func (s *shell) sedScript(text string) {
	for i := 0; i < len(text); {
		i = sedAddress(text, i)
		if i >= len(text) {
			return
		}
		c := text[i]
		end := len(text)
		if j := strings.IndexByte(text[i:], '\n'); j >= 0 {
			end = i + j
		}
		rest := strings.TrimSpace(text[i+1 : end])
		switch c {
		case 's', 'y':
			i = s.substitution(text, i)
			continue
		case 'e':
			if rest == "" || rest[0] == ';' || rest[0] == '}' {
				s.opaque("sed") // what stands in the input is run
			}
			s.guesswork(rest)
			i = end
		case 'r', 'R':
			s.path(field{text: rest, bare: rest}, Read)
			i = end
		case 'w', 'W':
			s.writes(field{text: rest, bare: rest})
			i = end
		case 'a', 'i', 'c', ':', 'b', 't', 'T', '#':
			if k := strings.IndexByte(rest, ';'); strings.IndexByte("btT:", c) >= 0 && k >= 0 {
				end = i + 1 + k
			}
			i = max(end, i+1)
		default:
			i++
		}
	}
}

// sedAddress skips what selects the lines.
func sedAddress(text string, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case c == '/' || c == '\\' && i+1 < len(text):
			if c == '\\' {
				i++
			}
			i = sedEnd(text, i+1, text[i]) + 1
		case digit(c) || strings.IndexByte("$,~+! \t\n;{}I", c) >= 0:
			i++
		default:
			return i
		}
	}
	return i
}

// sedEnd returns where the next bare delimiter is.
func sedEnd(text string, i int, q byte) int {
	for ; i < len(text) && text[i] != q; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i, len(text))
}

// substitution reads s/a/b/flags and returns where it ends. With "e" the result
// is run: whatever stands in the input, if nothing in b says otherwise.
func (s *shell) substitution(text string, i int) int {
	if i+1 >= len(text) {
		return len(text)
	}
	q := text[i+1]
	mid := sedEnd(text, i+2, q)
	end := sedEnd(text, mid+1, q)
	if mid >= len(text) || end >= len(text) {
		return len(text)
	}
	into := strings.ReplaceAll(text[mid+1:end], `\`+string(q), string(q))
	j := end + 1
	for j < len(text) && (letter(text[j]) || digit(text[j])) {
		switch {
		case text[i] != 's':
		case text[j] == 'e' || text[j] == 'E':
			s.guesswork(into)
			if k := strings.IndexAny(into, `&\`); k == 0 || into == "" {
				s.opaque("sed")
			}
		case text[j] == 'w':
			rest, _, _ := strings.Cut(text[j+1:], "\n")
			rest = strings.TrimSpace(rest)
			s.writes(field{text: rest, bare: rest})
			return j + 1 + len(rest)
		}
		j++
	}
	return j
}

// vim runs what stands behind -c and "+", and keys that it is fed.
func (s *shell) vim(name string, args []field, in stream) {
	s.values(args, "", []string{"-c", "--cmd"}, func(f field) { s.exLines(f.text) })
	for _, a := range args {
		if len(a.text) > 1 && a.text[0] == '+' {
			s.exLines(a.text[1:])
		}
	}
	if in.known && (name == "ex" || flag(args, "esS")) {
		s.exLines(in.text)
	}
}

var (
	exBang   = regexp.MustCompile(`^[\s:%.,$'<>\d]*(?:sil(?:ent)?!?\s+)?(?:(?:r(?:ead)?|w(?:rite)?)\s*)?!+\s*(.*)$`)
	exTerm   = regexp.MustCompile(`^[\s:]*(?:sil(?:ent)?!?\s+)?(?:term(?:inal)?!?|sh)\s+(.+)$`)
	exWrite  = regexp.MustCompile(`^[\s:%.,$\d]*(?:w(?:rite)?|sav(?:eas)?|wq|x)!?\s+(?:>>\s*)?([^!\s].*)$`)
	exRead   = regexp.MustCompile(`^[\s:%.,$\d]*(?:r(?:ead)?|e(?:dit)?|so(?:urce)?|split|sp|vs|tabe)!?\s+([^!\s].*)$`)
	exLater  = regexp.MustCompile(`^[\s:]*(?:sil(?:ent)?!?\s+)?(?:au(?:tocmd)?|exe(?:cute)?|norm?(?:al)?|[nvic]?(?:nore)?map|bufdo|windo|argdo|g(?:lobal)?\W|com(?:mand)?)\b`)
	exInner  = regexp.MustCompile(`^[\s:]*(?:lua|py3?|python3?|pyx|ruby|perl|tcl)(?:do)?\s+(.+)$`)
	exInnerL = map[byte]string{'l': "lua", 'p': "python", 'r': "ruby", 't': "tcl"}
)

// exLines reads the commands of ex: one a line, or with bars between.
func (s *shell) exLines(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case exBang.MatchString(line):
			s.guesswork(exBang.FindStringSubmatch(line)[1])
		case exTerm.MatchString(line):
			s.guesswork(exTerm.FindStringSubmatch(line)[1])
		case exInner.MatchString(line):
			t := strings.TrimLeft(line, " :")
			lang := exInnerL[t[0]]
			if strings.HasPrefix(t, "perl") {
				lang = "perl"
			}
			inner := exInner.FindStringSubmatch(line)[1]
			s.readsCode(inner, dialects[lang], lang)
		case exWrite.MatchString(line):
			f := exWrite.FindStringSubmatch(line)[1]
			s.writes(field{text: f, bare: f})
		case exRead.MatchString(line):
			f := exRead.FindStringSubmatch(line)[1]
			s.path(field{text: f, bare: f}, Read)
		default:
			if i := strings.IndexByte(line, '!'); i >= 0 && exLater.MatchString(line) {
				s.guesswork(strings.TrimRight(line[i+1:], `"'`))
			}
			s.readsCode(line, dialects["vim"], "")
			for part := range strings.SplitSeq(line, "|") {
				if p := strings.TrimSpace(part); len(p) > 1 && p != line && exBang.MatchString(p) {
					s.guesswork(exBang.FindStringSubmatch(p)[1])
				}
			}
		}
	}
}

// editor reads what ed is fed.
func (s *shell) editor(in stream) {
	if !in.known {
		return
	}
	for line := range strings.Lines(in.text) {
		line = strings.TrimSpace(line)
		if m := exBang.FindStringSubmatch(line); m != nil {
			s.guesswork(m[1])
		} else if m := exWrite.FindStringSubmatch(line); m != nil {
			s.writes(field{text: m[1], bare: m[1]})
		} else if m := exRead.FindStringSubmatch(line); m != nil {
			s.path(field{text: m[1], bare: m[1]}, Read)
		}
	}
}
