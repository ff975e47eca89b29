package judge

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-dev/vedette/sentinel"
)

// looksLikeJSON reports whether a result is JSON, or begins as if it were. "[14:02] ann: hello" is
// a line of a talk.
func looksLikeJSON(result string) bool {
	if result == "" || result[0] != '{' && result[0] != '[' {
		return false
	}
	inner := strings.TrimSpace(result[1:])
	return result[0] == '{' || inner == "" || strings.ContainsRune(`{["`, rune(inner[0])) || json.Valid([]byte(result))
}

// splitRecords returns the records of a listing: its lines, or what semicolons set apart where
// all of it is one line and each part begins with an id.
func splitRecords(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var lines []string
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		if len(lines) == 1 {
			lines = splitOneLine(lines[0])
		}
		for _, line := range lines {
			if !yield(line) {
				return
			}
		}
	}
}

func splitOneLine(line string) []string {
	parts := strings.Split(line, ";")
	first := shapeOfLead(leadingID(strings.TrimSpace(parts[0])))
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
		if lead := leadingID(parts[i]); !hasDigit(lead) || shapeOfLead(lead) != first {
			return []string{line}
		}
	}
	return parts
}

// leadingID is the first word of a line without its number in the list and the signs that set
// ids apart.
func leadingID(line string) string {
	line = strings.TrimLeft(line, "[(#-•* ")
	rest := strings.TrimLeft(line, "0123456789")
	if isNumbered := strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") "); isNumbered && len(rest) < len(line) {
		line = strings.TrimLeft(rest[1:], "[(# ")
	}
	i := strings.IndexAny(line, " \t|,;:])")
	if i <= 0 {
		return ""
	}
	return line[:i]
}

// shapeOfLead is what the ids of one listing have in common: the letters that they begin with.
func shapeOfLead(id string) string {
	i := strings.IndexFunc(id, func(r rune) bool { return !unicode.IsLetter(r) })
	switch {
	case i < 0:
		return "word"
	case i == 0 && strings.Trim(id, "0123456789") != "":
		return "sign"
	}
	return id[:i]
}

// isOrderIn reports whether a text that speaks to a model does so of a value that it has. Of a
// thing in a listing in lines that is the id's own record: what a seller writes in his is no word about
// another's.
func isOrderIn(text string, val value, isThing bool) bool {
	if !isThing || looksLikeJSON(strings.TrimSpace(text)) {
		return true
	}
	shape, clean, spoke := shapeOfLead(val.fold), false, false
	var rest strings.Builder
	for line := range strings.Lines(text) {
		lead := leadingID(strings.TrimSpace(line))
		isRecord := hasDigit(lead) && shapeOfLead(lead) == shape
		if !speaksToModel(line) {
			clean = clean || lead == val.fold
			rest.WriteString(line)
			continue
		}
		if spoke = true; !isRecord || holdsValue(line, val) {
			return true
		}
	}
	return !clean || !spoke || speaksToModel(rest.String())
}

func speaksToModel(text string) bool {
	return slices.Contains(sentinel.TextMarks(text), sentinel.MarkInstructions)
}

// domainOf is what stands before the last dot of a skill's name.
func domainOf(skill string) string { return skill[:strings.LastIndexByte(skill, '.')+1] }
