package bash

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/code"
)

// maxInner is how deep code inside of code is read.
const maxInner = 4

// readCode reads a program in another language, for what its literal texts say.
// One in a shell's language is a command line.
func (s *shell) readCode(f field, lang string) {
	if isShell(lang) {
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
	if lang == "tcl" || scary[first] || strings.HasPrefix(first, "/") && scary[scaryName(first)] {
		s.guessLine(f.bare) // a line that was given to the wrong program; Tcl's are much like a shell's
	}
	s.readInline(lang, f.bare, 0)
}

func (s *shell) readInline(lang, text string, depth int) {
	switch lang {
	case "sql":
		s.addMatches(sqlReads, text)
	case "c":
		s.addMatches(incReads, text)
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
	if isEditor[lang] || namesScary(unmarked.Replace(text)) {
		s.made.scripts++
	}
	if changesData(lang, text) {
		s.addChange(DatabaseChange)
	}
	for _, p := range found.Paths {
		s.touchCoded(p)
	}
	s.runCoded(lang, found.Commands, depth)
	for _, u := range found.URLs {
		if isFileURL(u) {
			s.addAccess(literalField(u), Read)
			continue
		}
		s.reachHost(u, true)
		s.findMetadata(literalField(u))
	}
	for _, in := range found.Inner {
		if isShell(in.Lang) {
			s.guessLine(in.Text)
		} else {
			s.readInline(in.Lang, in.Text, depth+1)
		}
	}
	s.addCoded(found)
}

// isEditor are the languages of editors, which give a command the text at hand.
var isEditor = toSet("ed vim")

// runCoded runs the commands that code starts.
func (s *shell) runCoded(by string, list []code.Command, depth int) {
	sends := s.made.sends
	for _, c := range list {
		g := s.enterFolder(literalField(c.Folder)).fork()
		lang := orElse(c.Lang, "sh")
		switch {
		case len(c.Words) > 0:
			g.runWords(literalFields(c.Words), stream{})
		case isShell(lang):
			g.guessLine(c.Line)
		default:
			g.readInline(lang, c.Line, depth+1)
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

// touchCoded records a file that code names, and what is lost with it.
func (s *shell) touchCoded(p code.Path) {
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
			s.keepFile(f, codedStream, false)
		}
	}
}

// codedStream is what inline code prints or writes.
var codedStream = stream{open: true, taint: taint{coded: true}}

// addCoded records what code does beyond files.
func (s *shell) addCoded(found code.Findings) {
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
			s.keepFile(literalField(p.Text), stream{taint: taint{leak: leak{secret: true}, coded: true}}, false)
		}
	}
	if found.Unread {
		s.addUnread(UnreadCode)
	}
}
