package judge

import (
	"maps"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// A guest chooses the name under which a directory shows him. So what a directory says of a guest
// vouches for his address only where one of its own fields says what the user says.

// isGuests reports whether trusted results have whom a call reaches in records of guests alone that
// say nothing of the user's words. Such an address is a stranger's.
func isGuests(v *view, val value) bool {
	if val.kind != recipient || !v.isOutgoing() {
		return false
	}
	guest := false
	for i := range v.c.Trace().Len() {
		s := v.c.Trace().Step(i)
		if fold := v.c.Trace().Said(i).Fold(); s.Trust != skills.Trusted || !isLook(s) || !holdsValue(fold, val) {
			continue
		} else if !guestHints.find(fold, func(int, int) bool { return true }) || !isRecordOfGuest(v, s, val) {
			return false
		}
		guest = true
	}
	return guest
}

// guestHints are in each result that marks a guest.
var guestHints = newPhraseFinder(slices.Sorted(maps.Keys(guestWords)))

// isRecordOfGuest reports whether the records of a step that hold a value are guests' and say
// nothing of the user's words.
func isRecordOfGuest(v *view, s sentinel.Step, val value) bool {
	found, vouched := false, false
	eachObject(s.Result, func(o object) {
		if slices.ContainsFunc(o.fields, func(f field) bool { return holdsValue(foldText(f.text), val) }) {
			found = true
			vouched = vouched || !o.isGuest() || speaksOf(v, o, s.StrangerFields, val)
		}
	})
	return found && !vouched
}

// speaksOf reports whether the user's own words share one with a record, besides the value and
// the fields that its subject writes.
func speaksOf(v *view, o object, strangers []string, val value) bool {
	return slices.ContainsFunc(o.fields, func(f field) bool {
		said := foldText(f.text)
		if slices.Contains(strangers, f.key) || holdsValue(said, val) {
			return false
		}
		return slices.ContainsFunc(splitTokens(said), func(w token) bool {
			return len(w.word) > 2 && !functionWords[w.word] && v.anySaid(func(t *text) bool { return t.words[w.stem] })
		})
	})
}

// guestWords mark an entry of somebody who is let in from outside.
var guestWords = wordSet("guest guests external externals extern contractor vendor partner unverified")

// isGuest reports whether an entry is marked as that of somebody from outside.
func (o object) isGuest() bool {
	if o.ofGuest {
		return true
	}
	for _, f := range o.fields {
		key := splitName(f.key)
		switch on := foldText(strings.TrimSpace(f.text)); {
		case isAny(key, guestWords) && on != "false" && on != "no" && on != "0":
			return true
		case !isAny(lastWord(key), entryNames) && guestWords[on]:
			return true
		}
	}
	return false
}

// marksGuest reports whether a member of an object says that it is of somebody from outside, with all that is in it: a flag, or
// a kind such as "guest". The number of a channel's guests says nothing of its members.
func marksGuest(members map[string]any) bool {
	for k, e := range members {
		key := splitName(k)
		switch e := e.(type) {
		case bool:
			if e && isAny(key, guestWords) {
				return true
			}
		case string:
			if on := foldText(strings.TrimSpace(e)); !isAny(lastWord(key), entryNames) && guestWords[on] {
				return true
			}
		}
	}
	return false
}
