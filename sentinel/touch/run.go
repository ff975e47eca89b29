package touch

import (
	paths "path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

func (s *shell) call(ce *syntax.CallExpr, in stream) stream {
	for _, a := range ce.Assigns {
		s.assign(a)
	}
	if len(ce.Args) == 0 {
		return stream{open: true, known: true}
	}
	if argv := s.plainWords(ce.Args); argv != nil {
		return s.run(argv, in)
	}
	rest := make([]field, 0, len(ce.Args))
	first := s.expand(ce.Args[0])
	for _, w := range ce.Args[1:] {
		if lit, ok := simple(w); ok {
			rest = append(rest, field{text: lit, bare: lit})
			continue
		}
		rest = append(rest, flatten(s.expand(w))...)
	}
	out := stream{open: true}
	for i, f := range first {
		if i == 8 {
			s.spent.over = true
			break
		}
		if argv := slices.Concat(f, rest); len(argv) > 0 {
			out = s.run(argv, in)
		}
	}
	return out
}

// run reads one command, peeling wrappers until the program is found.
func (s *shell) run(argv []field, in stream) stream {
	if s.spent.commands++; s.spent.commands > maxCommands || s.level > maxReparse {
		s.spent.over = true
	}
	if len(argv) == 0 || s.spent.over {
		return stream{open: true}
	}
	s.level++
	defer func() { s.level-- }()
	name, sure := s.program(argv[0])
	name = s.renamed(argv[0], name)
	args := argv[1:]
	s.record(name, args, !sure)
	s.operates(argv[0], name, args)
	if !sure {
		s.guess(argv[0], args)
		if name == "" {
			return stream{open: true}
		}
	}
	if s.def.funcs[argv[0].text] != nil {
		return s.invoke(argv[0].text, append([]field{}, args...), in)
	}
	if out, ok := s.builtin(argv[0], name, args, in); ok {
		return out
	}
	s.said(name, args, in)
	if out, ok := s.located(name, args); ok {
		return out
	}
	if s.about(name)&inLaunchers != 0 {
		if l, ok := launcherOf(name); ok {
			if out, ok := s.launch(l, args, in); ok {
				return out
			}
		}
	}
	if out, ok := s.special(name, args, in); ok {
		s.makes(name, args, in)
		return out
	}
	if s.about(name)&inWrappers != 0 {
		if w, ok := wrappers[name]; ok {
			return s.movedBy(name, args).wrapped(w, args, in)
		}
	}
	return s.simple(name, argv, in)
}

// said reads what a program is told by its options, settings and input,
// whatever it is that it then runs.
func (s *shell) said(name string, args []field, in stream) {
	if s.about(name)&inOptions != 0 {
		s.optionValues(name, args)
	}
	s.ownWords(name, args, in)
	s.configured(name, args, in)
	s.typeset(name, args, in)
	s.serves(name, args)
	s.keepers(name, args)
	s.massKill(name, args)
	s.dials(name, args, in)
	s.managed(name, args, in)
	s.otherWords(name, args)
	s.shellWords(name, args)
	s.readsInput(name, args, in)
}

// simple reads a command that runs none other, as far as anybody knows.
func (s *shell) simple(name string, argv []field, in stream) stream {
	args := argv[1:]
	s.effects(name, args)
	s.gathers(name, args)
	s.scripted(name, args, in)
	about := s.about(name)
	if about&inStores != 0 {
		s.loses(name, args, in)
	}
	if about&inChanges != 0 {
		s.changes(name, args, in)
	}
	if about&inPrinters != 0 {
		s.unnamed(name, args)
	}
	s.makes(name, args, in)
	if _, known := s.useOf(name); !known && !s.replay(name, argv[0], args) {
		s.attempt(name, args)
	}
	args, in = s.fed(name, args, in)
	return s.prints(name, args, in)
}

// program returns the base name that f runs; sure is false where it may be
// another.
func (s *shell) program(f field) (name string, sure bool) {
	text := f.text
	if f.unknown {
		// "$JAVA_HOME/bin/java" is java whatever the variable holds.
		i := strings.LastIndexByte(f.text, '/')
		j := strings.LastIndexByte(f.bare, '/')
		if i < 0 || j < 0 || f.text[i:] != f.bare[j:] {
			return programName(f.bare), false
		}
	}
	return programName(text), !f.glob || text == "["
}

func programName(text string) string {
	if text == "." || plainName(text) { // the first is the other name of source, not a folder
		return text
	}
	name := strings.ToLower(paths.Base(strings.ReplaceAll(text, `\`, "/")))
	if len(name) > 2 && strings.IndexByte("=^ez", name[0]) >= 0 {
		for _, mark := range []string{"=", "^", "e:", "zf_"} { // of zsh, nu, elvish
			name = strings.TrimPrefix(name, mark)
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".")
}

func (s *shell) record(name string, args []field, opaque bool) {
	cmd := Command{Name: name, Arg: s.arg, Opaque: opaque, Dynamic: opaque}
	if opaque {
		cmd.Name = ""
	}
	cmd.Args = s.c.words(len(args))
	for i, a := range args {
		cmd.Args[i] = a.text
		cmd.Dynamic = cmd.Dynamic || a.unknown
	}
	if s.quiet {
		return
	}
	if opaque {
		s.doubt(OpaqueCommand)
	}
	s.c.touch.Commands = append(s.c.touch.Commands, cmd)
}

// opaque records an interpreter whose program can't be known.
func (s *shell) opaque(name string) {
	if s.quiet {
		return
	}
	s.c.touch.Commands = append(s.c.touch.Commands, Command{Name: name, Arg: s.arg, Dynamic: true, Opaque: true})
	s.doubt(OpaqueCommand)
}

// guess looks for what an unknown program would destroy: a name with a
// pattern is each program it matches; arguments that only make sense to rm or
// dd give it away.
func (s *shell) guess(f field, args []field) {
	s.mayOperate(f, args)
	base := paths.Base(f.text)
	if !f.unknown {
		for _, n := range destroyers {
			if ok, _ := paths.Match(base, n); ok {
				s.effects(n, args)
			}
		}
		return
	}
	if recursive(args) {
		s.remove(args, false)
	}
	for _, a := range args {
		if strings.HasPrefix(a.text, "of=") {
			s.dd(args)
		}
	}
}

// special are the programs that run other text or change the shell.
func (s *shell) special(name string, args []field, in stream) (stream, bool) {
	out := stream{open: true}
	switch {
	case name == "cd" || name == "pushd" || name == "chdir":
		s.chdir(args)
		return stream{open: true, known: true}, true
	case name == "eval":
		return s.eval(args), true
	case name == "trap":
		if len(args) > 0 && args[0].text == "--" {
			args = args[1:]
		}
		if len(args) > 1 {
			s.eval(args[:1])
		}
	case name == "alias":
		for _, a := range args {
			if _, v, ok := strings.Cut(a.text, "="); ok {
				s.guesswork(v)
			}
		}
	case name == "source" || name == ".":
		s.source(args, in)
	case s.about(name)&inShells != 0 && shells[name]:
		return s.subShell(name, args, in), true
	case name == "xargs" || name == "parallel":
		s.xargs(name, args, in)
	case name == "find" || name == "fd" || name == "fdfind":
		return s.find(name, args), true
	case name == "ssh":
		s.ssh(args, in)
	case s.about(name)&inLanguages == 0:
		return out, false
	default:
		if i, ok := interpreter(name); ok {
			s.interpret(name, i, args, in)
			return out, true
		}
		return out, false
	}
	return out, true
}

func (s *shell) chdir(args []field) {
	ops := operands(args, "")
	if v := s.def.vars["CDPATH"]; len(ops) == 1 && len(v) > 0 && !v.unknown() && !strings.HasPrefix(ops[0].text, "/") && !strings.HasPrefix(ops[0].text, ".") {
		dir, _, _ := strings.Cut(v[0].text(), ":")
		ops[0] = ops[0].after(strings.TrimSuffix(dir, "/") + "/" + ops[0].text)
	}
	if len(ops) == 0 {
		s.set("PWD", value{{{s: s.c.env.HomeFolder(), kind: quotedFrag, home: true}}})
		return
	}
	if ops[0].unknown {
		s.set("PWD", value{{{s: ops[0].text, kind: unknownFrag}}})
		return
	}
	var v value
	own := ops[0].home || path.NamesHome(ops[0].text)
	s.pathAs(ops[0], Path{Access: Read, Names: true})
	for _, p := range s.resolve(ops[0].text) {
		v = append(v, frags{{s: p, kind: quotedFrag, home: own}})
	}
	s.set("PWD", v)
}

// eval parses the joined words again.
func (s *shell) eval(args []field) stream {
	texts := make([]string, len(args))
	for i, a := range args {
		if a.unknown {
			s.opaque("eval")
			s.guesswork(a.bare)
		}
		texts[i] = a.text
	}
	if slices.ContainsFunc(args, func(f field) bool { return f.unknown }) {
		s.guesswork(strings.Join(texts, " "))
		return stream{open: true}
	}
	return s.parse(strings.Join(texts, " "))
}

// guesswork reads text that may be a command line: only dangers and paths
// that it names count, never that it isn't one.
func (s *shell) guesswork(text string) {
	f := s.fork()
	f.quiet = true
	f.parse(text)
}

func (s *shell) source(args []field, in stream) {
	ops := operands(args, "")
	if len(ops) == 0 {
		return
	}
	s.feed("source", ops[0], in, ops[1:]...)
}
