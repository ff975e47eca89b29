package bash

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// runBuiltin runs the words of a shell that change the shell itself: they give a
// name a value, another name to a command, or keep a line for later. first is
// the command's first word as it stands.
func (s *shell) runBuiltin(first field, name string, args []field, in stream) (stream, bool) {
	if line, ok := s.def.aliases[first.text]; ok {
		return s.runAlias(first.text, line, args, in), true
	}
	done := stream{open: true, known: true}
	switch name {
	case "cd", "pushd", "chdir":
		s.changeFolder(args)
	case "eval":
		return s.evalWords(args), true
	case "source", ".":
		if ops := listOperands(args, ""); len(ops) > 0 {
			s.runScript("source", ops[0], in, ops[1:])
		}
	case "read":
		s.readNames(args, in)
	case "mapfile", "readarray":
		s.readLines(args, in)
		return done, false
	case "printf":
		if len(args) < 2 || args[0].text != "-v" {
			return done, false
		}
		s.readSubscript(args[1].text)
		s.setVariable(args[1].text, substitutedValue(s.printText(name, args[2:], in)))
	case "shift":
		s.params = s.params[min(1, len(s.params)):]
	case "command", "exec", "builtin":
		rest := listOperands(args, "a")
		if len(rest) > 0 && changesShell[rest[0].text] { // "builtin cd /" changes this shell
			return s.runWords(args[len(args)-len(rest):], in), true
		}
		return stream{open: true}, len(rest) == 0
	default:
		return done, s.runKeeping(name, args)
	}
	return done, true
}

// changesShell are the builtins that change the shell they run in.
var changesShell = toSet("cd pushd chdir eval source . read mapfile readarray printf shift set alias unset")

// runKeeping runs the builtins that keep words for later; it reports whether
// there is no more to be said of them.
func (s *shell) runKeeping(name string, args []field) bool {
	switch name {
	case "set":
		s.setPositionals(args)
	case "alias":
		s.defineAliases(args)
	case "hash":
		if len(args) == 3 && args[0].text == "-p" {
			setKey(&s.ownNames().aliases, args[2].text, args[1].text)
		}
	case "unset", "let", "test", "[", "wait":
		for _, a := range args {
			s.readSubscript(a.text)
		}
	case "fc", "history":
		if len(args) > 1 && args[0].text == "-s" {
			s.guessLine(joinTexts(args[1:]))
		}
	case "enable":
		if hasFlag(args, "f") {
			s.addOpaque("enable")
		}
	case "bind", "zargs":
		readForeign(s, joinTexts(args))
		return name == "zargs"
	}
	return false
}

func (s *shell) changeFolder(args []field) {
	ops := listOperands(args, "")
	if v := s.def.vars["CDPATH"]; len(ops) == 1 && len(v) > 0 && !v.isUnknown() && !strings.HasPrefix(ops[0].text, "/") &&
		!strings.HasPrefix(ops[0].text, ".") {
		dir, _, _ := strings.Cut(v[0].text(), ":")
		ops[0] = ops[0].withText(strings.TrimSuffix(dir, "/") + "/" + ops[0].text)
	}
	if len(ops) == 0 {
		s.setVariable("PWD", value{{{s: s.env.HomeFolder(), kind: quotedFrag, provenance: provenance{home: true}}}})
		return
	}
	if !ops[0].unknown {
		s.addPath(ops[0], Path{Access: Read, Extent: Extent{Names: true}})
	}
	s.setVariable("PWD", s.nameFolder(ops[0]))
}

// nameFolder is what PWD holds in a folder.
func (fv *fileView) nameFolder(f field) value {
	if f.unknown {
		return unknownValue(f.text)
	}
	var v value
	for _, p := range fv.resolvePath(f.text) {
		v = append(v, frags{{s: p, kind: quotedFrag, provenance: provenance{home: f.home || path.NamesHome(f.text), fed: f.fed}}})
	}
	return v
}

// enterFolder is the shell as if it had changed to a folder.
func (s *shell) enterFolder(dir field) *shell {
	if dir.text == "" {
		return s
	}
	v := s.nameFolder(dir)
	f := s.fork()
	f.unsure = 0
	setKey(&f.ownNames().vars, "PWD", v)
	return f
}

// evalWords parses the joined words again.
func (s *shell) evalWords(args []field) stream {
	unknown := slices.ContainsFunc(args, func(f field) bool { return f.unknown })
	if !unknown {
		return s.parseText(joinTexts(args))
	}
	for _, a := range args {
		if a.unknown {
			s.addOpaque("eval")
			s.guessLine(a.bare)
		}
	}
	s.guessLine(joinTexts(args))
	return stream{open: true}
}

