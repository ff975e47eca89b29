package judge

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// findEntry looks for an entry of a trusted record with a recipient in a field for such, though
// a stranger named it before. No argument took the value there, and no text that a skill says
// again is such a field. It returns -1 where there is none, and for a guest.
func findEntry(v *view, val value) int {
	fits := func(s *sentinel.Said) bool { return holdsValue(s.Fold(), val) }
	if i := v.c.Trace().FindListing(val.fold, fits); i >= 0 {
		s := v.c.Trace().Step(i)
		if !isLook(s) {
			return -1
		}
		if isPaidBefore(s, val) {
			return i
		}
		list := entriesOf(s)
		if !slices.ContainsFunc(list, func(o object) bool { return o.holds(val) }) ||
			slices.ContainsFunc(list, func(o object) bool { return o.holds(val) && o.isGuest() }) {
			return -1
		}
		return i
	}
	return findHandle(v, val)
}

// isPaidBefore reports whether a result lists bookings in lines, and the account of a recipient ends
// one of money that went out. Who is paid writes no such line. Any other line with the account
// may be of a stranger's making.
func isPaidBefore(s sentinel.Step, val value) bool {
	if !isAny(splitName(s.Skill), bookingWords) || !isAccount(dropGrouping(val.fold)) {
		return false
	}
	paid := false
	for line := range strings.Lines(s.Said().Fold()) {
		if line = strings.TrimSpace(line); !holdsValue(line, val) {
			continue
		}
		words := strings.Fields(line)
		if len(words) < 3 || !hasDigit(words[0]) || strings.Trim(words[0], "0123456789-./") != "" || !isMinus(words[1]) ||
			!strings.HasSuffix(strings.ReplaceAll(line, " ", ""), dropGrouping(val.fold)) {
			return false
		}
		paid = true
	}
	return paid
}

// bookingWords are in the names of skills that list what was paid.
var bookingWords = wordSet("transactions bookings payments statement statements")

func isMinus(w string) bool {
	rest, ok := strings.CutPrefix(strings.ReplaceAll(w, "\u2212", "-"), "-")
	_, number := parseNumber(rest)
	return ok && number
}

// entriesOf returns the objects of a step's result without what strangers write in them.
func entriesOf(s sentinel.Step) []object {
	var out []object
	eachObject(s.Result, func(o object) {
		o.fields = slices.DeleteFunc(o.fields, func(f field) bool { return slices.Contains(s.StrangerFields, f.key) })
		out = append(out, o)
	})
	return out
}

// handleKeys hold a name under which somebody is known in a house.
var handleKeys = wordSet("handle user username login nick account slack member")

// findHandle looks for somebody of the house in a trusted directory: an entry under a handle,
// with a name beside it. An address from beyond the house is none.
func findHandle(v *view, val value) int {
	h := strings.TrimPrefix(val.fold, "@")
	if strings.ContainsAny(h, "@:/ ") || hasDigit(dropGrouping(h)) && len(h) >= minAccount || isPage(h) {
		return -1
	}
	for i := range v.c.Trace().Len() {
		s := v.c.Trace().Step(i)
		if s.Trust != skills.Trusted || !isLook(s) {
			continue
		}
		for _, o := range entriesOf(s) {
			if o.isHandleOf(h) && !o.isGuest() {
				return i
			}
		}
	}
	return -1
}

func (o object) isHandleOf(h string) bool {
	handle, name := false, false
	for _, f := range o.fields {
		tail := lastWord(splitName(f.key))
		switch {
		case isAny(tail, handleKeys):
			handle = handle || strings.TrimPrefix(foldText(f.text), "@") == h
		case isAny(tail, entryNames):
			name = name || strings.TrimSpace(f.text) != ""
		}
	}
	return handle && name
}

// contactKeys are fields that hold how somebody is reached, besides recipientNames.
var contactKeys = wordSet("mail tel telephone telefon mobile address contact handle login correo")

// holds reports whether an entry has a value in a field for such, and a name beside it.
func (o object) holds(val value) bool {
	reached, called := false, false
	for _, f := range o.fields {
		tail := lastWord(splitName(f.key))
		switch {
		case isAny(tail, contactKeys) || isAny(tail, recipientNames):
			text := foldText(strings.TrimSpace(f.text))
			reached = reached || len(text) <= maxTargetText && holdsValue(text, val)
		case isAny(tail, entryNames):
			called = called || strings.TrimSpace(f.text) != ""
		}
	}
	return reached && called
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

// entryNames are fields that hold what people call an entry.
var entryNames = wordSet(`name names display full first last title relation role nickname alias company organisation organization
	customer owner nombre nom vorname nachname imie nome relacion firma empresa`)

const maxTargetText = 96

// namesPerson reports whether a text has a word that may be somebody's name or part.
func namesPerson(t *text, w string) bool {
	return len(w) > 2 && t.people[w] && !functionWords[w] && !impersonal[w] &&
		(t.proper[w] || saying[stemWord(w)] == 0 && concepts[stemWord(w)] == 0)
}

// isRivalled reports whether results have another address of the name that the user wrote.
func isRivalled(v *view, val value) bool {
	if !isEmail(val.fold) {
		return false
	}
	own := v.namesOwner(val)
	for _, at := range metAddresses(v) {
		if at == val.fold {
			continue
		}
		if n := v.namesOwner(value{kind: recipient, raw: at, fold: at}); n > 0 && n >= own {
			return true
		}
	}
	return false
}

// metAddresses returns the addresses in the results, each once.
func metAddresses(v *view) []string {
	if v.hasMet {
		return v.met
	}
	v.hasMet = true
	for _, r := range slices.Concat(v.trusted, v.untrusted) {
		eachAddress(r, func(_ kind, at string) bool {
			if isEmail(at) && !slices.Contains(v.met, at) {
				v.met = append(v.met, at)
			}
			return len(v.met) < maxValues
		})
	}
	return v.met
}
