package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// People speak of a thing by what it is called and not by its field: "the one from Lyon", "Elsa's new address". Where trusted
// records have each target of a call under a word of the user's own, the request speaks of what the call is done to.

// namesRecords reports whether the user's own words name the records that are a call's targets. The schema requires a
// target, so that no call without one has less against it; one more target can only take away.
func namesRecords(v *view) bool {
	if v.own == nil || !v.s.Annotated() || !v.p.aimed {
		return false
	}
	for i, val := range v.values {
		if val.target && (i >= maxValues || !isRecordSaid(v, val)) {
			return false
		}
	}
	return true
}

// isRecordSaid reports whether a trusted result has a value in a record that shares a word with the user's own words, or
// those have the value.
func isRecordSaid(v *view, val value) bool {
	if v.own.hasValue(val) {
		return true
	}
	isSaid := func(s sentinel.Step) bool {
		return s.Trust == skills.Trusted && isLook(s) && !slices.Contains(s.Marks, sentinel.MarkInstructions) &&
			slices.ContainsFunc(recordsWith(s, val), func(r string) bool { return sharesWord(v, r) })
	}
	for i := range v.c.Trace().Len() {
		if holdsValue(v.c.Trace().Said(i).Fold(), val) && isSaid(v.c.Trace().Step(i)) {
			return true
		}
	}
	for r := range v.c.Trace().PastResults() {
		if isSaid(r.Step) {
			return true
		}
	}
	return false
}

// recordsWith returns the folded records of a result that have a value, without the value: its lines, or the texts of its
// objects but for those that others write.
func recordsWith(s sentinel.Step, val value) []string {
	var out []string
	if looksLikeJSON(strings.TrimSpace(s.Result)) {
		for _, o := range entriesOf(s) {
			if !slices.ContainsFunc(o.fields, func(f field) bool { return foldText(strings.TrimSpace(f.text)) == val.fold }) {
				continue
			}
			out = append(out, joinTexts(o, val))
		}
		return out
	}
	for line := range splitRecords(foldText(s.Result)) {
		if leadingID(line) == val.fold {
			out = append(out, line[strings.Index(line, val.fold)+len(val.fold):])
		}
	}
	return out
}

// sharesWord reports whether a record and the user's own words share a word that things are called by.
func sharesWord(v *view, record string) bool {
	return slices.ContainsFunc(splitTokens(record), func(w token) bool {
		return (v.own.words[w.stem] || v.own.raw[w.word]) && isNameWord(w) && verbsOf(w)&(v.p.needs|looks) == 0
	})
}

// minNameWord is how many letters a word has at least by which a thing is called.
const minNameWord = 3

// isNameWord reports whether a word may be what a thing is called: no number and no small word.
func isNameWord(w token) bool {
	return utf8.RuneCountInString(w.word) >= minNameWord && !hasDigit(w.word) && !functionWords[w.word] && !everydayWords[w.word] &&
		!isSmallWord(w.word)
}

// requiresTarget reports whether a skill's schema requires an argument that says what the call is done to.
func requiresTarget(s *skills.Skill) bool {
	var schema struct{ Required []string }
	if json.Unmarshal(s.Parameters(), &schema) != nil {
		return false
	}
	return slices.ContainsFunc(schema.Required, func(arg string) bool {
		marks, declared := s.ArgMarks(arg)
		return declared && marks.Has(skills.Target)
	})
}
