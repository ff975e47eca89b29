package judge

import (
	"strings"
)

// The bounds of an entry: a line of a directory in prose is short, and few words stand beside the value.
const (
	maxEntryLine  = 160 // bytes
	maxEntryWords = 8
)

// hasEntryLine reports whether a listing in prose has an entry for the value: a line which is a name and
// the value, such as "Ewan Reid GB94 BARC 1020 1530 0934 59", or which begins with the value where that is
// a name: "Lena Okafor - dog walker". A booking's line has other numbers, and its reference is its payer's
// text; a sentence has more words.
func hasEntryLine(result string, val value) bool {
	if val.kind != recipient && val.kind != account || len(result) > maxRecordText {
		return false
	}
	result = strings.TrimSpace(result)
	if result == "" || result[0] == '{' || result[0] == '[' {
		return false
	}
	for line := range strings.Lines(result) {
		if line = strings.TrimSpace(line); len(line) <= maxEntryLine && isEntryOf(foldText(line), val) {
			return true
		}
	}
	return false
}

// isEntryOf reports whether a folded line is an entry for the value.
func isEntryOf(line string, val value) bool {
	if !hasDigit(val.fold) && !strings.ContainsAny(val.fold, "@#/") {
		rest, ok := strings.CutPrefix(line, val.fold)
		return ok && strings.Contains(val.fold, " ") && isEntryHeadEnd(rest)
	}
	rest, ok := cutValue(line, val)
	if !ok || hasDigit(rest) || strings.ContainsAny(rest, "@/\"") {
		return false
	}
	words := len(strings.FieldsFunc(rest, func(r rune) bool { return !isWordRune(r) }))
	return words >= 1 && words <= maxEntryWords
}

// isEntryHeadEnd reports whether what follows a name ends it.
func isEntryHeadEnd(rest string) bool {
	rest = strings.TrimLeft(rest, " ")
	return rest == "" || strings.ContainsRune("-–—|,;:(\t", []rune(rest)[0])
}

// cutValue cuts the value out of a line, whole and with or without its grouping.
func cutValue(line string, val value) (rest string, ok bool) {
	want := dropGrouping(val.fold)
	if len(want) < minAccount { // no account: as it is written
		want = ""
	}
	fields := strings.Fields(line)
	for i := range fields {
		if strings.Trim(fields[i], "<>(),;:|") == val.fold {
			return strings.Join(append(fields[:i:i], fields[i+1:]...), " "), true
		}
		if want == "" {
			continue
		}
		joined := ""
		for j := i; j < len(fields) && len(joined) < len(want); j++ {
			group := dropGrouping(strings.Trim(fields[j], "(),;:|"))
			if group == "" {
				break
			}
			if joined += group; joined == want {
				return strings.Join(append(fields[:i:i], fields[j+1:]...), " "), true
			}
		}
	}
	return "", false
}

// isAccountLine reports whether a list of the user's own accounts has a line for one: its name, and then its balance or
// nothing.
func isAccountLine(result string, val value) bool {
	if val.kind != recipient || len(result) > maxRecordText || strings.ContainsAny(val.fold, "@/:") {
		return false
	}
	for line := range strings.Lines(result) {
		rest, ok := strings.CutPrefix(foldText(strings.TrimSpace(line)), val.fold)
		words := strings.Fields(rest)
		if !ok || len(words) > maxEntryWords || rest != "" && isWordRune([]rune(rest)[0]) {
			continue
		}
		if len(words) == 0 || hasDigit(rest) || isEntryHeadEnd(rest) {
			return true
		}
	}
	return false
}
