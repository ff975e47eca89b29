package bash

import "strings"

// find reads find and fd: where they start, what narrows them, and what they
// do to each entry.
func (s *shell) find(name string, args []field) stream {
	roots, rest := findRoots(name, args)
	if len(roots) == 0 {
		roots = literalFields([]string{"."})
	}
	s.searches(name, roots, args, rest)
	narrow := narrowed(rest) || name != "find" && byPattern(args)
	deletes, named := false, nameIn(name, rest)
	for i := 0; i < len(rest); i++ {
		switch rest[i].text {
		case "-delete":
			deletes = true
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			end := execEnd(rest[i+1:])
			s.each(name, roots, rest[i+1:i+1+end], narrow, named)
			i += end
		case "-fprint", "-fprintf", "-fls", "-fprint0":
			if i++; i < len(rest) {
				s.writes(rest[i])
			}
		}
	}
	out := stream{open: true}
	for _, r := range roots {
		a := Read
		if deletes {
			a = Delete
		}
		s.pathAs(r, Path{Access: a, Recursive: deletes || !narrow, Names: !deletes})
		switch {
		case r.unknown:
		case narrow:
			out.some = append(out.some, below(r.text, named))
		default:
			out.trees = append(out.trees, r.text)
		}
		if deletes && !narrow {
			r.tree = true
			s.removeOne(r, true)
			if s.wipes(r) {
				s.addDoubt(ProjectWipe)
			}
		}
	}
	return out
}

// fdValues are the short options of fd that take a value.
const fdValues = "eEtTdgcjoS"

// fdOperands are fd's pattern and the folders that it looks in.
func fdOperands(args []field) []field {
	var ops []field
	for i := 0; i < len(args); i++ {
		if args[i].text == "--type" || args[i].text == "--max-depth" || args[i].text == "--min-depth" || args[i].text == "--color" || args[i].text == "--threads" {
			i++
			continue
		}
		ops = append(ops, args[i])
	}
	return operands(ops, fdValues)
}

// byPattern reports whether fd is given a pattern that not every name matches.
func byPattern(args []field) bool {
	ops := fdOperands(args)
	return len(ops) > 0 && !matchAll(ops[0].text)
}

func findRoots(name string, args []field) (roots, rest []field) {
	if name != "find" {
		for i, a := range fdOperands(args) {
			if i > 0 {
				roots = append(roots, a)
			}
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

// nameIn is the pattern that narrows a search by name, empty where none does.
func nameIn(name string, expr []field) string {
	if name != "find" {
		if ops := operands(expr, "eEtTdgcjoS"); len(ops) > 0 && !strings.ContainsAny(ops[0].text, `^$\()|+`) {
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

// below is an entry of a folder: by its pattern, or one that nobody knows.
func below(dir, pattern string) string {
	if pattern == "" || matchAll(pattern) {
		pattern = "$entry"
	}
	return strings.TrimSuffix(dir, "/") + "/" + pattern
}

// narrowed reports whether an expression leaves most entries alone.
func narrowed(expr []field) bool {
	not := false
	for i := 0; i < len(expr); i++ {
		val := ""
		if i+1 < len(expr) {
			val = expr[i+1].text
		}
		switch expr[i].text {
		case "!", "-not":
			not = !not
			continue
		case "-exec", "-execdir", "-ok", "-okdir":
			i += execEnd(expr[i+1:])
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-lname":
			i++
			if !not && !matchAll(val) {
				return true
			}
		case "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-newer", "-size", "-user", "-group", "-uid",
			"-gid", "-perm", "-inum", "-links", "-samefile", "-newermt", "-used", "-fstype":
			i++
			if !not && !(expr[i-1].text == "-size" && strings.HasPrefix(val, "+0")) {
				return true
			}
		case "-empty", "-nouser", "-nogroup", "-xtype", "-e":
			if !not {
				return true
			}
		case "-type":
			i++
			if val != "f" && val != "d" && !strings.Contains(val, ",") {
				return true
			}
		case "-maxdepth":
			i++
			if val == "0" {
				return true
			}
		}
		not = false
	}
	return false
}

// matchAll reports whether a pattern matches every name.
func matchAll(pattern string) bool { return strings.Trim(pattern, "*?.^$/") == "" }

func execEnd(words []field) int {
	for i, w := range words {
		if w.text == ";" || w.text == "+" && i > 0 && words[i-1].text == "{}" {
			return i
		}
	}
	return len(words)
}

// each runs a command for the entries below the roots.
func (s *shell) each(name string, roots, words []field, narrow bool, named string) {
	for _, r := range roots {
		r.tree = true
		if narrow {
			r = field{text: below(r.text, named), bare: below(r.bare, named), unknown: true}
		}
		found := substitute(words, "{}", []field{r})
		if name == "find" && len(found) > len(words) { // no {} in it; fd puts the entry at the end
			found = words
		}
		s.runWords(found, stream{})
	}
}
