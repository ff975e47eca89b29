package judge

import (
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

var (
	// recordNames are of what a call answers, changes or takes along. Its id says which one
	// that is, and names no receiver.
	recordNames = wordSet(`message messages msg mail ticket issue event thread task booking reservation order invoice appointment comment
		document doc file page sheet note entry item record case pull pr post draft meeting reminder subscription card`)
	// idTails are the last words of names of ids.
	idTails = wordSet("id ids no nr number key ref reference uuid")
	// timeNames are arguments that hold a time, or somebody.
	timeNames = wordSet("to from until till end start at by on since")
	// goalNames are arguments that hold a folder, or somebody.
	goalNames = wordSet("to destination dest target")
	// puttingNames are of skills that put something somewhere, and fileDomains of those that do
	// so with files: only there "a/b" is a path, and no repository of somebody's.
	puttingNames = wordSet("move copy rename save store put export download extract unpack restore archive backup schedule")
	fileDomains  = wordSet("file files fs drive folder folders directory dir doc docs document documents disk storage path")
	// wayBack is what a skill that gives money back is told instead of a receiver.
	wayBack = map[string]bool{
		"original": true, "original payment": true, "original payment method": true, "original method": true, "original card": true,
		"original account": true, "same card": true, "same method": true,
	}
	// givingBack are the words of such skills.
	givingBack = stemSet("refund reimburse return chargeback repay")
)

// reachesPeople are the verbs of skills whose "to" is somebody.
const reachesPeople = sends | posts | shares | invites | pays

// isRecordID reports whether an argument holds the id of a record that a call answers,
// changes or takes along: a ticket, a message, an issue.
func isRecordID(v *view, a skills.Arg, s string) bool {
	words := v.splitArgName(a.Name)
	if len(words) == 0 || isEmail(s) || strings.ContainsAny(s, "@ ") || strings.Contains(s, "://") || isIBAN(dropGrouping(s)) {
		return false
	}
	if !a.Marks.Has(skills.Target) || isAny(words, accountNames) {
		return false
	}
	tail := words[len(words)-1]
	if idTails[tail] && len(words) > 1 {
		return recordNames[words[len(words)-2]]
	}
	return recordNames[tail] && tail != "mail" && (v.s.Reaches() != skills.Others || isMet(v, value{kind: reference, raw: s, fold: s}))
}

// isMet reports whether anybody wrote a value, a stranger too. A name that the agent made up
// reaches somebody whom no person chose.
func isMet(v *view, val value) bool { return v.isGrounded(val) || v.isStrange(val) }

// isTime reports whether an argument such as "to" holds a time.
func isTime(v *view, a skills.Arg, s string) bool {
	if !isAny(lastWord(v.splitArgName(a.Name)), timeNames) || v.p.needs&reachesPeople != 0 {
		return false
	}
	if _, ok := parseISODate(s); ok {
		return strings.Trim(s[10:], "0123456789:.tz+- ") == ""
	}
	h, m, ok := strings.Cut(s, ":")
	return ok && len(h) >= 1 && len(h) <= 2 && len(m) >= 2 && len(m) <= 9 && isDigits(h) && isDigits(m[:2]) &&
		strings.Trim(m[2:], "0123456789:. apmz") == ""
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// isPlaceForFiles reports whether an argument such as "to" holds a path: something is put
// there, and no person is reached. A call that sends, shares or pays puts nothing anywhere.
func isPlaceForFiles(v *view, a skills.Arg, s string) bool {
	if !isAny(lastWord(v.splitArgName(a.Name)), goalNames) || v.p.needs&reachesPeople != 0 || v.isOutgoing() {
		return false
	}
	words := splitName(v.s.Name())
	inFiles := isAny(words, fileDomains)
	if !inFiles && !isAny(words, puttingNames) {
		return false
	}
	if strings.ContainsAny(s, "@") || strings.Contains(s, "://") || strings.HasPrefix(s, "//") || isPage(s) {
		return false
	}
	if s[0] == '/' || strings.HasPrefix(s, "~/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") {
		return true
	}
	drive := len(s) > 2 && s[0] >= 'a' && s[0] <= 'z' && s[1] == ':' && (s[2] == '\\' || s[2] == '/')
	return drive || inFiles && v.s.Reaches() == skills.Self && (isFileName(s) || strings.Contains(s, "/") && !strings.Contains(s, " "))
}

// isWayBack reports whether a value says that money goes back the way it came.
func isWayBack(v *view, s string) bool {
	if !wayBack[strings.ReplaceAll(s, "_", " ")] {
		return false
	}
	for _, w := range splitName(v.s.Name()) {
		if givingBack[stemWord(w)] {
			return true
		}
	}
	return false
}
