package touch

import (
	"strings"
)

// feed runs the file f as a script.
func (s *shell) feed(name string, f field, in stream, args ...field) {
	switch {
	case f.proc != nil:
		s.execute(name, *f.proc)
	case f.text == "-" || f.text == "/dev/stdin" || f.text == "/dev/fd/0" || f.text == "/proc/self/fd/0":
		in.open = true
		s.execute(name, in)
	case s.made.fds[fdOf(f.text)].open:
		s.execute(name, s.made.fds[fdOf(f.text)])
	default:
		s.path(f, Read|Execute)
		s.replay(name, f, args)
	}
}

// fdOf is the number in /dev/fd/3.
func fdOf(text string) string {
	return strings.TrimPrefix(strings.TrimPrefix(text, "/dev/fd/"), "/proc/self/fd/")
}

// execute runs what a stream says.
func (s *shell) execute(name string, in stream) {
	switch {
	case in.known:
		s.parse(in.text)
	case in.open:
		s.opaque(name)
	}
}

var shells = map[string]bool{
	"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "ash": true, "mksh": true,
	"fish": true, "csh": true, "tcsh": true, "rbash": true, "rzsh": true, "ksh93": true, "pdksh": true,
}

// subShell is sh -c TEXT, sh FILE, or sh with its program on its input.
func (s *shell) subShell(name string, args []field, in stream) stream {
	for i := 0; i < len(args); i++ {
		a := args[i].text
		switch {
		case a == "--rcfile" || a == "--init-file" || a == "-o" || a == "+o" || a == "-O" || a == "+O":
			i++
		case a == "--help" || a == "--version":
			return stream{open: true}
		case a == "-c" || a == "--command" || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.IndexByte(a, 'c') > 0:
			return s.script(name, args[i+1:])
		case a == "-s" || a == "-":
		case len(a) > 0 && (a[0] == '-' || a[0] == '+'):
		default:
			s.feed(name, args[i], in, args[i+1:]...)
			return stream{open: true}
		}
	}
	s.execute(name, in)
	return stream{open: true}
}

// script is what follows -c: the text, then $0, $1 and so on.
func (s *shell) script(name string, args []field) stream {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") && len(args) > 1 {
		args = args[1:]
	}
	if len(args) == 0 {
		return stream{open: true}
	}
	f := s.fork()
	f.inFunc, f.params = false, nil
	f.params = append(f.params, args[1:]...)
	if args[0].unknown {
		s.opaque(name)
		f.guesswork(args[0].text)
		return stream{open: true}
	}
	text := args[0].text
	switch name {
	case "fish":
		if sh, ok := fish(text); ok {
			text = sh
		}
	case "zsh":
		text = zshFor.ReplaceAllString(text, "for $1 in $2; do $3; done")
	}
	return f.parse(text)
}

// ssh runs its last words on another machine, which can be lost as well.
func (s *shell) ssh(args []field, in stream) {
	rest := skipOptions(args, "bBcDEeFIiJLlmOoPpQRSWw", nil)
	s.mentions(args[:len(args)-len(rest)])
	if len(rest) == 0 {
		return
	}
	s.reach(rest[0].text, true)
	if len(rest) > 1 {
		s.fork().eval(rest[1:])
		if words := strings.Fields(joined(rest[1:])); in.known && len(words) > 0 && shells[programName(words[0])] {
			s.fork().run(literals(words), in)
		}
	}
}
