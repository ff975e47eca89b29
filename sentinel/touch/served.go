package touch

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// server says which folder a program hands out to whoever asks: an option's
// value, or an operand; otherwise the one it runs in.
type server struct {
	needs   string // words of which one must be given
	options string // options that name the folder
	operand bool   // or the operand behind needs
}

var servers = map[string]server{
	"php": {needs: "-S", options: "-t --docroot"}, "npx": {needs: "serve http-server live-server sirv sirv-cli local-web-server ws browser-sync", operand: true}, "bunx": {needs: "serve http-server", operand: true}, "pnpx": {needs: "serve http-server", operand: true},
	"serve": {operand: true}, "http-server": {operand: true}, "live-server": {operand: true}, "ruby": {needs: "httpd", operand: true}, "httpd": {needs: "-h", options: "-h"}, "busybox": {needs: "httpd", options: "-h"},
	"caddy": {needs: "file-server", options: "--root -r"}, "darkhttpd": {operand: true}, "webfsd": {options: "-r"}, "twistd": {needs: "web", options: "--path"}, "twist": {needs: "web", options: "--path"},
	"miniserve": {operand: true}, "dufs": {operand: true}, "updog": {options: "-d --directory"}, "goexec": {}, "simple-http-server": {operand: true}, "docker": {needs: "build", operand: true}, "podman": {needs: "build", operand: true},
	"duplicity": {operand: true},
}

// serves records the folder that a file server hands out, or that a build takes
// as its context: all that is in it may be read.
func (s *shell) serves(name string, args []field) {
	v, ok := servers[name]
	at := -1
	switch {
	case strings.HasPrefix(name, "python") || name == "pypy3" || name == "py":
		if at = slices.IndexFunc(args, func(f field) bool {
			return f.text == "http.server" || f.text == "SimpleHTTPServer" || f.text == "pyftpdlib"
		}); at < 0 {
			return
		}
		v = server{options: "-d --directory"}
	case !ok || helps(args):
		return
	case v.needs != "":
		at = slices.IndexFunc(args, func(f field) bool { return slices.Contains(strings.Fields(v.needs), f.text) })
		if at < 0 {
			return
		}
	}
	dir := field{text: ".", bare: "."}
	for i, a := range args {
		opt, val, joined := strings.Cut(a.text, "=")
		switch {
		case !slices.Contains(strings.Fields(v.options), opt):
		case joined:
			dir = a.after(val)
		case i+1 < len(args):
			dir = args[i+1]
		}
	}
	if v.operand {
		ops := operands(args[at+1:], "ptfolcPe")
		if v.needs == "build" && len(ops) > 1 {
			ops = ops[len(ops)-1:]
		}
		if len(ops) > 0 {
			dir = ops[0]
		} else if v.needs == "build" {
			return
		}
	}
	s.pathAs(dir, Path{Access: Read, Recursive: true})
}

// gitTree is the folder that git is told to take for its working tree, and the
// words behind its options.
func (s *shell) gitTree(args []field) (dir string, moved bool, rest []field) {
	if v := s.def.vars["GIT_WORK_TREE"]; len(v) > 0 && !v.unknown() {
		dir = v[0].text()
	}
	for i := 0; i < len(args); i++ {
		t := args[i].text
		switch {
		case strings.HasPrefix(t, "--work-tree="):
			dir = t[len("--work-tree="):]
		case (t == "-C" || t == "--work-tree") && i+1 < len(args):
			i++
			dir, moved = args[i].text, moved || t == "-C"
		case (t == "-c" || t == "--git-dir" || t == "--namespace" || t == "--exec-path") && i+1 < len(args):
			i++
		case strings.HasPrefix(t, "-"):
		default:
			return dir, moved, args[i:]
		}
	}
	return dir, moved, nil
}

// gitElsewhere reads what git does to a tree that it was sent to: what it adds
// is read, what it cleans away or overwrites is lost.
func (s *shell) gitElsewhere(args []field) {
	dir, moved, rest := s.gitTree(args)
	if len(rest) == 0 {
		return
	}
	sub, args := rest[0].text, rest[1:]
	ops := operands(args, "")
	if sub == "worktree" && len(ops) > 1 && ops[0].text == "remove" && flag(args, "f", "force") {
		s.removeOne(ops[1], true)
	}
	if dir == "" {
		return
	}
	s.gitDoes(sub, dir, moved, args)
}

// gitDoes is one of git's commands in the tree dir.
func (s *shell) gitDoes(sub, dir string, moved bool, args []field) {
	ops := operands(args, "")
	within := func(name string) field {
		name = strings.TrimSuffix(dir, "/") + "/" + strings.TrimPrefix(name, "./")
		return field{text: name, bare: name}
	}
	k, _ := s.tree(dir)
	whole := flag(args, "A", "all") || slices.ContainsFunc(ops, func(f field) bool { return f.text == "." || f.text == "*" || f.text == ":/" })
	switch sub {
	case "add", "stage", "commit":
		if whole && k != path.NoTree {
			s.pathAs(field{text: dir, bare: dir}, Path{Access: Read, Recursive: true})
		}
		for _, o := range ops {
			if sub == "add" && o.text != "." {
				s.path(within(o.text), Read)
			}
		}
	case "show", "cat-file", "blame":
		for _, o := range ops {
			_, file, ok := strings.Cut(o.text, ":")
			if ok = ok || sub == "blame"; ok && file == "" {
				file = o.text
			}
			if ok {
				s.path(within(strings.TrimPrefix(file, dir)), Read)
			}
		}
	case "rm", "clean":
		loses := sub == "rm" && flag(args, "r") && !flag(args, "n", "cached", "dry-run") || sub == "clean" && flag(args, "f", "force") && !flag(args, "n", "dry-run")
		if k != path.NoTree && loses && (whole || sub == "clean" && len(ops) == 0) {
			s.danger(rmCode(k))
		}
	case "checkout", "restore", "reset":
		if k != path.NoTree && (whole || sub == "reset" && flag(args, "", "hard") || flag(args, "f", "force")) && !moved {
			s.doubt(ProjectWipe)
		}
	}
}
