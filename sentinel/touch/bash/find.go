package bash

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// search is what find or fd is told: where it starts, what narrows it, and what
// it does to each entry.
type search struct {
	name   string
	roots  []field
	expr   []field
	narrow bool
	named  string // the pattern that narrows it by name
	runs   bool
}

var findRuns = toSet("-exec -execdir -ok -okdir -x -X --exec --exec-batch")

// runFind reads find and fd, and returns which names they print.
func (s *shell) runFind(name string, args []field) stream {
	f := search{name: name}
	f.roots, f.expr = splitRoots(name, args)
	if len(f.roots) == 0 {
		f.roots = []field{literalField(".")}
	}
	f.runs = slices.ContainsFunc(args, func(a field) bool { return findRuns[a.text] })
	s.addSearched(f, args)
	f.narrow = isNarrowed(f.expr) || name != "find" && hasPattern(args)
	f.named = findName(name, f.expr)
	deletes := s.runActions(f)
	out := stream{open: true}
	for _, r := range f.roots {
		access := Read
		if deletes {
			access = Delete
		}
		s.addPath(r, Path{Access: access, Recursive: deletes || !f.narrow, Names: !deletes})
		switch {
		case r.unknown:
		case f.narrow:
			out.some = append(out.some, entryBelow(r.text, f.named))
		default:
			out.trees = append(out.trees, r.text)
		}
		if deletes {
			s.deleteFound(f, r)
		}
	}
	if deletes || f.runs {
		s.made.impure = true
	}
	return out
}

// runActions runs what a search does to each entry, and reports whether it
// deletes them.
func (s *shell) runActions(f search) (deletes bool) {
	for i := 0; i < len(f.expr); i++ {
		switch t := f.expr[i].text; {
		case t == "-delete":
			deletes = true
		case findRuns[t]:
			end := findExecEnd(f.expr[i+1:])
			s.runEach(f, f.expr[i+1:i+1+end])
			i += end
		case t == "-fprint" || t == "-fprintf" || t == "-fls" || t == "-fprint0":
			if i++; i < len(f.expr) {
				s.overwrite(f.expr[i])
			}
		}
	}
	return deletes
}

// deleteFound looks at a folder whose entries are removed.
func (s *shell) deleteFound(f search, r field) {
	if f.narrow {
		s.doubtFed(field{text: entryBelow(r.text, f.named), bare: r.bare, unknown: true, blank: r.blank, fed: !r.unknown})
		return
	}
	r.tree = true
	s.removeTarget(r, true)
	if s.wipesProject(r) {
		s.addDoubt(ProjectWipe)
	}
}

// fdValues are the short options of fd that take a value.
const fdValues = "eEtTdgcjoS"

var fdLong = toSet("--type --max-depth --min-depth --color --threads --extension --exclude --changed-within --size")

// listFdOperands are fd's pattern and the folders that it looks in.
func listFdOperands(args []field) []field {
	var ops []field
	for i := 0; i < len(args); i++ {
		if fdLong[args[i].text] {
			i++
			continue
		}
		if findRuns[args[i].text] {
			break
		}
		ops = append(ops, args[i])
	}
	return listOperands(ops, fdValues)
}

// hasPattern reports whether fd is given a pattern that not every name matches.
func hasPattern(args []field) bool {
	ops := listFdOperands(args)
	return len(ops) > 0 && !matchesAll(ops[0].text)
}

func splitRoots(name string, args []field) (roots, rest []field) {
	if name != "find" {
		if ops := listFdOperands(args); len(ops) > 1 {
			roots = ops[1:]
		}
		return roots, args
	}
	for i, a := range args {
		switch {
		case a.text == "-H" || a.text == "-L" || a.text == "-P" || strings.HasPrefix(a.text, "-O"):
		case strings.HasPrefix(a.text, "-") && len(a.text) > 1 || a.text == "(" || a.text == "!" || a.text == ")":
			return roots, args[i:]
		default:
			roots = append(roots, a)
		}
	}
	return roots, nil
}

// findName is the pattern that narrows a search by name, empty where none does.
func findName(name string, expr []field) string {
	if name != "find" {
		if ops := listFdOperands(expr); len(ops) > 0 && !strings.ContainsAny(ops[0].text, `^$\()|+`) {
			return "*" + ops[0].text + "*"
		}
		return ""
	}
	for i := 0; i+1 < len(expr); i++ {
		if t := expr[i].text; (t == "-name" || t == "-iname") && (i == 0 || expr[i-1].text != "!" && expr[i-1].text != "-not") {
			return expr[i+1].text
		}
	}
	return ""
}

// entryBelow is an entry of a folder: by its pattern, or one that can't be known.
func entryBelow(dir, pattern string) string {
	if pattern == "" || matchesAll(pattern) {
		pattern = "$entry"
	}
	return strings.TrimSuffix(dir, "/") + "/" + pattern
}

