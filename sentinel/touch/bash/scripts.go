package bash

import (
	paths "path"
	"regexp"
	"slices"
	"strings"
)

// runCommandLine reads an argument that is a command line.
func (s *shell) runCommandLine(f field) stream {
	switch {
	case f.proc != nil || f.text == "":
		return stream{open: true}
	case f.blank:
		s.addOpaque("")
		return stream{open: true}
	case f.unknown:
		s.guessLine(f.text)
		s.guessLine(f.bare)
		return stream{open: true}
	}
	return s.fork().parseText(f.text)
}

// runHook reads a value that some program runs as a command line, with marks of
// its own before it and behind it: what it touches counts, that it may be no
// line of a shell does not.
func (s *shell) runHook(f field) {
	text := strings.TrimLeft(f.text, " \t!|:&-@+")
	if n := len(text); n > 1 && (text[0] == '\'' || text[0] == '"') && text[n-1] == text[0] && strings.Count(text, text[:1]) == 2 {
		text = text[1 : n-1]
	}
	if text == "" || f.blank || f.proc != nil {
		return
	}
	if slices.Contains(destroyers, programName(text)) && !strings.Contains(text, " ") { // what it destroys, its caller says
		s.addUnread(UnreadOption)
	}
	t := s.readAside(func(g *shell) {
		g.quiet = g.quiet || f.unknown
		g.parseText(text)
	})
	for _, code := range t.Doubts {
		if !s.quiet || code != OpaqueCommand {
			s.addDoubt(code)
		}
	}
	s.takeFindings(t)
	for _, p := range t.Paths {
		if p.Access != Mention { // the key that "ssh -i" names is no file of this command
			s.out.Paths = append(s.out.Paths, p)
		}
	}
}

// takeFindings adds what was read aside, but for its paths and its doubts.
func (r *reporter) takeFindings(t *Findings) {
	for _, code := range t.Dangers {
		r.addDanger(code)
	}
	for _, code := range t.Unread {
		r.addUnread(code)
	}
	for _, code := range t.Changes {
		r.addChange(code)
	}
	for _, h := range t.Hosts {
		r.addHost(h)
	}
}

