package judge

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// saidCost is what a recipient of an earlier turn's record costs at most where the user's own words name that record, and no
// stranger the recipient. It asks beside any other sign: see Earlier turns. What goes on by itself costs what it did.
const saidCost = 20

// isEntrySaid reports whether a trusted record of an earlier turn has a recipient by itself under a word of the user's own.
func isEntrySaid(v *view, val value) bool {
	if name := splitName(v.c.Name()); isAny(name, recurringNames) || isAny(name, standingNames) {
		return false
	}
	isSaid := func(entry string) bool { return hasNameSaid(v, entry) }
	for r := range v.c.Trace().PastResults() {
		if r.Trust == skills.Trusted && isLook(r.Step) && slices.ContainsFunc(entryTexts(r.Step, val), isSaid) {
			return true
		}
	}
	return false
}

// recurringNames are of skills whose payment comes again and again.
var recurringNames = wordSet("standing recurring subscription subscriptions subscribe autopay debit mandate")

// hasNameSaid reports whether the user's own words, also of earlier turns, have a word that an entry is called by.
func hasNameSaid(v *view, entry string) bool {
	return slices.ContainsFunc(splitTokens(entry), func(w token) bool {
		return isNameWord(w) && v.anySaid(func(t *text) bool { return t.people[w.word] || t.words[w.stem] })
	})
}

// entryTexts returns what else stands in the entries of a result that have a recipient by itself, folded. A recipient that
// is a name says itself who is meant.
func entryTexts(s sentinel.Step, val value) []string {
	var out []string
	if looksLikeJSON(strings.TrimSpace(s.Result)) {
		for _, o := range entriesOf(s) {
			if o.lists(val) {
				out = append(out, joinTexts(o, val))
			}
		}
		return out
	}
	for line := range strings.Lines(foldText(s.Result)) {
		if line = strings.TrimSpace(line); len(line) > maxEntryLine || !isEntryOf(line, val) {
			continue
		}
		if rest, ok := cutValue(line, val); ok {
			line = rest
		}
		out = append(out, line)
	}
	return out
}

// joinTexts returns the texts of an object but for a value and for those that others write, folded.
func joinTexts(o object, val value) string {
	var b strings.Builder
	for _, f := range o.fields {
		if text := foldText(strings.TrimSpace(f.text)); text != val.fold && !isAny(lastWord(splitName(f.key)), proseKeys) {
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}
