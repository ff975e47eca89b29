package bash

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// made is what a command line itself has put where a later part of it may
// find it: files, programs under another name, links and mounts. Forks share
// it: a subshell's files stay.
type made struct {
	files   map[string]madeFile
	links   []madeLink
	names   map[string]string // programs by another name
	fds     map[string]stream
	running map[string]bool
	pending []written
	into    []written // of the statement at hand
	next    int       // descriptor that a shell would choose
}

// madeFile is what is known of a file that was written.
type madeFile struct {
	known   bool
	text    string
	program string // it is a copy of
	foreign bool   // from another machine, or decoded: nobody can look
}

// madeLink is where a path leads: a mount is part of the tree around it.
type madeLink struct {
	at, target string
	mount      bool
}

// written is a redirect to a file while its command is being read.
type written struct {
	to   field
	add  bool
	all  bool // of the command's output, not of its errors
	done bool // it is known already what it holds
}

// The bounds of what one line may make: every path is held against the links.
const (
	maxMade      = 4096
	maxKept      = 32 << 10 // bytes of a file that is added to; a longer one is not looked at
	maxMadeLinks = 64
)

// remember sets a key of a map that is made on first use, up to a bound.
func remember[T any](s *shell, m *map[string]T, key string, v T) {
	if *m == nil {
		*m = map[string]T{}
	}
	if len(*m) >= maxMade {
		s.budget.over = true
		return
	}
	(*m)[key] = v
}

// keep remembers what a file holds from now on.
func (s *shell) keep(f field, out stream, add, foreign bool) {
	if f.blank || f.text == "" || f.text == "/dev/null" || f.proc != nil {
		return
	}
	for _, p := range s.places(f.text) {
		m := madeFile{known: out.known, text: out.text, foreign: foreign && !out.known}
		if old, ok := s.made.files[p]; ok && (add || s.unsure > 0) {
			m.foreign = m.foreign || old.foreign
			m.known = m.known && old.known || s.unsure > 0 && (m.known || old.known)
			m.text = old.text + m.text
		}
		if add && len(m.text) > maxKept || len(m.text) > MaxShell || !s.budget.TakeBytes(len(out.text)) {
			m = madeFile{foreign: true}
		}
		remember(s, &s.made.files, p, m)
	}
}

func (s *shell) madeFile(text string) (madeFile, bool) {
	if len(s.made.files) == 0 {
		return madeFile{}, false
	}
	for _, p := range s.resolve(text) {
		if m, ok := s.made.files[p]; ok {
			return m, true
		}
	}
	return madeFile{}, false
}

// decoders print what nobody can look at beforehand.
var decoders = set("curl wget http https xh aria2c nc ncat netcat base64 base32 xxd openssl uudecode")

// settle gives the files that a command's redirects name what it printed.
func (s *shell) settle(list []written, out stream, commands int) {
	if len(list) == 0 {
		return
	}
	foreign := false
	if cmds := s.c.touch.Commands; commands < len(cmds) {
		foreign = slices.ContainsFunc(cmds[commands:], func(c Command) bool { return decoders[c.Name] })
	}
	for _, w := range list {
		switch {
		case w.done:
		case w.all:
			s.keep(w.to, out, w.add, foreign)
		default:
			s.keep(w.to, stream{}, w.add, false)
		}
	}
}

// replay runs a file that was just written: by an interpreter, or by its path.
func (s *shell) replay(name string, f field, args []field) bool {
	m, ok := s.madeFile(f.text)
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
	case m.foreign:
		s.opaque(name)
		return true
	case !m.known || s.made.running[f.text]:
		return false
	}
	s.rerun(name, f, m, args)
	return true
}

// rerun runs what was written to a file.
func (s *shell) rerun(name string, f field, m madeFile, args []field) {
	remember(s, &s.made.running, f.text, true)
	defer delete(s.made.running, f.text)
	if by, rest, ok := shebang(m.text); ok && !shells[name] && name != "source" && name != "." {
		if _, lang := interpreter(name); !lang {
			name = by
			if rest != "" {
				s.tryText(rest+" "+f.text, true)
			}
		}
	}
	if l, ok := interpreter(name); ok {
		s.code(field{text: m.text, bare: m.text}, l.name)
		return
	}
	if list, how := parseShell(m.text); how == whole && breedsFile(list, f.text) {
		s.addDanger(ForkBomb)
	}
	if name == "source" || name == "." {
		s.parseText(m.text)
		return
	}
	g := s.fork()
	g.inFunc, g.params = false, append([]field{f}, args...)
	g.parse(m.text)
}

// shebang reads the first line of a script: what runs it, and with what.
func shebang(text string) (by, rest string, ok bool) {
	line, ok := strings.CutPrefix(text, "#!")
	if !ok {
		return "sh", "", false
	}
	line, _, _ = strings.Cut(line, "\n")
	words := strings.Fields(line)
	if len(words) > 1 && path.Base(words[0]) == "env" {
		words = words[1:]
	}
	if len(words) == 0 {
		return "sh", "", true
	}
	if len(words) > 1 {
		rest = strings.Join(words, " ")
	}
	return programName(words[0]), rest, true
}

