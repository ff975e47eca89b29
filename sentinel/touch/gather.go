package touch

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

var (
	// lists are the programs that read names, sizes and dates alone.
	lists = set("ls dir exa eza tree du stat readlink realpath basename lsattr getfacl file lsof look")
	// digs are the programs that read all below a folder without being told,
	// or make a way into it: a link.
	digs = set("rg ag ack zip 7z 7za rar cpio pax ln")
	// nameReaders take what is on their input for the names of files.
	nameReaders = set("xargs parallel read mapfile readarray cpio pax tar rsync zip")
	archivers   = set("cpio pax tar rsync zip")
	// locates look a name up in the whole system.
	locates = set("locate plocate mlocate slocate mdfind")
	greps   = set("grep egrep fgrep rg ag ack")
)

// under records the files of a name that may lie anywhere below root: "/**/"
// stands for the folders between. pattern is one of a file's name, or of the
// end of its path.
func (s *shell) under(root field, pattern string, names bool) {
	pattern = strings.TrimLeft(pattern, "*/")
	if len(pattern) == 0 || len(pattern) > 256 || root.unknown {
		return
	}
	s.pathAs(field{text: strings.TrimRight(root.text, "/") + "/**/" + pattern, glob: true, home: root.home}, Path{Access: Read, Names: names})
}

// named is under for the pattern of a name, whose leading "*" counts.
func (s *shell) named(root field, pattern string, names bool) {
	if matchAll(pattern) || len(pattern) > 256 || root.unknown {
		return
	}
	s.pathAs(field{text: strings.TrimRight(root.text, "/") + "/**/" + pattern, glob: true, home: root.home}, Path{Access: Read, Names: names})
}

// searches records what find and fd are told to look for.
func (s *shell) searches(name string, roots, args, expr []field) {
	runs := slices.ContainsFunc(args, func(f field) bool {
		return slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}, f.text)
	})
	if name != "find" {
		if ops := fdOperands(args); len(ops) > 0 && len(strings.Trim(ops[0].text, "^$.*?")) > 3 { // shorter ones are part of any name
			for _, r := range roots {
				s.named(r, globOf(ops[0].text), !runs)
			}
		}
		return
	}
	for i := 0; i+1 < len(expr); i++ {
		pattern, negated := expr[i+1].text, i > 0 && (expr[i-1].text == "!" || expr[i-1].text == "-not")
		for _, r := range roots {
			switch expr[i].text {
			case "-name", "-iname", "-lname", "-ilname":
				if !negated {
					s.named(r, pattern, !runs)
				}
			case "-path", "-ipath", "-wholename", "-iwholename":
				if !negated {
					s.under(r, pattern, !runs)
				}
			case "-regex", "-iregex":
				if !negated {
					s.under(r, globOf(pattern), !runs)
				}
			}
		}
	}
}

