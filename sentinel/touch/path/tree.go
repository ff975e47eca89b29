package path

import (
	paths "path"
	"slices"
	"strings"
)

// systemTrees are the folders whose loss takes the system with it.
var systemTrees = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/proc", "/sbin", "/srv", "/sys", "/usr", "/var",
	"/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/local", "/usr/sbin", "/usr/share",
	"/usr/local/bin", "/usr/local/lib", "/var/lib", "/private", "/nix", "/nix/store", "/snap", "/gnu/store", "/private/etc", "/private/var",
	"/system", "/library", "/applications",
	"c:/windows", "c:/windows/system32", "c:/program files", "c:/program files (x86)", "c:/programdata",
}

// homesRoots hold one home folder for each entry.
var homesRoots = []string{"/home", "/users", "c:/users", "/export/home"}

// Tree says which tree a path is as a whole.
type Tree uint8

// The trees that matter.
const (
	NoTree Tree = iota
	RootTree
	SystemTree
	HomeTree
)

// FindTree says which tree a cleaned path names. With entries it isn't the tree
// itself but all that is in it: "/etc/*".
func FindTree(p string, env Env) (k Tree, entries bool) {
	p, entries = cutEntries(readMountedDrive(strings.ToLower(p)))
	home := strings.ToLower(env.HomeFolder())
	switch {
	case p == "/" || len(p) <= 3 && len(p) > 1 && p[1] == ':':
		return RootTree, entries
	case p == home || p == "/root" || p == "/var/root" || slices.Contains(homesRoots, p):
		return HomeTree, entries
	case slices.Contains(systemTrees, p):
		return SystemTree, entries
	case slices.Contains(homesRoots, paths.Dir(p)):
		return HomeTree, entries
	case !strings.ContainsAny(p, "*?[") || len(p) > 256:
		return NoTree, false
	case matchesAnyOf(p, systemTrees):
		return SystemTree, entries
	case matchesAnyOf(p, []string{"/root", "/home", home}):
		return HomeTree, entries
	}
	return NoTree, false
}

// cutEntries cuts the patterns at the end of a path that match all there is in
// the folder before them.
func cutEntries(p string) (folder string, cut bool) {
	for {
		dir, last := paths.Split(p)
		if i := strings.IndexByte(last, '('); i > 0 && strings.HasSuffix(last, ")") && strings.ContainsAny(last[:i], "*?[") {
			last = last[:i] // zsh's qualifiers
		}
		if last == "" || !IsEveryEntry(last) && !strings.HasPrefix(last, "!(") && !(last[0] == '^' && dir == "/") {
			return p, cut
		}
		p, cut = paths.Clean(dir), true
	}
}

func matchesAnyOf(pattern string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		ok, _ := paths.Match(pattern, p)
		return ok
	})
}

// readMountedDrive returns a drive of Windows as Windows writes it, where a POSIX
// system shows it as "/mnt/c", "/cygdrive/c", "/c" or "/d".
func readMountedDrive(p string) string {
	rest, mounted := strings.CutPrefix(p, "/mnt/")
	if !mounted {
		rest, mounted = strings.CutPrefix(p, "/cygdrive/")
	}
	if !mounted {
		rest = strings.TrimPrefix(p, "/")
	}
	if rest == p || rest == "" || len(rest) > 1 && rest[1] != '/' {
		return p
	}
	if rest[0] < 'a' || rest[0] > 'z' || !mounted && rest[0] != 'c' && rest[0] != 'd' {
		return p
	}
	return paths.Clean(rest[:1] + ":/" + strings.TrimPrefix(rest[1:], "/"))
}

// IsEveryEntry reports whether a component is a pattern that matches every
// entry, or every hidden one.
func IsEveryEntry(c string) bool {
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

// harmlessDevices may be written: nothing is lost.
var harmlessDevices = []string{
	"null", "zero", "full", "random", "urandom", "tty", "console", "stdin", "stdout", "stderr", "ptmx", "log", "dsp", "audio",
}

// IsDevice reports whether a cleaned path is a device that holds data, or a
// pattern of one.
func IsDevice(p string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(p), "/dev/")
	if !ok && strings.ContainsAny(p, "*?[") && strings.HasPrefix(p, "/") {
		var top string
		if top, rest, ok = strings.Cut(p[1:], "/"); ok {
			ok, _ = paths.Match(top, "dev")
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