// renamed returns the program that a word runs after it was copied, linked or
// hashed under another name; those that are feared by their own name keep it.
func (s *shell) renamed(f field, name string) string {
	if scary[name] || f.unknown || len(s.made.files) == 0 && len(s.made.names) == 0 {
		return name
	}
	if strings.Contains(f.text, "/") {
		if m, ok := s.madeFile(f.text); ok && m.program != "" {
			return m.program
		}
		return name
	}
	if p, ok := s.made.names[name]; ok {
		return p
	}
	return name
}

// binFolders hold programs and nothing else.
var binFolders = set("/bin /usr/bin /sbin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin /opt/local/bin")

// makes remembers the files, names, links and mounts that a command makes.
func (s *shell) makes(name string, args []field, in stream) {
	switch name {
	case "tee", "sponge":
		for _, f := range operands(args, "") {
			s.keep(f, in, flag(args, "a", "append"), false)
		}
	case "dd":
		s.makesByDD(args, in)
	case "cat":
		for i, w := range s.made.into {
			if len(args) == 1 && binFolders[path.Dir(args[0].text)] {
				s.copyTo(name, args[0], w.to.text, false)
				s.made.into[i].done = true
			}
		}
	case "curl", "wget":
		s.fetches(name, args)
	case "cp", "mv", "ln", "install", "link":
		s.copies(name, args)
	case "mknod":
		s.nodes(args)
	case "mount", "bindfs":
		s.mounts(name, args)
	case "umount", "unmount", "fusermount":
		for _, f := range operands(args, "") {
			for _, p := range s.places(f.text) {
				s.made.unlink(p)
			}
		}
	case "mklink":
		if ops := slices.DeleteFunc(operands(args, ""), func(f field) bool { return len(f.text) == 2 && f.text[0] == '/' }); len(ops) == 2 {
			s.link(ops[1], ops[0].text, false)
		}
	}
}

func (s *shell) makesByDD(args []field, in stream) {
	from, to := field{}, field{}
	for _, a := range args {
		if t, ok := strings.CutPrefix(a.text, "of="); ok {
			to = a.after(t)
		} else if t, ok := strings.CutPrefix(a.text, "if="); ok {
			from, in = a.after(t), s.fileStream(a.after(t))
		}
	}
	s.keep(to, in, false, false)
	if from.text != "" && to.text != "" {
		s.copyTo("cp", from, to.text, false)
	}
}

// fetches remembers the files that come from another machine.
func (s *shell) fetches(name string, args []field) {
	for i, a := range args {
		opt, val, joined := optionOf(a, "oO")
		if n := len(a.text); n > 2 && a.text[0] == '-' && a.text[1] != '-' && strings.IndexByte("oO", a.text[n-1]) >= 0 {
			opt, joined = "-"+a.text[n-1:], false // "-qO file"
		}
		if !joined && i+1 < len(args) {
			val = args[i+1]
		}
		switch {
		case opt == "-o" && name == "curl", opt == "--output", opt == "-O" && name == "wget", opt == "--output-document":
			s.keep(val, stream{}, false, true)
		case strings.Contains(a.text, "://") && (name == "wget" || has(args, "-O") || flag(args, "O", "remote-name")):
			dir := "."
			for j, o := range args[:len(args)-1] {
				if o.text == "-P" && name == "wget" || o.text == "--directory-prefix" || o.text == "--output-dir" {
					dir = args[j+1].text
				}
			}
			s.fetched(dir, a.text)
			base, _, _ := strings.Cut(a.text, "?")
			s.keep(field{text: path.Base(base), bare: path.Base(base)}, stream{}, false, true)
		}
	}
}

// located is what "which rm" prints: only for programs that matter under
// another name.
func (s *shell) located(name string, args []field) (stream, bool) {
	switch {
	case name == "which", name == "command" && flag(args, "v"), name == "type" && flag(args, "pP"), name == "whereis" && flag(args, "b"):
	default:
		return stream{}, false
	}
	ops := operands(args, "")
	if len(ops) != 1 || !scary[programWord(ops[0].text)] {
		return stream{}, false
	}
	return knownStream("/usr/bin/" + programWord(ops[0].text) + "\n"), true
}

// breedsFile reports whether a script starts itself twice at once, by its path
// or as $0.
func breedsFile(list []*syntax.Stmt, path string) bool {
	b := bomb{names: map[string]bool{path: true}, memo: map[*syntax.Stmt]bool{}}
	return slices.ContainsFunc(list, b.in)
}

// passers print what they read, one way or another.
var passers = set("cat tac sort uniq head tail rev base64 xxd tr")

// fed puts the files among a filter's operands that are known on its input.
func (s *shell) fed(name string, args []field, in stream) ([]field, stream) {
	if len(s.made.files) == 0 || !passers[name] {
		return args, in
	}
	var text strings.Builder
	var left []field
	for _, a := range args {
		if m, ok := s.madeFile(a.text); ok && m.known {
			text.WriteString(m.text)
			continue
		}
		left = append(left, a)
	}
	if len(left) == len(args) || !s.budget.TakeBytes(text.Len()) {
		return args, in
	}
	return left, knownStream(text.String())
}
