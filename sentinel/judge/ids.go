package judge

import (
	"fmt"
	"iter"
	"strings"
	"unicode"
)

// findOtherID looks for a target that isn't in the user's words, while they name another id of
// the same shape. Such are T-24 where they say T-42, and monthly-payout where they say
// weekly-report. It looks at calls that can't be undone or cost money. That a trusted result
// lists it, too, doesn't make it the one that was meant. What grounding asks about anyhow
// isn't counted twice.
func findOtherID(v *view) finding {
	var f finding
	if v.request == nil || !v.isFinal() || len(v.request.ids)+len(v.request.numbered) == 0 {
		return f
	}
	for i, val := range v.values {
		switch {
		case !val.target || val.kind != reference && val.kind != account && val.kind != recipient:
		case i >= maxValues:
			f.add(val.arg)
		case namesOtherID(v, val) && v.costOf(val, v.originOf(val, false)) < strangersTarget:
			f.add(val.arg)
		}
	}
	if f.found {
		f.extra = min(v.costOfIDs(), strangersTarget)
	}
	return f
}

// namesOtherID reports whether a target has an id that the user didn't write, of a shape that
// the user named. So have "T-24", "task T-24" and "T-42,T-24". A receiver may well look for
// the id alone.
func namesOtherID(v *view, val value) bool {
	in := v.statedIn(func(t *text) bool { return len(t.ids)+len(t.numbered) > 0 })
	for part := range splitIDs(val.fold) {
		one := val
		one.fold = part
		if (in.ids[shapeOfID(part)] || isNumberOf(v, in, part, val)) && !in.hasValue(one) &&
			!holdsWhole(in.fold, fileSigns.Replace(part)) {
			return true
		}
	}
	return false
}

// isNumberOf reports whether an id is a short number and the user named another by its noun.
// The noun is of the skill or of the argument: order 42. No text knows such a number for an id
// by itself.
func isNumberOf(v *view, in *text, part string, val value) bool {
	if !isShortNumber(part) {
		return false
	}
	for _, name := range []string{v.s.Name(), val.arg} {
		for _, w := range splitName(name) {
			if in.numbered[stemWord(w)] {
				return true
			}
		}
	}
	return false
}

func isShortNumber(w string) bool {
	return w != "" && len(w) <= minNumber && strings.Trim(w, "0123456789") == ""
}

// readNumberedNouns returns the stems of the nouns that a number of a few digits follows.
// Examples are "order 42", "order no. 42" and "order #42".
func readNumberedNouns(fold string) map[string]bool {
	var out map[string]bool
	noun := ""
	for w := range strings.FieldsSeq(fold) {
		bare := strings.Trim(w, idQuotes)
		switch {
		case bare == "" || isAny([]string{bare}, numberWords):
			continue
		case isShortNumber(bare) && noun != "":
			if out == nil {
				out = map[string]bool{}
			}
			out[stemWord(noun)] = true
		}
		noun = ""
		if strings.TrimRight(w, idQuotes) == w { // no sentence ends between them
			noun = bare
		}
	}
	return out
}

// numberWords stand between a noun and its number.
var numberWords = wordSet("no nr number num id")

// splitIDs are the words of a folded target, however they are set apart. Hyphens of
// other scripts count as one, and signs without a width as none.
func splitIDs(target string) iter.Seq[string] {
	return strings.FieldsFuncSeq(strings.Map(normalizeSign, target),
		func(r rune) bool { return !isWordRune(r) && !strings.ContainsRune("-_.:@", r) })
}

func normalizeSign(r rune) rune {
	switch {
	case unicode.Is(unicode.Pd, r) || r == '\u2212':
		return '-'
	case unicode.Is(unicode.Cf, r):
		return -1
	}
	return r
}

// readIDShapes returns the shapes of the ids in a folded text. Beside amounts of money a
// number of a few digits is no id.
func readIDShapes(fold string, money bool) map[string]bool {
	var out map[string]bool
	for w := range strings.FieldsSeq(fold) {
		w = strings.TrimSuffix(strings.Trim(w, idQuotes), "'s")
		shape := shapeOfID(w)
		if shape == "" || everydaySlugs[w] || money && len(w) < minAccount && strings.Trim(w, "0123456789") == "" {
			continue
		}
		if out == nil {
			out = map[string]bool{}
		}
		out[shape] = true
	}
	return out
}

const (
	idQuotes  = ".,:;!?()'\"`<>[]{}#“”‘’„«»*"
	maxIDSize = 64
	minNumber = 4 // digits of a number that is an id by itself
	minMixed  = 8 // characters of an id of mixed letters and digits
)

// everydaySlugs are words of prose that are written as names of things are.
var everydaySlugs = wordSet(`follow-up check-in check-out check-up sign-in sign-up log-in opt-in opt-out to-do set-up pick-up drop-off
	up-to-date long-term short-term full-time part-time one-way round-trip non-stop non-refundable well-known so-called
	real-time on-site off-site re-book re-send re-schedule co-worker co-workers team-building day-to-day face-to-face
	step-by-step all-day half-day brand-new old-fashioned first-class
	business-class last-minute in-person self-service high-priority low-priority read-only`)

// shapeOfID returns what ids of one kind have in common, "" for what is no id: letters
// before a number ("t-9"), as many digits, as many letters and digits in as many
// groups, or words joined by one sign. An address, a path, a date and a phone's number
// are no ids here: other signals know those.
func shapeOfID(w string) string {
	w = strings.Trim(w, idQuotes)
	if len(w) < 3 || len(w) > maxIDSize || strings.ContainsAny(w, "@/\\+%$€£, ") || isFileName(w) {
		return ""
	}
	letters, digits, lead := 0, 0, true
	for _, r := range w {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case unicode.IsLetter(r):
			letters++
			lead = lead && digits == 0
		case r != '-' && r != '_' && r != '.' && r != ':':
			return ""
		}
	}
	switch {
	case letters == 0 && digits == len(w) && digits >= minNumber && (digits > 4 || w[0] > '2' || w[0] == '0'):
		return fmt.Sprintf("number of %d", digits)
	case letters == 0:
		return "" // a date, a time, a version
	case digits == 0:
		return shapeOfSlug(w)
	case lead:
		return strings.TrimRight(w, "0123456789-_.:") + "9"
	case letters+digits >= minMixed:
		return shapeOfGroups(w)
	}
	return ""
}

// shapeOfSlug is the sign between the words of a name such as "weekly-report".
func shapeOfSlug(w string) string {
	for _, sign := range []string{"-", "_"} {
		parts := strings.Split(w, sign)
		if len(parts) < 2 || strings.ContainsAny(strings.Join(parts, ""), "-_.:") {
			continue
		}
		for _, p := range parts {
			if len(p) < 2 {
				return ""
			}
		}
		return "words" + sign
	}
	return ""
}

// shapeOfGroups is how long the groups of letters and digits are.
func shapeOfGroups(w string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || r >= '0' && r <= '9' {
			return 'x'
		}
		return r
	}, w)
}