// runScriptText is what follows -c: the text, then $0, $1 and so on.
func (s *shell) runScriptText(lang string, f field, params []field) stream {
	g := s.fork()
	g.inFunc, g.params, g.started = false, slices.Clone(params), s.place
	if f.unknown {
		s.addOpaque(lang)
		g.guessLine(f.text)
		return stream{open: true}
	}
	text := f.text
	switch lang {
	case "fish":
		if fishMarks.MatchString(text) { // blocks and substitutions of its own
			if readForeign(s, strings.ReplaceAll(text, ";", "\n")); namesScary(text) &&
				foreignPlace.MatchString(passing.ReplaceAllString(text, "")) ||
				strings.Contains(text, "&") {
				s.addUnread(UnreadCode)
			}
			return stream{open: true}
		}
	case "zsh":
		text = zshFor.ReplaceAllString(text, "for $1 in $2; do $3; done")
		for _, m := range globCode.FindAllStringSubmatch(text, 8) {
			s.runHook(literalField(strings.Trim(m[2], `'":{}\`)))
		}
	}
	return g.parseText(text)
}

// runStream runs what a stream says, in a shell's language or another.
func (s *shell) runStream(lang, name string, in stream) {
	switch {
	case lang == "manifest": // what a cluster is told to be
		if in.fetched {
			s.addUnread(UnreadCode)
		}
	case in.known && isShell(orElse(lang, "sh")):
		s.parseText(in.text)
	case in.known:
		s.readCode(literalField(in.text), lang)
	case !in.open:
	case !in.foreign && !in.coded && (name == "ssh" && in.source == fromFile || in.dump && dumpLanguages[lang]):
	case isShell(orElse(lang, "sh")), in.foreign, isProgramming(lang) && in.source != fromFile: // a file's program is the file's, as an operand's is
		s.addOpaque(name)
	}
}

// dataLanguages are those in which programs are mostly given data.
var dataLanguages = toSet("sql mongo redis cypher yaml json make ed sed vim gnuplot r octave tex roff awk")

// interpreted are the languages of scripts that are no shell's.
var interpreted = toSet("python js typescript perl ruby php lua r julia tcl powershell")

// dumpLanguages are those in which databases are dumped.
var dumpLanguages = toSet("psql mysql sqlite sql mongo")

func isProgramming(lang string) bool { return !dataLanguages[lang] }

// runScript runs the file f in a language.
func (s *shell) runScript(lang string, f field, in stream, params []field) {
	switch {
	case f.proc != nil:
		s.runStream(lang, lang, *f.proc)
	case isStandard(f.text):
		in.open = true
		s.runStream(lang, lang, in)
	case s.made.fds[nameDescriptor(f.text)].open:
		s.runStream(lang, lang, s.made.fds[nameDescriptor(f.text)])
	default:
		s.addAccess(f, Read|Execute)
		s.replayFile(lang, f, params)
	}
}

// nameDescriptor is the number in /dev/fd/3.
func nameDescriptor(text string) string {
	return strings.TrimPrefix(strings.TrimPrefix(text, "/dev/fd/"), "/proc/self/fd/")
}

// replayFile runs a file that was just written: by an interpreter, or by its
// path. It reports whether there was one.
func (s *shell) replayFile(lang string, f field, params []field) bool {
	m, ok := s.findMade(f.text)
	if !ok && !strings.Contains(f.text, "/") && len(s.made.files) > 0 {
		for dir := range binFolders {
			if found, here := s.made.files[dir+"/"+f.text]; here {
				m, ok = found, true
			}
		}
	}
	switch {
	case !ok:
		return false
	case m.foreign, m.coded && (isShell(orElse(lang, "sh")) || interpreted[lang]):
		s.addOpaque(lang)
		return true
	case !m.known || s.made.runsAlready(f.text):
		return false
	}
	s.runMade(lang, f, m, params)
	return true
}

func (m *made) runsAlready(file string) bool {
	_, ok := m.running[file]
	return ok
}

// runMade runs what was written to a file.
func (s *shell) runMade(lang string, f field, m madeFile, params []field) {
	remember(s.budget, &s.made.running, f.text, s.place)
	defer delete(s.made.running, f.text)
	if !isShell(lang) {
		if by, rest, ok := readShebang(m.text); ok && lang == "" {
			s.runWords(append(literalFields(append(strings.Fields(rest), f.text)), params...), stream{})
			lang = by
		}
	}
	if lang != "" && !isShell(lang) {
		s.readCode(literalField(m.text), lang)
		return
	}
	if lang == "source" || lang == "." {
		s.parseText(m.text)
		return
	}
	g := s.fork()
	g.inFunc, g.params, g.started = false, append([]field{f}, params...), s.place
	g.parseText(m.text)
}

// readShebang reads the first line of a script: what runs it, and with what.
func readShebang(text string) (by, rest string, ok bool) {
	line, ok := strings.CutPrefix(text, "#!")
	if !ok {
		return "sh", "", false
	}
	line, _, _ = strings.Cut(line, "\n")
	words := strings.Fields(line)
	if len(words) > 1 && paths.Base(words[0]) == "env" {
		words = words[1:]
	}
	if len(words) == 0 {
		return "sh", "", true
	}
	return programName(words[0]), strings.Join(words, " "), true
}

// runBoxed reads a command that runs in a container. Its files are not this
// machine's unless one of its folders is; what it destroys is lost there all
// the same.
func (s *shell) runBoxed(words []field, in stream, shared bool) stream {
	if shared {
		return s.fork().runWords(words, in)
	}
	env := s.env
	env.NoFS = true
	g := newShell(env, s.budget)
	g.quiet, g.level = s.quiet, s.level
	out := stream{open: true, taint: g.runWords(words, in).taint}
	t := g.out
	if len(t.Dangers) > 0 || slices.ContainsFunc(t.Paths, func(p Path) bool { return p.Access.Has(Delete) && p.Recursive }) {
		s.addDoubt(VolumeLoss)
	}
	for _, code := range t.Doubts {
		if code != ProjectWipe && code != OpaqueCommand && code != UnsetTree && code != UnknownTarget {
			s.addDoubt(code)
		}
	}
	if s.quiet {
		return out
	}
	t.Dangers, t.Unread = nil, slices.DeleteFunc(t.Unread, func(code string) bool { return code == UnreadTarget })
	s.takeFindings(t)
	s.out.Commands = append(s.out.Commands, t.Commands...)
	return out
}

// fishMarks are what fish writes in another way than the other shells.
var fishMarks = regexp.MustCompile(`\bend\b|(?:^|[^$])\(`)

// zshFor is the short form of zsh's loop: for x (a b) cmd.
var zshFor = regexp.MustCompile(`\bfor\s+(\w+)\s*\(([^()]*)\)\s*(?:\{\s*)?([^;{}\n]+?)\s*;?\s*\}?\s*$`)

// globCode is the code in a qualifier of zsh: *(e:"rm x":).
var globCode = regexp.MustCompile(`\([^()]*[eE+](['"{:|<\[])(.+?)['"}:|>\]]*\)`)
