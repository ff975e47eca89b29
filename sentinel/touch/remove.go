package touch

import (
	paths "path"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

func (s *shell) remove(args []field, always bool) {
	all := always || recursive(args)
	for _, f := range operands(args, "") {
		s.removeOne(f, all)
		// Without -f it stops to ask, or at the first folder.
		if all && (always || flag(args, "f", "force")) && s.wipes(f) {
			s.doubt(ProjectWipe)
		}
	}
}

// removeOne looks at one thing that is removed, with all below it or not.
func (s *shell) removeOne(f field, all bool) {
	k, entries := s.tree(f.text)
	if all && len(f.text) > 1 && f.text[1] == ':' && wholeDrive.MatchString(f.text) {
		k = path.RootTree
	}
	if k != path.NoTree && (all || f.tree || entries && k != path.RootTree) {
		s.danger(rmCode(k))
		return
	}
	if all && slices.ContainsFunc(s.resolve(f.text), func(p string) bool { return backups[strings.TrimSuffix(p, "/*")] }) {
		s.doubt(BackupLoss)
	}
	switch {
	case !f.unknown || !all:
	case unsure(f):
		s.doubt(UnknownTarget)
	case strings.HasPrefix(f.bare, "/") && !scratchName(f.text):
		// "$X/*" and "/$X" are the root where X is empty, "$X/usr" is a
		// system's.
		if k, _ := s.tree(strings.ReplaceAll(f.bare, "$entry", "")); k == path.RootTree || k == path.SystemTree {
			s.doubt(UnsetTree)
		}
	}
}

// unsure reports whether nothing is known of what a word names: no folder on
// its way, no end of its name. A parameter is looked at where the function is
// called; a variable of the environment that is named after what is made anew
// is believed.
func unsure(f field) bool {
	if !f.unknown || positional.MatchString(f.text) || scratchName(f.text) {
		return false
	}
	for c := range strings.SplitSeq(f.bare, "/") {
		if strings.Trim(c, ".*?[]$\\ ") != "" {
			return false
		}
	}
	return !strings.HasPrefix(f.bare, "/")
}

var (
	positional = regexp.MustCompile(`^\$[0-9@*]`)
	scratch    = regexp.MustCompile(`(?i)^\$(\w*_)?(build|dist|out|output|tmp|temp|tmpdir|tempdir|cache|coverage|artifacts?|staging|scratch|builddir|outdir|work|workdir|test|tests|target)(_\w*)?(/|$)`)
)

func scratchName(text string) bool { return len(text) < 256 && scratch.MatchString(text) }

// trash are the programs that put away whole trees, or clean them.
func (s *shell) trash(name string, args []field) {
	ops := operands(args, "")
	switch name {
	case "gio":
		if len(ops) == 0 || ops[0].text != "trash" && ops[0].text != "remove" {
			return
		}
		ops = ops[1:]
	case "bleachbit":
		if !given(args, "-s --shred -o --overwrite") {
			return
		}
	case "cmake":
		if len(args) < 2 || args[0].text != "-E" {
			return
		}
		switch args[1].text {
		case "rm":
			s.remove(args[2:], false)
		case "remove_directory":
			s.remove(args[2:], true)
		}
		return
	}
	for _, f := range ops {
		s.removeOne(f, true)
	}
}

// archive looks for trees that are removed once they are packed.
func (s *shell) archive(name string, args []field) {
	moves := given(args, "--remove-files --delete-files")
	switch name {
	case "zip":
		moves = given(args, "-m --move")
	case "7z", "7za", "7zz":
		moves = given(args, "-sdel")
	case "rar":
		moves = given(args, "-df") || len(args) > 0 && args[0].text == "m"
	}
	if !moves {
		return
	}
	for _, f := range operands(args, "") {
		s.removeOne(f, true)
	}
}

// rsync with --delete makes its target a copy: an empty source empties it. With
// --remove-source-files it moves.
func (s *shell) rsync(args []field) {
	from, to := sources(args, "eBfTM")
	if slices.ContainsFunc(args, func(f field) bool { return f.text == "--remove-source-files" }) {
		for _, f := range from {
			if k, _ := s.tree(f.text); k != path.NoTree {
				s.danger(rmCode(k))
			}
		}
	}
	if to.text == "" || !slices.ContainsFunc(args, func(f field) bool { return strings.HasPrefix(f.text, "--del") }) {
		return
	}
	if k, _ := s.tree(to.text); k != path.NoTree {
		s.danger(rmCode(k))
	}
}

// gitCleans is "git clean -fdx /": what git does not know of a tree is removed.
func (s *shell) gitCleans(args []field) {
	for i, a := range args {
		switch {
		case a.text == "-C" || a.text == "--work-tree" || a.text == "-c" || a.text == "--git-dir":
			continue
		case a.text == "clean" && flag(args[i+1:], "f", "force") && !flag(args[i+1:], "n", "dry-run"):
			in := "."
			for j, o := range args[:i] {
				if v, ok := strings.CutPrefix(o.text, "--work-tree="); ok {
					in = v
				} else if j+1 < i && (o.text == "-C" || o.text == "--work-tree") {
					in = args[j+1].text
				}
			}
			ops := operands(args[i+1:], "e")
			if len(ops) == 0 {
				ops = literals([]string{"."})
			}
			for _, o := range ops {
				if !strings.HasPrefix(o.text, "/") {
					o.text = paths.Join(in, o.text)
				}
				if k, _ := s.tree(o.text); k != path.NoTree {
					s.danger(rmCode(k))
				}
			}
			return
		}
	}
}

var modeOption = regexp.MustCompile(`^-[rwxXst]+$`)

// chmod looks at modes, owners and attributes of whole trees.
func (s *shell) chmod(name string, args []field) {
	all := flag(args, "R", "recursive")
	ops := operands(args, "")
	mode := ""
	switch {
	case name == "setfacl":
		ops = operands(args, "mxMX")
	case slices.ContainsFunc(args, func(f field) bool { return strings.HasPrefix(f.text, "--ref") }):
		mode = "reference"
	case name != "setfacl" && slices.ContainsFunc(args, func(f field) bool {
		return (name == "chmod" || name == "chattr") && modeOption.MatchString(f.text) || name == "chattr" && len(f.text) > 1 && f.text[0] == '-' && f.text != "-R"
	}):
		mode = "-"
	case len(ops) > 0:
		mode, ops = ops[0].text, ops[1:]
	}
	for _, f := range ops {
		k, entries := s.tree(f.text)
		switch {
		case k == path.NoTree:
		case name == "setfacl" || name == "chattr":
			if all && (k != path.HomeTree || name == "setfacl" && given(args, "-b --remove-all -k --set")) {
				s.danger(ChmodTree)
			}
		case name == "chmod" && opens(mode) && (all || entries || k != path.HomeTree):
			s.danger(ChmodTree)
		case name == "chmod" && strings.Trim(mode, "0") == "" && mode != "" && k != path.HomeTree, name == "chcon" && all:
			s.danger(ChmodTree)
		case name == "chmod" && all && k != path.HomeTree:
			s.danger(ChmodTree)
		case name != "chmod" && (all || f.tree) && !s.owns(mode, f, k):
			s.danger(ChownTree)
		}
	}
}
