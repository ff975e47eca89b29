package bash

import (
	paths "path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/vedette-dev/vedette/sentinel/touch/code"
)

// runCommandLine reads an argument that is a command line.
func (s *shell) runCommandLine(f field) stream {
	s.weighOtherLine(f)
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

// weighOtherLine reads a line as it is where another text stands in place of its unsure
// parts, and leaves it in doubt where that destroys what nothing brings back.
func (s *shell) weighOtherLine(f field) {
	if !f.unsure || f.other == f.text {
		return
	}
	t := s.readAside(func(g *shell) {
		g.quiet = true
		g.parseText(f.other)
	})
	if len(t.Dangers) > 0 || slices.Contains(t.Doubts, UnsetTree) {
		s.addDoubt(UnsetTree)
	}
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
	s.weighOtherLine(f)
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

// runScriptText is what follows -c: the text, then $0, $1 and so on.
func (s *shell) runScriptText(lang string, f field, params []field) stream {
	g := forkProcess(s)
	g.inFunc, g.params, g.started = false, slices.Clone(params), s.place
	g.weighOtherLine(f)
	if f.unknown {
		s.addOpaque(lang)
		g.guessLine(f.text)
		return stream{open: true}
	}
	text := f.text
	switch lang {
	case "fish":
		if fishMarks.MatchString(text) { // blocks and substitutions of its own
			if readForeign(s, strings.ReplaceAll(text, ";", "\n")); namesScaryProgram(text) &&
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
	case in.known && isShellName(orElse(lang, "sh")):
		s.parseText(in.text)
	case in.known:
		s.readCode(literalField(in.text), lang)
	case !in.open:
	case !in.foreign && !in.coded && (name == "ssh" && in.source == fromFile || in.dump && dumpLanguages[lang]):
	case isShellName(orElse(lang, "sh")), in.foreign, isProgramming(lang) && in.source != fromFile:
		s.addOpaque(name) // but of a file: its program is the file's, as an operand's is
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
	case isStandardInput(f.text):
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
	m, ok := s.findMadeFile(f.text)
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
	case m.foreign, m.coded && (isShellName(orElse(lang, "sh")) || interpreted[lang]):
		s.addOpaque(lang)
		return true
	case !m.known || s.made.runsAlready(f.text):
		return false
	}
	s.runMade(lang, f, m, params)
	return true
}

// runMade runs what was written to a file.
func (s *shell) runMade(lang string, f field, m madeFile, params []field) {
	rememberKey(s.budget, &s.made.running, f.text, s.place)
	defer delete(s.made.running, f.text)
	if !isShellName(lang) {
		if by, rest, ok := readShebang(m.text); ok && lang == "" {
			s.runWords(append(literalFields(append(strings.Fields(rest), f.text)), params...), stream{})
			lang = by
		}
	}
	if lang != "" && !isShellName(lang) {
		s.readCode(literalField(m.text), lang)
		return
	}
	if lang == "source" || lang == "." {
		s.parseText(m.text)
		return
	}
	g := forkProcess(s)
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

// parseText reads text and walks it, and returns what it prints.
func (s *shell) parseText(text string) stream {
	if s.level > maxLevels || !s.budget.TakeBytes(parseCost) {
		s.budget.over = true
		return stream{open: true}
	}
	list, how := parseShell(s.budget, text)
	switch {
	case s.quiet:
	case how == unparsable:
		s.out.Unparsed = s.out.Unparsed || !s.budget.over // beyond the budget a person is asked
	case how == unclosed:
		s.out.Incomplete = true
	}
	s.level++
	defer func() { s.level-- }()
	if strings.Contains(strings.ReplaceAll(text, "$((", ""), "((") && how != unparsable {
		// To a plain sh that is no arithmetic but two subshells.
		if posix, err := parseAsVariant(s.budget, syntax.LangPOSIX, text); err == nil {
			f := s.fork()
			f.quiet = true
			f.runStatements(posix, stream{})
		}
	}
	return s.runStatements(list, stream{})
}

// guessLine reads text that may be a command line: only what it touches counts,
// never that it isn't one.
func (s *shell) guessLine(text string) {
	f := s.fork()
	f.quiet = true
	f.parseText(text)
}

// maxInner is how deep code inside of code is read.
const maxInner = 4

// readCode reads a program in another language, for what its literal texts say.
// One in a shell's language is a command line.
func (s *shell) readCode(f field, lang string) {
	if isShellName(lang) {
		s.runCommandLine(f)
		return
	}
	if f.unknown && isProgramming(lang) {
		s.addOpaque("")
	}
	if lang == "redis" && f.fed && f.unknown {
		s.addDoubt(DatabaseLoss) // whatever it is handed
	}
	lang = orElse(aliasLanguages[lang], lang)
	if read, ok := lineReaders()[lang]; ok {
		if !s.budget.TakeBytes(len(f.bare)) {
			s.addUnread(UnreadBudget)
			return
		}
		read(s, f.bare)
		return
	}
	first, _, _ := strings.Cut(strings.TrimSpace(f.bare), " ")
	if lang == "tcl" || scary.has(first) || strings.HasPrefix(first, "/") && scary.has(scaryName(first)) {
		s.guessLine(f.bare) // a line that was given to the wrong program; Tcl's are much like a shell's
	}
	s.readInlineCode(lang, f.bare, 0)
}

func (s *shell) readInlineCode(lang, text string, depth int) {
	switch lang {
	case "sql":
		s.addMatchedPaths(sqlReads, text)
	case "c":
		s.addMatchedPaths(incReads, text)
	case "powershell":
		if powerHive.MatchString(text) {
			s.addDanger(RmSystem)
		}
		for _, m := range powerDeletes.FindAllStringSubmatch(text, 8) {
			s.removeTarget(literalField(strings.Trim(m[1]+m[2], `"' `)), true)
		}
	}
	s.findServices(text)
	if depth > maxInner || !s.budget.TakeBytes(code.Cost(lang, text)) {
		s.addUnread(UnreadBudget)
		return
	}
	found := code.Read(lang, text)
	s.made.codes++
	if isEditor[lang] || namesScaryProgram(unmarked.Replace(text)) {
		s.made.scripts++
	}
	if changesData(lang, text) {
		s.addChange(DatabaseChange)
	}
	for _, p := range found.Paths {
		s.touchCodedPath(p)
	}
	s.runCodedCommands(lang, found.Commands, depth)
	for _, u := range found.URLs {
		if isFileURL(u) {
			s.addAccess(literalField(u), Read)
			continue
		}
		s.reachHost(u, true)
		s.findMetadata(literalField(u))
	}
	for _, in := range found.Inner {
		if isShellName(in.Lang) {
			s.guessLine(in.Text)
		} else {
			s.readInlineCode(in.Lang, in.Text, depth+1)
		}
	}
	s.addCodedFindings(found)
}

// isEditor are the languages of editors, which give a command the text at hand.
var isEditor = toSet("ed vim")

// runCodedCommands runs the commands that code starts.
func (s *shell) runCodedCommands(by string, list []code.Command, depth int) {
	sends := s.made.sends
	for _, c := range list {
		g := s.enterFolder(literalField(c.Folder)).fork()
		lang := orElse(c.Lang, "sh")
		switch {
		case len(c.Words) > 0:
			g.runWords(literalFields(c.Words), stream{})
		case isShellName(lang):
			g.guessLine(c.Line)
		default:
			g.readInlineCode(lang, c.Line, depth+1)
		}
	}
	if s.made.sends > sends && isEditor[by] {
		s.addUnread(SecretSent)
	}
}

// findServices records a metadata service that is a whole string of what goes to
// hosts.
func (s *shell) findServices(text string) {
	services := s.readAside(func(g *shell) {
		for _, w := range strings.FieldsFunc(text[:min(len(text), maxScanned)], isMark) {
			g.findMetadata(literalField(w))
		}
	}).Hosts
	if len(services) > 0 && netWords.MatchString(text) {
		for _, h := range services {
			s.addHost(h)
		}
	}
}

// maxScanned is how much of a program is looked through for addresses.
const maxScanned = 4096

func isMark(r rune) bool { return strings.ContainsRune(" \t\n\"'`(),;{}<>", r) }

var (
	incReads = regexp.MustCompile(`(?m)^\s*#\s*include(?:_next)?\s*["<]([~/][^">]+)`)
	netWords = regexp.MustCompile(`(?i)\b(socket|create_connection|https?connection|connect|https?|net|inet|tcpsocket|fetch|` +
		`axios|dial|urlopen|irm|iwr|` +
		`invoke-restmethod|invoke-webrequest|client_socket|fsockopen)\b`)
	powerDeletes = regexp.MustCompile(`(?i)\(\s*get-item\s+([^()]+)\)\s*\.\s*delete\(|\bdirectory\]::delete\(\s*["']([^"']+)`)
	powerHive    = regexp.MustCompile(`(?i)\b(?:remove-item|ri|rm|del)\s+(?:-\w+\s+)*["']?` +
		`(?:hklm|hkcu|hkcr):\\?(?:software|system|sam|security)?\\?["']?(?:\s|$)`)
	sqlReads = regexp.MustCompile(`(?i)(?:\bread_(?:text|blob|csv|json|parquet)\w*\(|\bload_file\(|\binfile|\bfrom` +
		`|\bpg_read_file\()\s*'([~/.][^']*)'`)
	sqlChange = regexp.MustCompile(`(?i)\b(insert\s+into|replace\s+into|update\s+\S+\s+set|delete\s+from|(create|alter` +
		`|drop)\s+(unique\s+)?(table|database|index|view|user|role|schema|extension|function|sequence|type)|truncate\s|grant\s.{1,200}\sto\s` +
		`|revoke\s|copy\s+\S+\s+from\b)`)
	mongoChange = regexp.MustCompile(`\.(insert|update|replace|delete|remove|drop|create|rename|bulkWrite|findOneAnd|findAndModify)\w*\s*\(`)
)

// changesData reports whether statements change what a database holds.
func changesData(lang, text string) bool {
	switch lang {
	case "sql", "cypher":
		return sqlChange.MatchString(text)
	case "mongo":
		return mongoChange.MatchString(text)
	}
	return false
}

// touchCodedPath records a file that code names, and what is lost with it.
func (s *shell) touchCodedPath(p code.Path) {
	f, access := literalField(p.Text), Access(p.Access)
	f.glob = strings.ContainsAny(p.Text, "*?[")
	s.addPath(f, Path{Access: access, Extent: Extent{Recursive: p.Tree, Names: p.Names}})
	switch {
	case p.Effect != "":
		s.addTreeEffect(p.Effect, f)
	case access.Has(Delete):
		s.removeTarget(f, p.Tree)
		if p.Tree && s.wipesProject(f) {
			s.addDoubt(ProjectWipe)
		}
	}
	if access.Has(Write) {
		s.writeTarget("", f, access|Read)
		if p.Effect == "" {
			s.rememberFile(f, codedStream, false)
		}
	}
}

// codedStream is what inline code prints or writes.
var codedStream = stream{open: true, taint: taint{coded: true}}

// addCodedFindings records what code does beyond files.
func (s *shell) addCodedFindings(found code.Findings) {
	for _, e := range found.Effects {
		switch e {
		case ForkBomb, KillAll:
			s.addDanger(e)
		default:
			s.addDoubt(e)
		}
	}
	leaks := found.Environment || slices.ContainsFunc(found.Paths, func(p code.Path) bool {
		return p.Access == code.ToRead &&
			holdsSecrets(p.Text)
	})
	if leaks && (found.Sends || len(found.URLs) > 0) || found.Environment && found.Network {
		s.addUnread(SecretSent)
	}
	if leaks || found.Credential {
		s.made.tells++
	}
	for _, p := range found.Paths {
		if leaks && Access(p.Access).Has(Write) {
			s.rememberFile(literalField(p.Text), stream{taint: taint{leak: leak{secret: true}, coded: true}}, false)
		}
	}
	if found.Unread {
		s.addUnread(UnreadCode)
	}
}

const (
	// maxTries is how many of an unknown program's arguments are read as
	// commands, and maxTrial how deep such guesses may nest.
	maxTries = 6
	maxTrial = 3
)

// tryCommands reads words as if the program ran them: from each word that names
// a program on, and each that may be a command line. Only what can't be undone
// counts; most programs run nothing.
func (s *shell) tryCommands(name string, args []field) {
	if s.trial >= maxTrial || isShellName(name) || s.quiet && s.trial == 0 {
		return // the last: text that may be another language's, whose words are no programs
	}
	left := maxTries
	for i := 0; i < len(args) && left > 0; i++ {
		f := args[i]
		opt, val, joined := strings.Cut(f.text, "=")
		switch {
		case textOptions.has(f.text):
			i++
		case textOptions.has(opt):
		case scary.has(scaryName(f.text)):
			if s.trySuffix(args[i:]) {
				left--
			}
		case strings.ContainsAny(f.text, " \t\n"):
			runs := i > 0 && programOptions[args[i-1].text]
			if joined && len(opt) > 1 && opt[0] == '-' {
				f.text, runs = val, runs || programOptions[opt]
			}
			if s.tryLine(f.text, runs) {
				left--
			}
		}
	}
}

// trySuffix tries words as a command.
func (s *shell) trySuffix(words []field) bool {
	if s.tried {
		return false
	}
	if scaryName(words[0].text) == "mkfs" && !slices.ContainsFunc(words[1:], func(f field) bool { return strings.ContainsAny(f.text, `/\`) }) {
		return false // a list of programs
	}
	s.tryAside(func(f *shell) {
		f.tried = true // what follows has been tried already
		f.runWords(words, stream{})
	})
	return true
}

func (s *shell) tryWords(words []field) { s.tryAside(func(f *shell) { f.runWords(words, stream{}) }) }

// tryLine tries text as a command line. With runs it stands where programs take
// one; otherwise a sentence is left alone.
func (s *shell) tryLine(text string, runs bool) bool {
	text = strings.TrimLeft(text, " \t\n!:|\\")
	if !namesScaryProgram(text) || !runs && isSentence(text) {
		return false
	}
	s.tryAside(func(f *shell) {
		f.tried = !runs
		f.parseText(text)
	})
	return true
}

// tryCode reads text as code of whatever language: only what can't be undone
// counts.
func (s *shell) tryCode(f field) {
	t := s.readAside(func(g *shell) {
		g.quiet = true
		g.trial++
		g.readCode(f, "")
	})
	for _, code := range t.Dangers {
		s.addDanger(code)
	}
	if len(t.Unread) > 0 {
		s.addUnread(UnreadCode)
	}
}

// tryAside reads with a shell whose findings are thrown away but for its dangers.
func (s *shell) tryAside(read func(*shell)) {
	t := s.readAside(func(f *shell) {
		f.quiet = true
		f.trial++
		read(f)
	})
	for _, code := range t.Dangers {
		s.addDanger(code)
	}
}

// namesScaryProgram reports whether a scary program stands somewhere in text.
func namesScaryProgram(text string) bool {
	for text != "" {
		i := strings.IndexAny(text, " \t\n;|&()`'\"$<>{}!\\=,")
		if i < 0 {
			return scary.has(scaryName(text))
		}
		if i > 1 && scary.has(scaryName(text[:i])) {
			return true
		}
		text = text[i+1:]
	}
	return false
}

// smallWords make a sentence.
var smallWords = toSet("the is are was were will would should can could not never don't does what how why when please because instead")

// isSentence reports whether text has the small words that no command has.
func isSentence(text string) bool {
	for w := range strings.FieldsSeq(text) {
		if smallWords[strings.ToLower(strings.Trim(w, ".,:;!?"))] {
			return true
		}
	}
	return false
}
