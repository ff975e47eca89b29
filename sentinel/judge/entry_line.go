package judge

import (
	"strings"
)

// The bounds of an entry: a line of a directory in prose is short, and few words stand beside the value.
const (
	maxEntryLine  = 160 // bytes
	maxEntryWords = 8
)

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
