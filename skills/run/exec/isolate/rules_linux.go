package isolate

import (
	"os"
	"slices"
	"strings"
)

// rule is one path that stays reachable.
type rule struct {
	path  string
	real  string // where a declared path leads; no part of it may be a link
	write bool
	dir   bool
	own   bool // made in the tree, not taken from the system
}

// mergedPaths are links into /usr on most systems: the tree then has links too,
// since each mount costs time.
var mergedPaths = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// mergedLink returns where one of mergedPaths leads, if that is below /usr.
func mergedLink(path string) (to string, linked bool) {
	to, err := os.Readlink(path)
	return to, err == nil && isWithin("/"+strings.TrimPrefix(to, "/"), "/usr") && !strings.Contains(to, "..")
}

// systemPaths are what programs need to run at all. They are programs, libraries, what the
// loader reads, and the certificates of public authorities. None of it is a secret on any
// system we know.
func systemPaths(p *Plan) (read, write []string) {
	for _, path := range mergedPaths {
		if _, linked := mergedLink(path); !linked {
			read = append(read, path)
		}
	}
	read = append(read, "/usr", "/nix/store", "/etc/ld.so.cache", "/etc/ld.so.conf",
		"/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates",
		"/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted", "/dev/random", "/dev/urandom", "/dev/zero")
	if p.Network {
		read = append(read, "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/gai.conf")
	}
	write = []string{"/dev/null", "/dev/full"}
	if p.Proc == ProcHost {
		read = append(read, "/proc")
	}
	return read, write
}

// listRules lists all that is reachable, parents before what is in them. A path that
// this system does not have is left out; the configured ones were looked up by
// the parent. With a tree, /proc is its own and no rule.
func (p *Plan) listRules() []rule {
	read, write := systemPaths(p)
	read = slices.Concat(read, []string{p.Path}, p.Read)
	write = slices.Concat(write, p.Write)
	var out []rule
	add := func(paths []string, w bool) {
		for _, path := range paths {
			if p.Tree && isWithin(path, "/proc") {
				continue
			}
			if st, err := os.Stat(path); err == nil {
				out = append(out, rule{path: path, real: p.Real[path], write: w, dir: st.IsDir()})
			}
		}
	}
	add(read, false)
	add(write, true)
	slices.SortStableFunc(out, func(a, b rule) int { return strings.Compare(a.path, b.path) })
	if p.Tree {
		return dropRepeats(out)
	}
	return out
}

// dropRepeats leaves out what may be read because the folder around it may be read. A bind
// brings all that is below it.
func dropRepeats(rules []rule) (out []rule) {
	for _, r := range rules {
		around := -1
		for i, o := range out {
			if o.dir && isWithin(r.path, o.path) {
				around = i // the last one is the innermost
			}
		}
		if r.write || around < 0 || out[around].write {
			out = append(out, r)
		}
	}
	return out
}

// isWithin reports whether a clean absolute path is dir or below it.
func isWithin(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// privateFolders are the folders of the tree that the program may write to and
// that end with it. A folder that a rule names isn't one of them.
func (p *Plan) privateFolders(rules []rule) []string {
	var out []string
	for _, dir := range []string{"/tmp", "/dev/shm", p.Home} {
		taken := func(r rule) bool { return isWithin(dir, r.path) }
		if dir != "" && dir != "/" && !isWithin(dir, "/proc") && !slices.Contains(out, dir) && !slices.ContainsFunc(rules, taken) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return out
}
