package touch

import (
	"slices"
	"strings"
)

// wrapper is a program that runs the command in its arguments.
type wrapper struct {
	values  string   // short options that take a value
	long    []string // long options that take one as the next word
	skip    int      // operands before the command
	assigns bool     // X=y before the command
	lines   string   // options whose value is a command line
	none    string   // options with which it runs nothing
	joined  bool     // its operands are a command line
}

var wrappers = map[string]wrapper{
	"sudo": {values: "CDghpRrtTUu", long: []string{"user", "group", "host", "prompt", "chdir", "chroot", "role", "type", "other-user", "close-from", "command-timeout"}, assigns: true, none: "lvVkK"},
	"doas": {values: "Cu"}, "env": {values: "uC", long: []string{"unset", "chdir"}, lines: "S", assigns: true},
	"nice": {values: "n", long: []string{"adjustment"}}, "nohup": {}, "setsid": {}, "command": {none: "vV"}, "builtin": {},
	"exec": {values: "a"}, "stdbuf": {values: "ioe", long: []string{"input", "output", "error"}},
	"timeout": {values: "ks", long: []string{"signal", "kill-after"}, skip: 1}, "gtimeout": {values: "ks", skip: 1},
	"time": {values: "fo", long: []string{"format", "output"}}, "ionice": {values: "cnpPu", long: []string{"class", "classdata"}},
	"chrt": {values: "TPD", skip: 1}, "taskset": {skip: 1}, "chroot": {skip: 1}, "busybox": {}, "toybox": {},
	"unshare": {values: "SGRw"}, "nsenter": {values: "tSGW"}, "pkexec": {long: []string{"user"}}, "gosu": {skip: 1}, "su-exec": {skip: 1},
	"strace": {values: "aeEIoOpPsSuUX"}, "ltrace": {values: "aeEIlnopsuwx"}, "caffeinate": {values: "tw"}, "fakeroot": {values: "lsib"},
	"proxychains": {values: "f"}, "proxychains4": {values: "f"}, "torsocks": {values: "aPu"}, "firejail": {}, "prlimit": {values: "op"},
	"watch": {values: "nq", long: []string{"interval", "equexit"}, joined: true}, "flock": {values: "wE", long: []string{"timeout", "wait", "conflict-exit-code"}, skip: 1, lines: "c"},
	"su": {values: "gGsw", long: []string{"shell", "group"}, skip: 99, lines: "c"}, "runuser": {values: "gGsu", long: []string{"user", "group"}, lines: "c"},
	"script": {values: "EoTImBO", skip: 99, lines: "c"}, "systemd-run": {values: "pPuEtMH", long: []string{"unit", "property", "uid", "gid", "setenv", "machine"}},
	"xvfb-run": {values: "nesfp"}, "dbus-run-session": {}, "numactl": {values: "CNmipP"}, "cpulimit": {values: "lpe"}, "setpriv": {long: []string{"reuid", "regid", "groups", "ruid", "rgid", "euid", "egid", "bounding-set", "inh-caps", "ambient-caps", "securebits", "pdeathsig", "selinux-label", "apparmor-profile"}},
	"coproc": {}, "noglob": {}, "nocorrect": {}, "setarch": {}, "linux64": {}, "ts-node": {skip: 99}, "entr": {}, "unbuffer": {}, "valgrind": {},
	"then": {}, "sshpass": {values: "pPfd"}, "chronic": {}, "softlimit": {}, "eatmydata": {}, "gtime": {values: "fo"},
}

