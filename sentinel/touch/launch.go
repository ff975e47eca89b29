package touch

import (
	"slices"
	"strconv"
	"strings"
)

// launcher is a program that runs a command found among its arguments behind a
// word of its own: "poetry run", "npm exec", "nix develop -c".
type launcher struct {
	subs   []string // one of these comes first; a dot stands for the next word
	values []string // options that take a value
	lines  []string // options whose value is a command line
	rest   []string // options behind which the command starts
	skip   int      // operands before the command
	dash   bool     // the command only stands behind "--"
	all    bool     // each operand is a command line
	joined bool     // the words are a command line together
	sets   bool     // X=y before the command
	box    bool     // it runs in a container
}

// launch runs what a launcher starts; ok is false where these arguments start
// nothing.
func (s *shell) launch(l launcher, args []field, in stream) (out stream, ok bool) {
	out = stream{open: true}
	sub, path, skip := len(l.subs) == 0, "", l.skip
	for i := 0; i < len(args); i++ {
		opt, val, joined := l.option(args[i])
		switch {
		case args[i].text == "--":
			if sub {
				s.mentions(args[:i])
				return s.starts(l, args[i+1:], in), true
			}
		case opt == "":
			if !sub {
				var known bool
				if sub, path, known = l.step(path, args[i].text); !known {
					return out, false
				}
				continue
			}
			if l.dash || skip > 0 {
				skip--
				continue
			}
			s.mentions(args[:i])
			return s.starts(l, args[i:], in), true
		case slices.Contains(l.lines, opt):
			if !joined && i+1 < len(args) {
				i++
				val = args[i]
			}
			s.commandLine(val)
			ok = true
		case slices.Contains(l.rest, opt):
			rest := args[i+1:]
			if joined {
				rest = append([]field{val}, rest...)
			} else if len(rest) > 0 && rest[0].text == "--" {
				rest = rest[1:]
			}
			return s.starts(l, rest, in), true
		case !joined && slices.Contains(l.values, opt):
			i++
		}
	}
	return out, ok && sub
}

// option splits an option from its value; opt is empty for an operand.
func (l launcher) option(a field) (opt string, val field, joined bool) {
	t := a.text
	if len(t) < 2 || t[0] != '-' {
		return "", val, false
	}
	at, skip := strings.IndexByte(t, '='), 1
	if t[1] != '-' && (at < 0 || at > 2) && len(t) > 2 && !l.knows(t) && l.knows(t[:2]) {
		at, skip = 2, 0 // "-xcommand"
	}
	if at < 0 || !l.knows(t[:at]) {
		return t, val, false
	}
	return t[:at], field{text: t[at+skip:], bare: t[at+skip:], unknown: a.unknown, proc: a.proc}, true
}

func (l launcher) knows(opt string) bool {
	return slices.Contains(l.lines, opt) || slices.Contains(l.rest, opt) || slices.Contains(l.values, opt)
}

// step goes on to the next of the words that lead to a command.
func (l launcher) step(path, word string) (done bool, now string, ok bool) {
	now = path + word
	for _, sub := range l.subs {
		switch {
		case sub == now:
			return true, now, true
		case strings.HasPrefix(sub, now+"."):
			ok = true
		}
	}
	return false, now + ".", ok
}

// starts runs the words that a launcher was given.
func (s *shell) starts(l launcher, args []field, in stream) stream {
	switch {
	case len(args) == 0:
		return stream{open: true}
	case l.box:
		s.elsewhere(args, in)
		return stream{open: true}
	case l.all:
		for _, a := range args {
			if by, _, ok := strings.Cut(a.text, ":"); ok && (by == "npm" || by == "pnpm" || by == "yarn" || by == "bun" || by == "deno") {
				continue // a script of the project, or a pattern of several
			}
			if !strings.HasPrefix(a.text, "-") {
				s.commandLine(a)
			}
		}
		return stream{open: true}
	case strings.ContainsAny(args[0].text, " \t\n;|&") || len(args) == 1 && args[0].blank:
		return s.commandLine(args[0])
	}
	return s.inside(wrapper{assigns: l.sets, joined: l.joined}, args, in)
}

// commandLine reads an argument that is a command line.
func (s *shell) commandLine(f field) stream {
	switch {
	case f.proc != nil || f.text == "":
		return stream{open: true}
	case f.blank:
		s.opaque("")
		return stream{open: true}
	case f.unknown:
		s.guesswork(f.text)
		s.guesswork(f.bare)
		return stream{open: true}
	}
	return s.fork().parse(f.text)
}

// hooked reads a value that some program runs as a command line, with marks of
// its own before it and behind it: what it touches counts, that it may be no
// line of a shell does not.
func (s *shell) hooked(f field) {
	text := strings.TrimLeft(f.text, " \t!|:&-@+")
	if text == "" || f.blank || f.proc != nil {
		return
	}
	t := s.aside(func(g *shell) {
		g.quiet = g.quiet || f.unknown
		g.parse(text)
	})
	for _, d := range t.Dangers {
		s.danger(d.Code)
	}
	for _, d := range t.Doubts {
		if !s.quiet || d.Code != OpaqueCommand {
			s.doubt(d.Code)
		}
	}
	for _, p := range t.Paths {
		if p.Access != Mention { // the key that "ssh -i" names is no file of this command
			s.c.touch.Paths = append(s.c.touch.Paths, p)
		}
	}
	for _, h := range t.Hosts {
		s.c.host(h)
	}
}

// launcherOf returns how name runs what is among its arguments.
func launcherOf(name string) (launcher, bool) {
	if l, ok := launchers[name]; ok {
		return l, true
	}
	if strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || name == "ld.so" {
		return launcher{values: []string{"--library-path", "--preload", "--argv0", "--inhibit-rpath", "--audit", "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"}}, true
	}
	return launcher{}, false
}

// argFile is what xargs and parallel read in place of their input.
func (s *shell) argFile(args []field, in stream) stream {
	for i, a := range args {
		opt, val, joined := optionOf(a, "a")
		if opt != "-a" && opt != "--arg-file" {
			if !strings.HasPrefix(a.text, "-") {
				return in
			}
			continue
		}
		if !joined && i+1 < len(args) {
			val = args[i+1]
		}
		if text, ok := s.content(val, in); ok {
			return known(text)
		}
		return stream{} // a file's lines are arguments, which nobody can know
	}
	return in
}

func joined(words []field) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}

// combined reads what parallel makes of several lists: each word of one with
// each of the others.
func (s *shell) combined(words, given []field) {
	lists := [][]field{nil}
	for _, g := range given {
		if strings.HasPrefix(g.text, ":::") {
			lists = append(lists, nil)
			continue
		}
		lists[len(lists)-1] = append(lists[len(lists)-1], g)
	}
	if len(lists) < 2 {
		return
	}
	rows := [][]field{nil}
	for _, l := range lists {
		var next [][]field
		for _, r := range rows {
			for _, f := range l {
				next = append(next, append(slices.Clone(r), f))
			}
		}
		if rows = next; len(rows) > maxItems {
			s.spent.over = true
			return
		}
	}
	for _, r := range rows {
		line := slices.Clone(words)
		for i, f := range r {
			line = substitute(line, "{"+strconv.Itoa(i+1)+"}", []field{f})
		}
		s.guesswork(joined(line))
	}
}