// globOf is a pattern close to a regular expression, which may match anywhere.
func globOf(expr string) string {
	head, tail := "*", "*"
	if e, ok := strings.CutPrefix(expr, "^"); ok {
		head, expr = "", e
	}
	if e, ok := strings.CutSuffix(expr, "$"); ok {
		tail, expr = "", e
	}
	return head + strings.NewReplacer(".*", "*", ".+", "*", `\`, "", "(", "", ")", "").Replace(expr) + tail
}

// gathers records what a program finds, mounts or hands out beyond the files
// that its operands name.
func (s *shell) gathers(name string, args []field) {
	switch finds := s.about(name)&inFinders != 0; {
	case !finds:
	case locates[name]:
		for _, o := range operands(args, "dln") {
			p := o.text
			if flag(args, "r", "regex", "regexp") {
				p = globOf(p)
			} else if !strings.ContainsAny(p, "*?[") {
				p = "*" + p + "*"
			}
			s.named(field{text: "/"}, p, true)
		}
	case greps[name]:
		s.included(name, args)
	case uploads[name] != "":
		s.uploaded(name, args)
	}
	if p := handsOut(name, args); p != "" {
		s.path(field{text: p, bare: p}, Read)
	}
}

// uploads are the programs that copy whole folders to a store elsewhere, and
// their words for it.
var uploads = map[string]string{
	"aws": "sync cp mv", "gsutil": "cp rsync mv", "gcloud": "cp rsync mv", "rclone": "copy sync move copyto moveto", "s3cmd": "put sync", "mc": "cp mirror mv", "azcopy": "copy cp sync", "s5cmd": "cp sync",
}

// uploaded records the folders that leave for such a store.
func (s *shell) uploaded(name string, args []field) {
	ops := operands(args, "")
	at := slices.IndexFunc(ops, func(f field) bool { return slices.Contains(strings.Fields(uploads[name]), f.text) })
	if at < 0 || len(ops) < at+3 {
		return
	}
	for _, f := range ops[at+1 : len(ops)-1] {
		if !strings.Contains(f.text, ":") {
			s.pathAs(f, Path{Access: Read, Recursive: true})
		}
	}
}

// movers are the wrappers that start a command in another folder, and the
// short option for it.
var movers = map[string]string{"env": "-C", "sudo": "-D", "systemd-run": "", "firejail": "", "nsenter": ""}

// movedBy is the shell in the folder that a wrapper starts its command in.
func (s *shell) movedBy(name string, args []field) *shell {
	short, ok := movers[name]
	if !ok {
		return s
	}
	for i, a := range args {
		opt, val, joined := strings.Cut(a.text, "=")
		switch {
		case opt == "--chdir" || opt == "--working-directory" || opt == "--wd" || opt == "--wdns":
			if joined {
				return s.inFolder(field{text: val, bare: val, unknown: a.unknown})
			}
			fallthrough
		case short != "" && a.text == short:
			if i+1 < len(args) {
				return s.inFolder(args[i+1])
			}
		case short != "" && strings.HasPrefix(a.text, short):
			return s.inFolder(a.cut(2))
		case len(a.text) == 0 || a.text[0] != '-' && (i == 0 || !strings.HasPrefix(args[i-1].text, "-")):
			return s // the command begins
		}
	}
	return s
}

// included records the names that a search through a folder is narrowed to.
func (s *shell) included(name string, args []field) {
	ops := operands(args, "ABCmdgtTe")
	roots := literals([]string{"."})
	if len(ops) > 1 {
		roots = ops[1:]
	}
	for i, a := range args {
		opt, val, joined := strings.Cut(a.text, "=")
		switch {
		case opt == "--include" || opt == "--glob" || opt == "--iglob":
		case name == "rg" && strings.HasPrefix(a.text, "-g"):
			val, joined = a.text[2:], len(a.text) > 2
		default:
			continue
		}
		if !joined && i+1 < len(args) {
			val = args[i+1].text
		}
		for _, r := range roots {
			if !strings.HasPrefix(val, "!") {
				s.named(r, val, false)
			}
		}
	}
}

// opened marks what was only listed as read where a command takes those names
// for files: those from one index of Paths to another, by the commands from an
// index on.
func (s *shell) opened(from, to, commands int) {
	t := &s.c.touch
	if from == to || commands >= len(t.Commands) {
		return
	}
	runs := func(programs map[string]bool) bool {
		return slices.ContainsFunc(t.Commands[commands:], func(c Command) bool { return programs[c.Name] })
	}
	if runs(nameReaders) {
		s.taken(from, to, runs(archivers))
	}
}

// taken marks the names that were searched for, and with trees the folders
// that were listed with all below them.
func (s *shell) taken(from, to int, trees bool) {
	for i := from; i < to; i++ {
		p := &s.c.touch.Paths[i]
		if strings.Contains(p.Clean, "/**/") || trees && p.Recursive {
			p.Names = false
		}
	}
}

// listed reads a command whose output becomes the words of another.
func (s *shell) listed(list []*syntax.Stmt) stream {
	from := len(s.c.touch.Paths)
	out := s.fork().stmts(list, stream{})
	s.taken(from, len(s.c.touch.Paths), false)
	return out
}

// handsOut returns the store whose secrets a program prints; its own files
// need not be named for that.
func handsOut(name string, args []field) string {
	values := ""
	if name == "getent" {
		values = "s"
	}
	ops := operands(args, values)
	at := func(i int, list ...string) bool { return i < len(ops) && slices.Contains(list, ops[i].text) }
	starts := func(p string) bool {
		return slices.ContainsFunc(args, func(f field) bool { return strings.HasPrefix(f.text, p) })
	}
	switch name {
	case "getent":
		if at(0, "shadow", "gshadow") {
			return "/etc/" + ops[0].text
		}
	case "gpg", "gpg2":
		if starts("--export-secret") {
			return "~/.gnupg"
		}
	case "git":
		if i := slices.IndexFunc(ops, func(f field) bool { return strings.HasPrefix(f.text, "credential") }); i >= 0 && (at(i+1, "fill", "get") || at(i+2, "get")) {
			return "~/.git-credentials"
		}
	case "kubectl", "oc":
		if at(0, "config") && at(1, "view") && flag(args, "", "raw") {
			return "~/.kube/config"
		}
	case "aws":
		if at(0, "configure") && (at(1, "export-credentials") || at(1, "get") && at(2, "aws_secret_access_key", "aws_session_token")) {
			return "~/.aws/credentials"
		}
	case "security":
		if at(0, "find-generic-password", "find-internet-password") && flag(args, "wg") || at(0, "dump-keychain") {
			return "~/Library/Keychains"
		}
	case "secret-tool":
		if at(0, "lookup", "search") {
			return "~/.local/share/keyrings"
		}
	case "pass", "gopass":
		if at(0, "show") && len(ops) > 1 {
			return "~/.password-store"
		}
	}
	return ""
}