// wrapped peels w and runs what it runs.
func (s *shell) wrapped(w wrapper, args []field, in stream) stream {
	out := stream{open: true}
	s.mentions(args[:min(len(args), 1)])
	for len(args) > 0 {
		a := args[0].text
		switch {
		case a == "--":
			args = args[1:]
			return s.inside(w, args, in)
		case a == "-" && w.assigns: // env's short form of -i
			args = args[1:]
			continue
		case len(a) < 2 || a[0] != '-':
			return s.inside(w, args, in)
		}
		args = args[1:]
		name, val, joined := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if strings.HasPrefix(a, "--") {
			if lineOption(w, name) {
				s.line(val, joined, args)
			}
			if name == "version" || name == "help" {
				return out
			}
			if !joined && abbreviates(name, w.long) && len(args) > 0 {
				args = args[1:]
			}
			continue
		}
		for i := 1; i < len(a); i++ {
			c := a[i]
			switch {
			case strings.IndexByte(w.none, c) >= 0:
				return out
			case strings.IndexByte(w.lines, c) >= 0:
				s.line(a[i+1:], i+1 < len(a), args)
				i = len(a)
			case strings.IndexByte(w.values, c) >= 0:
				if i+1 == len(a) && len(args) > 0 {
					args = args[1:]
				}
				i = len(a)
			}
		}
	}
	return out
}

func lineOption(w wrapper, name string) bool {
	return strings.IndexByte(w.lines, 'S') >= 0 && strings.HasPrefix("split-string", name) && len(name) > 1 || //nolint:gocritic // name may be cut short
		strings.IndexByte(w.lines, 'c') >= 0 && (name == "command" || name == "session-command")
}

// line runs the command line that is an option's value, with the words that
// follow it.
func (s *shell) line(val string, joined bool, args []field) {
	if !joined {
		if len(args) == 0 {
			return
		}
		if args[0].unknown {
			s.opaque("")
		}
		val, args = args[0].text, args[1:]
	}
	val = strings.ReplaceAll(val, `\_`, " ") // a blank of env -S
	s.guesswork(val)
	words := []string{val}
	for _, a := range args {
		words = append(words, a.text)
	}
	s.guesswork(strings.Join(words, " "))
}

// inside runs the words after a wrapper's options.
func (s *shell) inside(w wrapper, args []field, in stream) stream {
	if w.assigns {
		for len(args) > 0 && (assignment(args[0].text) || strings.HasPrefix(args[0].text, "BASH_FUNC_")) {
			name, val, _ := strings.Cut(args[0].text, "=")
			s.set(name, literal(val))
			s.binds(name, literal(val))
			args = args[1:]
		}
	}
	for i := 0; i < w.skip && len(args) > 0; i++ {
		args = args[1:]
		if len(args) > 0 && strings.IndexByte(w.lines, 'c') >= 0 && args[0].text == "-c" {
			s.line("", false, args[1:])
			return stream{open: true}
		}
	}
	if len(args) == 0 {
		return stream{open: true}
	}
	if w.joined {
		return s.fork().eval(args)
	}
	return s.run(args, in)
}

func assignment(text string) bool {
	i := strings.IndexByte(text, '=')
	if i <= 0 {
		return false
	}
	for j := range i {
		if !letter(text[j]) && text[j] != '_' && (j == 0 || !digit(text[j])) {
			return false
		}
	}
	return true
}

// abbreviates reports whether a long option is one of list, or starts one.
func abbreviates(name string, list []string) bool {
	return name != "" && slices.ContainsFunc(list, func(l string) bool { return strings.HasPrefix(l, name) })
}

// skipOptions returns what follows a command's options. values are the short
// options that take a value, long the long ones that take it as a word.
func skipOptions(args []field, values string, long []string) []field {
	for len(args) > 0 {
		a := args[0].text
		if a == "--" {
			return args[1:]
		}
		if len(a) < 2 || a[0] != '-' {
			return args
		}
		args = args[1:]
		if name, ok := strings.CutPrefix(a, "--"); ok {
			if slices.Contains(long, name) && len(args) > 0 {
				args = args[1:]
			}
			continue
		}
		if i := strings.IndexAny(a[1:], values); values != "" && i >= 0 && i+2 == len(a) && len(args) > 0 {
			args = args[1:]
		}
	}
	return args
}

// operands returns the arguments that are no options; values are the short
// options that take the next word.
func operands(args []field, values string) []field {
	if !slices.ContainsFunc(args, func(f field) bool { return len(f.text) > 1 && f.text[0] == '-' }) {
		return slices.Clip(args) // no options: the common case, asked several times of each command
	}
	var out []field
	for i := 0; i < len(args); i++ {
		a := args[i].text
		switch {
		case a == "--":
			return append(out, args[i+1:]...)
		case len(a) > 1 && a[0] == '-':
			if a[1] != '-' && strings.IndexByte(values, a[len(a)-1]) >= 0 {
				i++
			}
		default:
			out = append(out, args[i])
		}
	}
	return out
}

