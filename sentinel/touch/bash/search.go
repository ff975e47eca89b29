package bash

import (
	"slices"
	"strings"
)

// search is what find is told: where it starts, what narrows it, and what it does
// to each entry.
type search struct {
	s      *shell
	roots  []field
	expr   []field
	named  []string // the patterns of names that it looks for
	narrow bool     // it leaves most entries alone
	ends   bool     // of fd: an entry stands at the end of a command without {}
}

var findRuns = toSet("-exec -execdir -ok -okdir -x -X --exec --exec-batch")

func isFindRun(f field) bool { return findRuns[f.text] }

// newSearch reads the words of find and fd.
func newSearch(s *shell, name string, args []field) *search {
	f := &search{s: s, roots: args}
	if name != "find" {
		f.roots, f.expr = readFdWords(args)
		f.ends = true
	} else if i := slices.IndexFunc(args, isExpression); i >= 0 {
		f.roots, f.expr = args[:i], args[i:]
	}
	f.roots = slices.DeleteFunc(slices.Clone(f.roots), func(a field) bool {
		return a.text == "-H" || a.text == "-L" || a.text == "-P" || strings.HasPrefix(a.text, "-O")
	})
	if len(f.roots) == 0 {
		f.roots = []field{literalField(".")}
	}
	return f
}

// run looks at what the search does to what it finds, and returns the names that it
// prints.
func (f *search) run() stream {
	s := f.s
	deletes := f.readExpression()
	out := stream{open: true}
	for _, r := range f.roots {
		access := Read
		if deletes {
			access = Delete
		}
		s.addPath(r, Path{Access: access, Extent: Extent{Recursive: deletes || !f.narrow, Names: !deletes}})
		switch {
		case r.unknown:
		case f.narrow:
			out.some = append(out.some, f.entryBelow(r.text))
		default:
			out.trees = append(out.trees, r.text)
		}
		if deletes {
			f.deleteFound(r)
		}
	}
	s.made.impure = s.made.impure || deletes || slices.ContainsFunc(f.expr, isFindRun)
	return out
}

// isExpression reports whether a word of find's begins what follows its folders.
func isExpression(f field) bool {
	t := f.text
	return t == "(" || t == ")" || t == "!" || len(t) > 1 && t[0] == '-' && t != "-H" && t != "-L" && t != "-P" && !strings.HasPrefix(t, "-O")
}

// fdValues are the options of fd that take a value.
var fdValues = toSet("-e -E -t -T -d -g -c -j -o -S --type --max-depth --min-depth --color --threads --extension --exclude " +
	"--changed-within --size")

// readFdWords says in find's words what fd is told: its first operand is a pattern.
func readFdWords(args []field) (roots, expr []field) {
	var ops []field
	end := slices.IndexFunc(args, isFindRun)
	if end < 0 {
		end = len(args)
	}
	for i := 0; i < end; i++ {
		switch t := args[i].text; {
		case fdValues[t]:
			i++
		case t == "" || t[0] != '-':
			ops = append(ops, args[i])
		}
	}
	if len(ops) == 0 {
		return nil, args
	}
	option := "-name"
	if n := len(strings.Trim(ops[0].text, "^$.*?")); n > 0 && n <= 3 {
		option = "-xtype" // a part of any name: it narrows, and looks for nothing
	}
	return ops[1:], slices.Concat(literalFields([]string{option, globOfRegexp(ops[0].text)}), args[end:])
}

var (
	findPatterns = toSet("-name -iname -lname -ilname -path -ipath -wholename -iwholename -regex -iregex")
	findTests    = toSet("-mtime -mmin -atime -amin -ctime -cmin -newer -user -group -uid -gid -perm -inum -links -samefile " +
		"-newermt -used -fstype -empty -nouser -nogroup -xtype -e")
	findPrints = toSet("-fprint -fprintf -fls -fprint0")
)

// readExpression reads what narrows a search, and runs what it does to each
// entry; it reports whether it deletes them.
func (f *search) readExpression() (deletes bool) {
	s := f.s
	var run [][]field
	for i := 0; i < len(f.expr); i++ {
		t, val := f.expr[i].text, field{}
		if i+1 < len(f.expr) {
			val = f.expr[i+1]
		}
		not := i > 0 && (f.expr[i-1].text == "!" || f.expr[i-1].text == "-not")
		switch {
		case findRuns[t]:
			end := i + 1 + findExecEnd(f.expr[i+1:])
			run = append(run, f.expr[i+1:end])
			i = end
		case findPrints[t]:
			s.overwriteFile(val)
		case t == "-delete":
			deletes = true
		case not:
		case findPatterns[t]:
			f.narrow = f.narrow || !matchesAllNames(val.text)
			f.addPattern(t, val.text)
		default:
			f.narrow = f.narrow || findTests[t] || t == "-size" && !strings.HasPrefix(val.text, "+0")
		}
	}
	for _, r := range f.roots {
		for _, pattern := range f.named {
			s.addPathBelow(r, pattern, run == nil)
		}
		for _, words := range run {
			f.runFound(r, words)
		}
	}
	return deletes
}

// addPattern adds what a search looks for: of the end of a file's path.
func (f *search) addPattern(option, pattern string) {
	if strings.HasSuffix(option, "regex") {
		pattern = globOfRegexp(pattern)
	}
	if !strings.HasSuffix(option, "name") || option == "-wholename" || option == "-iwholename" {
		pattern = strings.TrimLeft(pattern, "*/")
	}
	if !matchesAllNames(pattern) {
		f.named = append(f.named, pattern)
	}
}

// deleteFound looks at a folder whose entries are removed.
func (f *search) deleteFound(r field) {
	s := f.s
	if f.narrow {
		s.doubtFedTarget(field{text: f.entryBelow(r.text), bare: r.bare, unknown: true, blank: r.blank, provenance: provenance{fed: !r.unknown}})
		return
	}
	r.tree = true
	s.removeTarget(r, true)
	if s.wipesProject(r) {
		s.addDoubt(ProjectWipe)
	}
}

// entryBelow is an entry of a folder: by its pattern, or one that can't be known.
func (f *search) entryBelow(dir string) string {
	pattern := "$entry"
	if len(f.named) > 0 {
		pattern = f.named[0]
	}
	return strings.TrimSuffix(dir, "/") + "/" + pattern
}

// matchesAllNames reports whether a pattern matches every name.
func matchesAllNames(pattern string) bool { return strings.Trim(pattern, "*?.^$/") == "" }

func findExecEnd(words []field) int {
	for i, w := range words {
		if w.text == ";" || w.text == "+" && i > 0 && words[i-1].text == "{}" {
			return i
		}
	}
	return len(words)
}

// runFound runs a command for the entries below a folder.
func (f *search) runFound(r field, words []field) {
	r.tree, r.fed = true, true
	if f.narrow {
		r = field{text: f.entryBelow(r.text), bare: f.entryBelow(r.bare), unknown: true, provenance: provenance{fed: true}}
	}
	found := f.s.substituteItems(words, "{}", []field{r})
	if !f.ends && len(found) > len(words) { // no {} in it
		found = words
	}
	f.s.runWords(found, stream{})
}

// globOfRegexp is a pattern close to a regular expression, which may match anywhere.
func globOfRegexp(expr string) string {
	head, tail := "*", "*"
	if e, ok := strings.CutPrefix(expr, "^"); ok {
		head, expr = "", e
	}
	if e, ok := strings.CutSuffix(expr, "$"); ok {
		tail, expr = "", e
	}
	return head + strings.NewReplacer(".*", "*", ".+", "*", `\`, "", "(", "", ")", "").Replace(expr) + tail
}
