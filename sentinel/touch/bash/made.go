package bash

import (
	"strings"
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

	sends, opens, trees int  // commands that sent their input, took it for names, or for folders
	impure              bool // something did more than read
}

// madeFile is what is known of a file that was written.
type madeFile struct {
	known   bool
	text    string
	program string // it is a copy of
	foreign bool   // from another machine, or decoded: its text can't be looked at
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

// keepFile remembers what a file holds from now on.
func (s *shell) keepFile(f field, out stream, add, foreign bool) {
	if f.blank || f.text == "" || f.text == "/dev/null" || f.proc != nil {
		return
	}
	for _, p := range s.listPlaces(f.text) {
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

// findMade returns what is known of a file that the line has written.
func (s *shell) findMade(text string) (madeFile, bool) {
	if len(s.made.files) == 0 {
		return madeFile{}, false
	}
	for _, p := range s.resolvePath(text) {
		if m, ok := s.made.files[p]; ok {
			return m, true
		}
	}
	return madeFile{}, false
}

// decoders print what can't be looked at beforehand.
var decoders = toSet("curl wget http https xh aria2c nc ncat netcat base64 base32 xxd openssl uudecode")

// settleFiles gives the files that a command's redirects name what it printed.
func (s *shell) settleFiles(list []written, out stream) {
	for _, w := range list {
		if out.secret && w.all && isSocket(w.to.text) {
			s.addUnread(SecretSent)
		}
		if out.known && out.text == "" && !w.add && w.all {
			s.emptyFile(w.to)
		}
		switch {
		case w.done:
		case w.all:
			s.keepFile(w.to, out, w.add, out.foreign)
		default:
			s.keepFile(w.to, stream{}, w.add, false)
		}
	}
}

// findRenamed returns the program that a word runs after it was copied, linked or
// hashed under another name; those that are feared by their own name keep it.
func (s *shell) findRenamed(f field, name string) string {
	if scary[name] || f.unknown || len(s.made.files) == 0 && len(s.made.names) == 0 {
		return name
	}
	if strings.Contains(f.text, "/") {
		if m, ok := s.findMade(f.text); ok && m.program != "" {
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
var binFolders = toSet("/bin /usr/bin /sbin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin /opt/local/bin")

// passers print what they read, one way or another.
var passers = toSet("cat tac sort uniq head tail rev base64 xxd tr")

// feedFiles puts the files among a filter's operands that are known on its input.
func (s *shell) feedFiles(name string, args []field, in stream) ([]field, stream) {
	if len(s.made.files) == 0 || !passers[name] {
		return args, in
	}
	var text strings.Builder
	var left []field
	for _, a := range args {
		if m, ok := s.findMade(a.text); ok && m.known {
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