var (
	findPatterns = toSet("-name -iname -path -ipath -wholename -regex -iregex -lname")
	findTests    = toSet("-mtime -mmin -atime -amin -ctime -cmin -newer -size -user -group -uid -gid -perm -inum -links -samefile " +
		"-newermt -used -fstype")
	findFlags = toSet("-empty -nouser -nogroup -xtype -e")
)

// isNarrowed reports whether an expression leaves most entries alone.
func isNarrowed(expr []field) bool {
	not := false
	for i := 0; i < len(expr); i++ {
		t, val := expr[i].text, ""
		if i+1 < len(expr) {
			val = expr[i+1].text
		}
		narrows := false
		switch {
		case t == "!" || t == "-not":
			not = !not
			continue
		case findRuns[t]:
			i += findExecEnd(expr[i+1:])
		case findPatterns[t]:
			i++
			narrows = !matchesAll(val)
		case findTests[t]:
			i++
			narrows = t != "-size" || !strings.HasPrefix(val, "+0")
		case findFlags[t]:
			narrows = true
		case t == "-type":
			if i++; val != "f" && val != "d" && !strings.Contains(val, ",") {
				return true
			}
		case t == "-maxdepth":
			if i++; val == "0" {
				return true
			}
		}
		if narrows && !not {
			return true
		}
		not = false
	}
	return false
}

// matchesAll reports whether a pattern matches every name.
func matchesAll(pattern string) bool { return strings.Trim(pattern, "*?.^$/") == "" }

func findExecEnd(words []field) int {
	for i, w := range words {
		if w.text == ";" || w.text == "+" && i > 0 && words[i-1].text == "{}" {
			return i
		}
	}
	return len(words)
}

// runEach runs a command for the entries below the roots.
func (s *shell) runEach(f search, words []field) {
	for _, r := range f.roots {
		r.tree, r.fed = true, true
		if f.narrow {
			r = field{text: entryBelow(r.text, f.named), bare: entryBelow(r.bare, f.named), unknown: true, fed: true}
		}
		found := s.substitute(words, "{}", []field{r})
		if f.name == "find" && len(found) > len(words) { // no {} in it; fd puts the entry at the end
			found = words
		}
		s.runWords(found, stream{})
	}
}

// addSearched records the names that a search looks for.
func (s *shell) addSearched(f search, args []field) {
	if f.name != "find" {
		if ops := listFdOperands(args); len(ops) > 0 && len(strings.Trim(ops[0].text, "^$.*?")) > 3 { // shorter ones are part of any name
			for _, r := range f.roots {
				s.addNamed(r, globOf(ops[0].text), !f.runs)
			}
		}
		return
	}
	for i := 0; i+1 < len(f.expr); i++ {
		if i > 0 && (f.expr[i-1].text == "!" || f.expr[i-1].text == "-not") {
			continue
		}
		pattern := f.expr[i+1].text
		for _, r := range f.roots {
			switch f.expr[i].text {
			case "-name", "-iname", "-lname", "-ilname":
				s.addNamed(r, pattern, !f.runs)
			case "-path", "-ipath", "-wholename", "-iwholename":
				s.addUnder(r, pattern, !f.runs)
			case "-regex", "-iregex":
				s.addUnder(r, globOf(pattern), !f.runs)
			}
		}
	}
}

// locates are the programs that look a name up in the whole system, greps those
// that search through files.
var (
	locates = toSet("locate plocate mlocate slocate mdfind")
	greps   = toSet("grep egrep fgrep rg ag ack")
)

// addLookedUp records the names that a search through the system or through
// files is narrowed to.
func (s *shell) addLookedUp(a *action) {
	switch {
	case locates[a.name]:
		for _, o := range listOperands(a.args, "dln") {
			p := o.text
			if hasFlag(a.args, "r", "regex", "regexp") {
				p = globOf(p)
			} else if !strings.ContainsAny(p, "*?[") {
				p = "*" + p + "*"
			}
			s.addNamed(literalField("/"), p, true)
		}
	case greps[a.name]:
		s.addIncluded(a.name, a.args)
	}
}

func (s *shell) addIncluded(name string, args []field) {
	roots := []field{literalField(".")}
	if ops := listOperands(args, "ABCmdgtTe"); len(ops) > 1 {
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
				s.addNamed(r, val, false)
			}
		}
	}
}

// addUnder records the files of a name that may lie anywhere below root: "/**/"
// stands for the folders between. pattern is of the end of a file's path.
func (s *shell) addUnder(root field, pattern string, names bool) {
	if pattern = strings.TrimLeft(pattern, "*/"); pattern != "" {
		s.addBelow(root, pattern, names)
	}
}

// addNamed is addUnder for the pattern of a name, whose leading "*" counts.
func (s *shell) addNamed(root field, pattern string, names bool) {
	if !matchesAll(pattern) {
		s.addBelow(root, pattern, names)
	}
}

func (s *shell) addBelow(root field, pattern string, names bool) {
	if len(pattern) > 256 || root.unknown {
		return
	}
	text := strings.TrimRight(root.text, "/") + "/**/" + pattern
	s.addPath(field{text: text, bare: text, glob: true, home: root.home || path.NamesHome(root.text)}, Path{Access: Read, Names: names})
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
