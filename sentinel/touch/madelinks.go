package touch

import (
	paths "path"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// linkAt returns the link at a path.
func (m *made) linkAt(p string) (madeLink, bool) {
	i := slices.IndexFunc(m.links, func(l madeLink) bool { return l.at == p })
	if i < 0 {
		return madeLink{}, false
	}
	return m.links[i], true
}

func (m *made) unlink(p string) {
	m.links = slices.DeleteFunc(m.links, func(l madeLink) bool { return l.at == p })
}

// copies follows files under their new names.
func (s *shell) copies(name string, args []field) {
	from, to := sources(args, "tSmgo")
	if to.text == "" && len(from) == 1 && name == "ln" {
		to = from[0].after(paths.Base(from[0].text))
	}
	if to.text == "" || to.unknown {
		return
	}
	for _, f := range from {
		at := []string{to.text}
		if inside := strings.TrimSuffix(to.text, "/") + "/" + paths.Base(f.text); len(from) > 1 || strings.HasSuffix(to.text, "/") || to.text == "." {
			at = []string{inside}
		} else if name != "ln" {
			at = append(at, inside)
		}
		for _, p := range at {
			s.copyTo(name, f, p, name == "ln" && flag(args, "s", "symbolic") || name == "cp" && flag(args, "s", "symbolic-link"))
		}
	}
}

func (s *shell) copyTo(name string, f field, to string, symbolic bool) {
	var m madeFile
	if old, ok := s.madeFile(f.text); ok {
		m = old
	} else if binFolders[paths.Dir(f.text)] {
		m.program = programName(f.text)
	}
	if m.program != "" || m.known || m.foreign {
		for _, p := range s.places(to) {
			remember(s, &s.made.files, p, m)
		}
		if m.program != "" {
			remember(s, &s.made.names, paths.Base(to), m.program)
		}
	}
	if symbolic {
		s.link(f, to, false)
	}
	if name == "mv" {
		for _, p := range s.places(f.text) {
			if l, ok := s.made.linkAt(p); ok {
				s.link(field{text: l.target}, to, l.mount)
			}
		}
	}
}

// link makes a path lead to a target.
func (s *shell) link(target field, at string, mount bool) {
	if target.unknown || target.text == "" || at == "" {
		return
	}
	for _, p := range s.places(at) {
		t := target.text
		if !strings.HasPrefix(t, "/") && !strings.HasPrefix(t, "~") && !mount {
			t = paths.Dir(p) + "/" + t // as the link will be read
		}
		for _, to := range s.places(t) {
			if l, ok := s.made.linkAt(to); ok {
				to = l.target
			}
			if to == p {
				continue
			}
			if s.made.unlink(p); len(s.made.links) >= maxMadeLinks {
				s.spent.over = true
				return
			}
			s.made.links = append(s.made.links, madeLink{at: p, target: to, mount: mount})
		}
	}
}

// nodes follows the devices that mknod makes under other names.
func (s *shell) nodes(args []field) {
	if ops := operands(args, "mZ"); len(ops) > 2 && (ops[1].text == "b" || ops[1].text == "c" && ops[2].text == "1") {
		for _, p := range s.places(ops[0].text) {
			s.made.links = append(s.made.links, madeLink{at: p, target: "/dev/mapper/made", mount: true})
		}
	}
}

// mounts follows the mounts that show one folder at another place.
func (s *shell) mounts(name string, args []field) {
	ops := operands(args, "otTLU")
	bind, upper := name == "bindfs" || flag(args, "BRM", "bind", "rbind", "move"), ""
	for i, a := range args {
		if a.text == "-o" && i+1 < len(args) {
			for opt := range strings.SplitSeq(args[i+1].text, ",") {
				bind = bind || opt == "bind" || opt == "rbind"
				if dir, ok := strings.CutPrefix(opt, "upperdir="); ok {
					upper = dir
				}
			}
		}
	}
	switch {
	case bind && len(ops) == 2:
		s.link(ops[0], ops[1].text, true)
	case upper != "" && len(ops) > 0:
		s.link(field{text: upper}, ops[len(ops)-1].text, true)
	}
}

// resolve returns what a word of a command names, for each folder that the
// command may run in, and where links that were just made lead it.
func (s *shell) resolve(text string) []string {
	out := s.places(text)
	if len(s.made.links) == 0 {
		return out
	}
	for i, n := 0, len(out); i < n; i++ {
		for _, l := range s.made.links {
			p, at := out[i], l.at
			switch {
			case strings.HasPrefix(p, at+"/"):
				out = appendNew(out, path.ResolveDots(l.target+p[len(at):]))
			case p == at && (l.mount || strings.HasSuffix(text, "/") || strings.HasSuffix(text, "/.")):
				out = appendNew(out, l.target)
			case l.mount && strings.HasPrefix(at, p+"/"):
				out = appendNew(out, l.target) // it lies in what is named
			}
		}
	}
	return out
}
