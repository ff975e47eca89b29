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

	callBefore = regexp.MustCompile(`([\w:>.-]*[\w])\s*[( ]\s*(?:[rbfuRBFU]{0,2})$`)
	modeAfter  = regexp.MustCompile(`^\s*,\s*(?:mode\s*=\s*|encoding\s*=\s*['"][^'"]*['"]\s*,\s*)?['"]?(\+?[rwaxc<>+]{1,3}[bt+]{0,2})['"]?`)
	flagAfter  = regexp.MustCompile(`^\s*,\s*(?:\w+\.)*O_\w+`)
	writeFlag  = regexp.MustCompile(`^[^)]{0,64}\bO_(WRONLY|RDWR|CREAT|TRUNC|APPEND)`)
	chainAfter = regexp.MustCompile(`^\s*\)\s*(?:\.\s*(?:expanduser|resolve|absolute)\s*\(\s*\)\s*)*\.\s*(\w+)\s*\(\s*(?:['"]([rwax+bt]{1,3})['"])?`)
	perlMode   = regexp.MustCompile(`['"]\s*(\+?[<>]{1,2})\s*['"]\s*,\s*$`)
	assignTo   = regexp.MustCompile(`[\w\]]\s*:?=\s*(?:[rbfuRBFU]{0,2}|(?:[\w.]+)?Path\()$`)
	anyCall    = regexp.MustCompile(`[\w-]+\s*\(|\.[\w-]+\b|\b(?:unlink|rm|del|Remove-Item)\b`)
)

// codeAccess says what a program does to the file that the string at
// text[start:end] names; 0 where it names none that is used.
func codeAccess(text string, start, end int, loose Access) Access {
	before, after := text[max(0, start-80):start], text[end:min(len(text), end+120)]
	if m := chainAfter.FindStringSubmatch(after); m != nil {
		switch a := byName(m[1]); {
		case m[1] == "open" && strings.ContainsAny(m[2], "wax+"):
			return Write
		case a != 0:
			return a
		}
	}
	if m := callBefore.FindStringSubmatch(before); m != nil {
		name := m[1]
		if i := strings.LastIndexAny(name, ".>:"); i >= 0 {
			name = name[i+1:]
		}
		a := byName(name)
		if strings.EqualFold(name, "open") || strings.EqualFold(name, "fopen") || strings.EqualFold(name, "opensync") || strings.EqualFold(name, "sysopen") {
			a = Read
			if m := modeAfter.FindStringSubmatch(after); m != nil && strings.ContainsAny(m[1], "wax+>c") || flagAfter.MatchString(after) && writeFlag.MatchString(after) {
				a = Write
			}
		}
		if a != 0 {
			return a
		}
	}
	if m := perlMode.FindStringSubmatch(before); m != nil {
		if strings.Contains(m[1], ">") || strings.HasPrefix(m[1], "+") {
			return Write
		}
		return Read
	}
	if assignTo.MatchString(before) {
		return loose
	}
	return 0
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
func looseAccess(text string) Access {
	var a Access
	for _, m := range anyCall.FindAllString(text, 256) {
		name := strings.TrimRight(strings.TrimLeft(m, "."), "( \t\n")
		switch x := byName(name); {
		case strings.EqualFold(name, "open") || strings.EqualFold(name, "fopen"):
			a |= Read
		default:
			a |= x &^ Read
		}
	}
	if a.Has(Read) && wideMode.MatchString(text) {
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
