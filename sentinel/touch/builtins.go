package touch

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin are the words of a shell that give a name a value, or another name to
// a command. text is the command's first word as it stands.
func (s *shell) builtin(first field, name string, args []field, in stream) (stream, bool) {
	if line, ok := s.def.aliases[first.text]; ok {
		return s.aliased(first.text, line, args, in), true
	}
	done := stream{open: true, known: true}
	switch name {
	case "read":
		s.reads(args, in)
	case "mapfile", "readarray":
		s.mapfile(args, in)
	case "printf":
		if len(args) < 2 || args[0].text != "-v" {
			return done, false
		}
		s.subscript(args[1].text)
		s.set(args[1].text, substituted(s.prints(name, args[2:], in)))
	case "set":
		s.positionals(args)
		return done, false
	case "shift":
		s.params = s.params[min(1, len(s.params)):]
	case "alias":
		s.alias(args)
		return done, false
	case "hash":
		if len(args) == 3 && args[0].text == "-p" {
			put(&s.own().aliases, args[2].text, args[1].text)
		}
		return done, false
	case "unset", "let", "test", "[":
		s.subscripts(args)
		return done, false
	case "awk", "gawk", "mawk":
		// A program that prints a column does nothing else.
		out := s.prints(name, args, in)
		return out, out.known
	case "xargs", "parallel":
		return s.fromFile(name, args, in)
	default:
		return done, false
	}
	return done, true
}

func (s *shell) alias(args []field) {
	for _, a := range args {
		if n, line, ok := strings.Cut(a.text, "="); ok && !a.unknown {
			put(&s.own().aliases, n, line)
		}
	}
}

func (s *shell) subscripts(args []field) {
	for _, a := range args {
		s.subscript(a.text)
	}
}

// aliased runs a line with the words that follow its alias. An alias does not
// mean itself.
func (s *shell) aliased(name, line string, args []field, in stream) stream {
	f := s.fork()
	delete(f.own().aliases, name)
	if strings.ContainsAny(line, ";|&<>()$`\"'\\") {
		texts := []string{line}
		for _, a := range args {
			texts = append(texts, a.text)
		}
		return f.parse(strings.Join(texts, " "))
	}
	return f.run(append(literals(strings.Fields(line)), args...), in)
}

// subscript runs what the index of an array element substitutes.
func (s *shell) subscript(text string) {
	if i := strings.IndexByte(text, '['); i > 0 && strings.ContainsAny(text[i:], "$`") {
		s.guesswork(text[i+1:])
	}
}

func (s *shell) subscriptOf(w *syntax.Word) {
	if len(w.Parts) == 1 {
		if q, ok := w.Parts[0].(*syntax.SglQuoted); ok {
			s.subscript(q.Value)
		}
	}
}

// reads is "read a b": the first line of what it is fed, split at IFS.
func (s *shell) reads(args []field, in stream) {
	var names []string
	array := ""
	for i := 0; i < len(args); i++ {
		t := args[i].text
		switch {
		case len(t) > 1 && t[0] == '-':
			if strings.IndexByte("adDeiknNptu", t[len(t)-1]) >= 0 && strings.IndexByte(t, 'e') != len(t)-1 {
				if i++; t[len(t)-1] == 'a' && i < len(args) {
					array = args[i].text
				}
			}
		default:
			s.subscript(t)
			names = append(names, t)
		}
	}
	if len(names) == 0 && array == "" {
		names = []string{"REPLY"}
	}
	line, _, _ := strings.Cut(in.text, "\n")
	if array != "" {
		s.set(array, s.fedOne(in, line, true))
		return
	}
	for i, n := range names {
		rest := line
		if in.known && i < len(names)-1 {
			line, rest = s.cutIFS(line)
			s.set(n, literal(line))
			line = rest
			continue
		}
		s.set(n, s.fedOne(in, strings.TrimSpace(rest), false))
	}
}

// fedOne is what one line of a stream gives a variable, or an array.
func (s *shell) fedOne(in stream, line string, array bool) value {
	if !in.known {
		return fed(in)
	}
	if !array {
		return literal(line)
	}
	var v value
	for line != "" && len(v) < maxAlts {
		var word string
		word, line = s.cutIFS(line)
		v = append(v, frags{{s: word, kind: quotedFrag}})
	}
	return v
}

func (s *shell) cutIFS(line string) (word, rest string) {
	ifs := " \t\n"
	if v := s.lookup("IFS"); len(v) > 0 && !v.unknown() {
		ifs = v[0].text()
	}
	line = strings.TrimLeft(line, " \t")
	if i := strings.IndexAny(line, ifs); i >= 0 {
		return line[:i], line[i+1:]
	}
	return line, ""
}

func (s *shell) mapfile(args []field, in stream) {
	ops := operands(args, "dnOsuCc")
	s.shellWords("mapfile", args)
	name := "MAPFILE"
	if len(ops) > 0 {
		name = ops[0].text
	}
	s.set(name, fed(in))
}

// positionals is "set -- a b": $1 and so on.
func (s *shell) positionals(args []field) {
	for i, a := range args {
		switch {
		case a.text == "--":
			args = args[i+1:]
		case a.text != "" && strings.IndexByte("-+", a.text[0]) >= 0:
			continue
		default:
			args = args[i:]
		}
		s.params = slices.Clone(args)
		if !s.inFunc {
			s.params = append(literals([]string{"sh"}), s.params...)
		}
		return
	}
}

// fromFile is xargs with its items in a file that the line itself fills.
func (s *shell) fromFile(name string, args []field, in stream) (stream, bool) {
	s.breeding(name, args, in)
	for i, a := range args {
		if (a.text == "-a" || a.text == "--arg-file") && i+1 < len(args) && args[i+1].proc != nil {
			s.xargs(name, slices.Delete(slices.Clone(args), i, i+2), *args[i+1].proc)
			return stream{open: true}, true
		}
	}
	return stream{}, false
}

// decl is "declare x=1" and its kin; with -n a name for another variable.
func (s *shell) decl(cmd *syntax.DeclClause) {
	byName := false
	for _, a := range cmd.Args {
		if a.Name == nil && a.Value != nil {
			byName = byName || strings.HasPrefix(a.Value.Lit(), "-") && strings.Contains(a.Value.Lit(), "n") && cmd.Variant.Value != "export"
		}
		if a.Name == nil && a.Value != nil {
			s.subscriptOf(a.Value)
		}
		s.assign(a)
		if byName && a.Name != nil && a.Value != nil {
			if to := a.Value.Lit(); syntax.ValidName(to) {
				put(&s.own().refs, a.Name.Value, to)
			}
		}
	}
}
