package judge

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// What a trusted text has grounds a value where it had it first. Where a stranger named it before, or the text is of an earlier turn,
// the value is known, which grounds nothing: a reader sees both.

// findKnown returns the word for where a value stands that the agent met elsewhere than with strangers, or "".
func findKnown(v *view, val value) string {
	if step, _ := findVisit(v, val); step >= 0 && !v.isStrange(val) {
		return wordVisited
	}
	fits := func(s *sentinel.Said) bool { return holdsValue(s.Fold(), val) }
	if isListed(v, val, fits) {
		return wordListed
	}
	inRecord := func(result string) bool { return holdsInRecord(result, nil, val) }
	if v.c.Trace().ListedEarlier(val.fold, fits, inRecord) || isVisitedEarlier(v, val) {
		return wordEarlier
	}
	return ""
}

// isListed reports whether a trusted result of this turn has a value, and no argument took it there. A thing may be looked up by its
// id, too: then the result has its record.
func isListed(v *view, val value, fits func(*sentinel.Said) bool) bool {
	if i := v.c.Trace().FindListing(val.fold, fits); i >= 0 {
		s := v.c.Trace().Step(i)
		return isLook(s) && holdsInRecord(s.Result, s.StrangerFields, val)
	}
	return val.kind != recipient && isOnRecord(v, val)
}

// holdsInRecord reports whether a result has a value where its skill vouches for it. Of JSON that is no field in which others write
// what they like, no address in a name, which people choose, and nothing of a guest's. What the value is of another field says.
func holdsInRecord(result string, strangers []string, val value) bool {
	if !looksLikeJSON(strings.TrimSpace(result)) {
		return holdsValue(foldText(result), val)
	}
	found := false
	eachObject(result, func(o object) {
		holds, says := false, false
		for _, f := range o.fields {
			switch isIn := holdsValue(foldText(f.text), val); {
			case slices.Contains(strangers, f.key):
			case isIn:
				holds = holds || f.vouchesFor(val)
			default:
				says = says || strings.TrimSpace(f.text) != ""
			}
		}
		found = found || holds && says && !o.isGuest()
	})
	return found
}

// isVisitedEarlier reports whether a recipient is a place that the agent read in an earlier turn, and that no stranger named.
func isVisitedEarlier(v *view, val value) bool {
	if v.isStrange(val) {
		return false
	}
	for r := range v.c.Trace().PastResults() {
		if isLook(r.Step) && isPlaceOf(v, r.Args, val) {
			return true
		}
	}
	return false
}

// isOnRecord reports whether a trusted skill returned a record under an id, with more in it than the id.
func isOnRecord(v *view, val value) bool {
	for i := range v.c.Trace().Len() {
		s := v.c.Trace().Step(i)
		if s.Trust != skills.Trusted || !isLook(s) || slices.Contains(s.Marks, sentinel.MarkInstructions) {
			continue
		}
		if slices.ContainsFunc(entriesOf(s), func(o object) bool { return o.isUnder(val) }) {
			return true
		}
	}
	return false
}

// isUnder reports whether an object is the record of an id: one field is the id, and others say
// more.
func (o object) isUnder(val value) bool {
	under, more := false, 0
	for _, f := range o.fields {
		tail := lastWord(splitName(f.key))
		switch {
		case foldText(strings.TrimSpace(f.text)) != val.fold:
			more++
		case isAny(tail, recordIDs) || isAny(tail, recordNames):
			under = true
		}
	}
	return under && more > 1
}

// recordIDs are the last words of fields that hold the id of their record.
var recordIDs = wordSet("id ids key number uid sku code")