// xargs runs its words with what its input names; parallel too, and with what
// follows ":::".
func (s *shell) xargs(name string, args []field, in stream) {
	replace, arg0 := "", args
	in = s.argFile(args, in)
	for len(args) > 0 && len(args[0].text) > 1 && args[0].text[0] == '-' && args[0].text != "--" {
		a := args[0].text
		args = args[1:]
		switch {
		case strings.HasPrefix(a, "--replace") || a == "-i":
			_, replace, _ = strings.Cut(a, "=")
		case strings.HasPrefix(a, "-i"), strings.HasPrefix(a, "-I") && len(a) > 2:
			replace = a[2:]
		case a == "-I" || a == "-J" || a == "-R":
			if len(args) > 0 {
				replace, args = args[0].text, args[1:]
			}
		case strings.HasPrefix(a, "--"):
			long := []string{"--delimiter", "--max-args", "--max-procs", "--max-lines", "--max-chars", "--arg-file", "--eof", "--jobs", "--colsep"}
			if slices.Contains(long, a) && len(args) > 0 {
				args = args[1:]
			}
		case len(a) == 2 && strings.IndexByte("LnPsdEaCjSN", a[1]) >= 0 && len(args) > 0:
			args = args[1:]
		}
	}
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	s.mentions(arg0[:len(arg0)-len(args)])
	if replace == "" {
		replace = "{}"
	}
	s.eachItem(args, replace, s.items(name, &args, in), name == "parallel")
}

// items returns what xargs hands out, one field each.
func (s *shell) items(name string, args *[]field, in stream) []field {
	if name == "parallel" {
		for i, a := range *args {
			if a.text == ":::" || a.text == ":::+" {
				given := (*args)[i+1:]
				*args = (*args)[:i]
				s.combined(*args, given)
				return slices.DeleteFunc(slices.Clone(given), func(f field) bool { return strings.HasPrefix(f.text, ":::") })
			}
		}
	}
	if in.known {
		var out []field
		for line := range strings.Lines(strings.ReplaceAll(in.text, "\x00", "\n")) {
			line = strings.TrimSpace(line)
			out = append(out, field{text: line, bare: line})
		}
		return out
	}
	if !in.open {
		return nil
	}
	return in.entries()
}

const maxItems = 256

func (s *shell) eachItem(words []field, replace string, items []field, lines bool) {
	if len(items) > maxItems {
		s.spent.over = true
		return
	}
	if len(words) == 0 {
		for _, it := range items {
			if lines && it.unknown {
				s.opaque("parallel")
			} else if lines {
				s.guesswork(it.text)
			}
		}
		return
	}
	for _, it := range items {
		if lines && strings.ContainsAny(words[0].text, " \t;|&") {
			s.guesswork(joined(substitute(words, replace, []field{it})))
			continue
		}
		s.run(substitute(words, replace, []field{it}), stream{})
		if parts := strings.Fields(it.text); len(parts) > 1 && !it.unknown {
			s.run(substitute(words, replace, literals(parts)), stream{})
		}
	}
	if len(items) == 0 {
		s.run(words, stream{})
	}
}

// substitute puts the items where replace stands, or at the end.
func substitute(words []field, replace string, items []field) []field {
	out, found := make([]field, 0, len(words)+len(items)), false
	for _, w := range words {
		switch {
		case w.text == replace:
			out, found = append(out, items...), true
		case strings.Contains(w.text, replace) && len(items) > 0:
			found = true
			w.text = strings.ReplaceAll(w.text, replace, items[0].text)
			w.bare = strings.ReplaceAll(w.bare, replace, items[0].bare)
			w.unknown = w.unknown || items[0].unknown
			out = append(out, w)
		default:
			out = append(out, w)
		}
	}
	if !found {
		out = append(out, items...)
	}
	return out
}
