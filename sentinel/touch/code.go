package touch

import (
	"regexp"
	"strings"
)

// What programs in other languages do to the file that a string names, by the
// name of the function before it or of the method behind it.
var (
	codeDeletes = set("remove unlink rmtree rmdir removedirs unlinksync rmsync rm rmdirsync rimraf rm_rf rm_r rm_f remove_entry remove_entry_secure remove_tree deltree " +
		"remove-item delete safe_unlink removesync unlinkf removeall del erase")
	codeWrites = set("writefile writefilesync appendfile appendfilesync createwritestream truncate truncatesync write_text write_bytes touch file_put_contents fwrite " +
		"mkdir makedirs mkdirsync chmod chmodsync chown write binwrite set-content add-content out-file new-item copyfile outputfile symlink symlinksync mkfifo mknod spurt")
	codeMoves = set("rename renamesync move replace renames mv")
	codeReads = set("open fopen file sysopen readfile readfilesync createreadstream read_text read_bytes file_get_contents readlines slurp get-content read path listdir scandir glob loadtxt read_csv load")

	modeAfter = regexp.MustCompile(`^\s*,\s*(?:mode\s*=\s*|encoding\s*=\s*['"][^'"]*['"]\s*,\s*)?['"]?(\+?[rwaxc<>+]{1,3}[bt+]{0,2})['"]?`)
	flagAfter = regexp.MustCompile(`^\s*,\s*(?:\w+\.)*O_\w+`)
	writeFlag = regexp.MustCompile(`^[^)]{0,64}\bO_(WRONLY|RDWR|CREAT|TRUNC|APPEND)`)
	// open(os.path.expanduser("x"), "w")
	openWrapped = regexp.MustCompile(`\bopen\s*\(\s*[\w.]+\s*\(\s*$`)
	modeWrapped = regexp.MustCompile(`^\s*\)\s*,\s*(?:mode\s*=\s*)?['"]([rwxabt+]{1,3})['"]`)
	chainAfter  = regexp.MustCompile(`^\s*\)\s*(?:\.\s*(?:expanduser|resolve|absolute)\s*\(\s*\)\s*)*\.\s*(\w+)\s*\(\s*(?:['"]([rwax+bt]{1,3})['"])?`)
	perlMode    = regexp.MustCompile(`['"]\s*(\+?[<>]{1,2})\s*['"]\s*,\s*$`)
	assignTo    = regexp.MustCompile(`[\w\]]\s*:?=\s*(?:[rbfuRBFU]{0,2}|(?:[\w.]+)?Path\()$`)
)

// codeAccess says what a program does to the file that the string at
// text[start:end] names; 0 where it names none that is used.
func codeAccess(text string, start, end int, loose Access) Access {
	before, after := strings.TrimRight(text[max(0, start-80):start], " \t\n"), text[end:min(len(text), end+120)]
	if chained(after) {
		if m := chainAfter.FindStringSubmatch(after); m != nil {
			switch a := byName(m[1]); {
			case m[1] == "open" && strings.ContainsAny(m[2], "wax+"):
				return Write
			case a != 0:
				return a
			}
		}
	}
	if m := modeWrapped.FindStringSubmatch(after); m != nil && strings.ContainsAny(m[1], "wax+") && openWrapped.MatchString(before) {
		return Write
	}
	if name := calledBefore(before, text[max(0, start-1):start]); name != "" {
		a := byName(name)
		if opens := strings.ToLower(name); opens == "open" || opens == "fopen" || opens == "opensync" || opens == "sysopen" {
			a = Read
			if m := modeAfter.FindStringSubmatch(after); m != nil && strings.ContainsAny(m[1], "wax+>c") || flagAfter.MatchString(after) && writeFlag.MatchString(after) {
				a = Write
			}
		}
		if a != 0 {
			return a
		}
	}
	switch {
	case before == "":
	case before[len(before)-1] == ',' && strings.ContainsAny(before, "<>"):
		if m := perlMode.FindStringSubmatch(before); m != nil {
			if strings.Contains(m[1], ">") || strings.HasPrefix(m[1], "+") {
				return Write
			}
			return Read
		}
	case before[len(before)-1] == '=' || strings.HasSuffix(before, "Path("):
		if assignTo.MatchString(before) {
			return loose
		}
	}
	return 0
}

// chained reports whether a method is called on what a bracket closes.
func chained(after string) bool {
	t := strings.TrimLeft(after, " \t\n")
	return strings.HasPrefix(t, ")") && strings.HasPrefix(strings.TrimLeft(t[1:], " \t\n"), ".")
}

// calledBefore is the name of the function whose first argument follows; near
// is the byte right before that argument.
func calledBefore(before, near string) string {
	t, open := strings.CutSuffix(before, "(")
	if t = strings.TrimRight(t, " \t\n"); !open && near != " " {
		return ""
	}
	i := len(t)
	for i > 0 && (nameByte(t[i-1]) || t[i-1] == '-') {
		i--
	}
	return strings.TrimLeft(t[i:], "-")
}

func byName(name string) Access {
	name = strings.ToLower(name)
	switch {
	case codeDeletes[name]:
		return Delete
	case codeWrites[name]:
		return Write
	case codeMoves[name]:
		return Read | Delete
	case codeReads[name]:
		return Read
	}
	return 0
}

// looseAccess is what a program does to files that it names by a variable: the
// union of all it does.
func looseAccess(g *program) Access {
	var a Access
	for i, k := range g.toks {
		if k.kind != wordToken {
			continue
		}
		name := g.word(k)
		called := i+1 < len(g.toks) && g.src[g.toks[i+1].at] == '('
		if !called && (i == 0 || g.src[g.toks[i-1].at] != '.') && name != "unlink" && name != "rm" && name != "del" && !strings.EqualFold(name, "remove-item") {
			continue
		}
		if x := byName(name); strings.EqualFold(name, "open") || strings.EqualFold(name, "fopen") {
			a |= Read
		} else {
			a |= x &^ Read
		}
	}
	if a.Has(Read) && wideMode.MatchString(g.src) {
		a |= Write
	}
	return a
}

var wideMode = regexp.MustCompile(`open\s*\([^()]{1,80},\s*(?:mode\s*=\s*)?['"](?:[wax]|r\+)[bt+]*['"]`)

// perlOpens is open F, ">x": mode and name are one string.
var perlOpens = regexp.MustCompile(`\bopen\s*\(?\s*(?:my\s+)?[$*]?\w+\s*,\s*$`)

// fileOf returns what a string in a program names where Perl's open is given
// mode and name in one.
func fileOf(text, q string, start int) (string, Access) {
	if t := strings.TrimLeft(q, " "); t != "" && strings.IndexByte("<>+", t[0]) >= 0 && perlOpens.MatchString(text[max(0, start-60):start]) {
		a := Read
		if strings.Contains(t[:min(2, len(t))], ">") {
			a = Write
		}
		return strings.TrimLeft(t, "<>+ "), a
	}
	return q, 0
}