func (s *shell) defineAliases(args []field) {
	if len(args) > 1 && !strings.Contains(args[0].text, "=") { // of csh and fish
		s.guessLine(joinTexts(args[1:]))
		setKey(&s.ownNames().aliases, args[0].text, joinTexts(args[1:]))
	}
	for _, a := range args {
		if n, line, ok := strings.Cut(a.text, "="); ok {
			if !a.unknown {
				setKey(&s.ownNames().aliases, n, line)
			}
			s.guessLine(line)
		}
	}
}

// runAlias runs a line with the words that follow its alias. An alias does not
// mean itself.
func (s *shell) runAlias(name, line string, args []field, in stream) stream {
	f := s.fork()
	delete(f.ownNames().aliases, name)
	if strings.ContainsAny(line, ";|&<>()$`\"'\\") {
		return f.parseText(line + " " + joinTexts(args))
	}
	return f.runWords(append(literalFields(strings.Fields(line)), args...), in)
}

// readSubscript runs what the index of an array element substitutes.
func (s *shell) readSubscript(text string) {
	if i := strings.IndexByte(text, '['); i > 0 && strings.ContainsAny(text[i:], "$`") {
		s.guessLine(text[i+1:])
	}
}

func (s *shell) readQuotedSubscript(w *syntax.Word) {
	if len(w.Parts) == 1 {
		if q, ok := w.Parts[0].(*syntax.SglQuoted); ok {
			s.readSubscript(q.Value)
		}
	}
}

// readNames is "read a b": the first line of what it is fed, split at IFS, or all
// words of it in one array.
func (s *shell) readNames(args []field, in stream) {
	s.made.opens++
	names := listOperands(args, "dDiknNptu")
	if len(names) == 0 {
		names = literalFields([]string{"REPLY"})
	}
	line, _, _ := strings.Cut(in.text, "\n")
	for i, n := range names {
		s.readSubscript(n.text)
		v := fedValue(in)
		switch {
		case !in.known:
		case hasFlag(args, "a"):
			for v = nil; line != "" && len(v) < maxAlts; {
				var word string
				word, line = s.cutWord(line)
				v = append(v, frags{{s: word, kind: quotedFrag}})
			}
		case i < len(names)-1:
			var word string
			word, line = s.cutWord(line)
			v = literalValue(word)
		default:
			v = literalValue(strings.TrimSpace(line))
		}
		s.setVariable(n.text, v)
	}
}

func (e *environment) cutWord(line string) (word, rest string) {
	ifs := " \t\n"
	if v := e.lookUpVariable("IFS"); len(v) > 0 && !v.isUnknown() {
		ifs = v[0].text()
	}
	line = strings.TrimLeft(line, " \t")
	if i := strings.IndexAny(line, ifs); i >= 0 {
		return line[:i], line[i+1:]
	}
	return line, ""
}

func (s *shell) readLines(args []field, in stream) {
	s.made.opens++
	name := "MAPFILE"
	if ops := listOperands(args, "dnOsuCc"); len(ops) > 0 {
		name = ops[0].text
	}
	s.setVariable(name, fedValue(in))
}

// setPositionals is "set -- a b": $1 and so on.
func (e *environment) setPositionals(args []field) {
	for i, a := range args {
		switch {
		case a.text == "--":
			args = args[i+1:]
		case a.text != "" && strings.IndexByte("-+", a.text[0]) >= 0:
			continue
		default:
			args = args[i:]
		}
		e.params = slices.Clone(args)
		if !e.inFunc {
			e.params = append(literalFields([]string{"sh"}), e.params...)
		}
		return
	}
}

// declareNames is "declare x=1" and its kin; with -n a name for another variable.
// Without a name it prints those that there are.
func (s *shell) declareNames(cmd *syntax.DeclClause) stream {
	byName, named := false, false
	for _, a := range cmd.Args {
		named = named || a.Name != nil
		if a.Name == nil && a.Value != nil {
			byName = byName || strings.HasPrefix(a.Value.Lit(), "-") && strings.Contains(a.Value.Lit(), "n") && cmd.Variant.Value != "export"
			s.readQuotedSubscript(a.Value)
		}
		s.assignVariable(a)
		if byName && a.Name != nil && a.Value != nil {
			if to := a.Value.Lit(); syntax.ValidName(to) {
				setKey(&s.ownNames().refs, a.Name.Value, to)
			}
		}
	}
	return stream{open: true, taint: taint{leak: leak{secret: !named}}}
}
