package touch

import (
	"path"
	"slices"
	"strings"
)

// systemTrees are the folders whose loss takes the system with it.
var systemTrees = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/proc", "/sbin", "/srv", "/sys", "/usr", "/var",
	"/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/local", "/usr/sbin", "/usr/share",
	"/usr/local/bin", "/usr/local/lib", "/var/lib", "/private", "/nix", "/nix/store", "/snap", "/gnu/store", "/private/etc", "/private/var",
	"/system", "/library", "/applications", "c:/windows", "c:/windows/system32", "c:/program files", "c:/program files (x86)", "c:/programdata",
}

// homesRoots hold one home folder for each entry.
var homesRoots = []string{"/home", "/users", "c:/users", "/export/home"}

// treeKind says which tree a path is as a whole.
type treeKind uint8

const (
	noTree treeKind = iota
	rootTree
	systemTree
	homeTree
)

func (k treeKind) rm() string { return [...]string{"", RmRoot, RmSystem, RmHome}[k] }

// tree says which tree an argument names: as a whole, or all of its entries.
func (s *shell) tree(text string) (k treeKind, entries bool) {
	for _, p := range s.resolve(text) {
		if k, entries = treeOf(p, s.c.env); k != noTree {
			return k, entries
		}
	}
	return noTree, false
}

func treeOf(p string, env Env) (k treeKind, entries bool) {
	p = driveOf(strings.ToLower(p))
	for {
		dir, last := path.Split(p)
		if i := strings.IndexByte(last, '('); i > 0 && strings.HasSuffix(last, ")") && strings.ContainsAny(last[:i], "*?[") {
			last = last[:i] // zsh's qualifiers
		}
		if last == "" || !allEntries(last) && !strings.HasPrefix(last, "!(") && !(last[0] == '^' && dir == "/") {
			break
		}
		entries = true
		p = path.Clean(dir)
	}
	switch {
	case p == "/" || len(p) <= 3 && len(p) > 1 && p[1] == ':':
		return rootTree, entries
	case p == strings.ToLower(home(env)) || p == "/root" || p == "/var/root":
		return homeTree, entries
	case slices.Contains(homesRoots, p):
		return homeTree, entries
	case slices.Contains(systemTrees, p):
		return systemTree, entries
	}
	if slices.Contains(homesRoots, path.Dir(p)) {
		return homeTree, entries
	}
	if !strings.ContainsAny(p, "*?[") || len(p) > 256 {
		return noTree, false
	}
	for _, t := range systemTrees {
		if ok, _ := path.Match(p, t); ok {
			return systemTree, entries
		}
	}
	for _, t := range []string{"/root", "/home", strings.ToLower(home(env))} {
		if ok, _ := path.Match(p, t); ok {
			return homeTree, entries
		}
	}
	return noTree, false
}

// allEntries reports whether a component is a pattern that matches every
// entry, or every hidden one.
func allEntries(c string) bool {
	if !strings.ContainsAny(c, "*?[") {
		return false
	}
	for i := 0; i < len(c); i++ {
		if c[i] == '[' {
			end := strings.IndexByte(c[i:], ']')
			if end < 0 {
				return false
			}
			i += end
			continue
		}
		if strings.IndexByte("*?.@()|!+,", c[i]) < 0 {
			return false
		}
	}
	return strings.Contains(c, "*") || strings.Trim(c, "?") != ""
}

// places returns what a word of a command names, for each folder that the
// command may run in. A shell hands paths over as they are: nothing is
// decoded.
func (s *shell) places(text string) []string {
	if strings.HasPrefix(text, "/") {
		return []string{lexical(text, s.c.env, false)}
	}
	var out []string
	for _, f := range s.def.vars["PWD"] {
		env := s.c.env
		env.Root = f.text()
		out = appendNew(out, lexical(text, env, false))
	}
	if len(out) == 0 {
		out = append(out, lexical(text, s.c.env, false))
	}
	return out
}

// harmlessDevices may be written: nothing is lost.
var harmlessDevices = []string{"null", "zero", "full", "random", "urandom", "tty", "console", "stdin", "stdout", "stderr", "ptmx", "log", "dsp", "audio"}

// device reports whether a path is a device that holds data.
func device(p string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(p), "/dev/")
	if !ok && strings.ContainsAny(p, "*?[") && strings.HasPrefix(p, "/") {
		var top string
		if top, rest, ok = strings.Cut(p[1:], "/"); ok {
			ok, _ = path.Match(top, "dev")
			ok = ok && strings.Trim(top, "*?") != ""
		}
	}
	if !ok {
		return strings.Contains(p, "PhysicalDrive")
	}
	first, _, sub := strings.Cut(rest, "/")
	if sub {
		return !slices.Contains([]string{"shm", "fd", "pts", "tcp", "udp", "input", "snd", "bus", "net", "dri", "mqueue", "hugepages"}, first)
	}
	if strings.HasPrefix(first, "tty") || strings.HasPrefix(first, "pts") || strings.HasPrefix(first, "video") {
		return false
	}
	return first != "" && !slices.Contains(harmlessDevices, first)
}
