package touch

import (
	"regexp"
	"strings"
)

// make reads the makefiles that stand in its arguments or come on its input,
// and the variables that it is given, which recipes run.
func (s *shell) make(args []field, in stream) {
	named := false
	for i, a := range args {
		t := a.text
		val, ok := strings.CutPrefix(t, "--eval=")
		switch {
		case ok:
			s.makefile(val)
		case (t == "--eval" || t == "-E") && i+1 < len(args):
			s.makefile(args[i+1].text)
		case t == "-f" || t == "--file" || t == "--makefile":
			named = true
			if i+1 < len(args) {
				s.makeFrom(args[i+1], in)
			}
		case strings.HasPrefix(t, "--file=") || strings.HasPrefix(t, "--makefile="):
			named = true
			s.makeFrom(a.after(t[strings.IndexByte(t, '=')+1:]), in)
		case strings.HasPrefix(t, "-f"):
			named = true
			s.makeFrom(a.after(t[2:]), in)
		case assignment(strings.Replace(t, ":=", "=", 1)):
			_, val, _ := strings.Cut(t, "=")
			s.makeValue(val)
		}
	}
	if named {
		return
	}
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if p, ok := s.madeFile(name); ok && p.known {
			s.makefile(p.text)
		}
	}
}

func (s *shell) makeValue(val string) {
	if namesScary(val) {
		s.try(func(f *shell) { f.parse(val) })
	}
	s.makefile(val)
}

func (s *shell) makeFrom(f field, in stream) {
	text, ok := s.content(f, in)
	switch {
	case ok:
		s.makefile(text)
	case in.open && (f.text == "-" || strings.HasPrefix(f.text, "/dev/")):
		s.opaque("make")
	}
}

var shellCalls = regexp.MustCompile(`\$[({]shell\s+([^)}]*)[)}]`)

// makefile reads the recipes of a makefile as one script, and what make itself
// runs while it reads.
func (s *shell) makefile(text string) {
	if len(text) > MaxShell {
		s.spent.over = true
		return
	}
	var script strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		recipe, ok := strings.CutPrefix(line, "\t")
		if !ok {
			if _, cmd, found := strings.Cut(line, "!="); found {
				recipe, ok = cmd, true
			} else if _, cmd, found := strings.Cut(line, ";"); found && strings.Contains(line, ":") {
				recipe, ok = cmd, true
			}
		}
		if ok {
			script.WriteString(strings.ReplaceAll(strings.TrimLeft(recipe, " \t@+-"), "$$", "$") + "\n")
		}
	}
	for _, m := range shellCalls.FindAllStringSubmatch(text, 64) {
		script.WriteString(m[1] + "\n")
	}
	if script.Len() > 0 {
		s.hooked(field{text: script.String(), bare: script.String()})
	}
}
