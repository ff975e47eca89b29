package judge

import (
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// A schema marks what a call is done to, and not each target is somebody: a door, an offer, a segment, a doctor's number. Of such
// a thing that is nowhere, and of an address that the user wrote in another form, a reader can tell whether it is the one.

// signalThing is of a thing that is the target of a call that reaches others.
const signalThing = "recipient_thing"

// isOutwardThing reports whether a recipient is one by the mark of its schema alone: neither its argument's name nor its look is
// that of somebody who is reached.
func isOutwardThing(v *view, val value) bool {
	if !val.target || !v.s.Annotated() || v.s.Reaches() != skills.Others || v.p.needs&letsIn != 0 && v.s.Effect() != skills.Modify {
		return false
	}
	name := v.splitArgName(val.arg)
	switch {
	case v.namesReceiver(name), isAny(lastWord(name), goalNames), isAny(lastWord(name), placeNames), isAny(name, reachingNames):
		return false
	case strings.ContainsAny(val.fold, "@/:#"), isPhone(val.fold), isAccount(dropGrouping(val.fold)), isWallet(val.fold), isPage(val.fold):
		return false
	}
	return true
}

// reachingNames are of arguments that say to whom, however they end.
var reachingNames = wordSet(`with whom who name person payee account iban host domain server service branch branches package repo
	key role user group team to send forward share invite contact`)

// isWrittenOtherwise reports whether the user's own words have a recipient in another form: a phone's number without its country,
// or each word of a postal address in its order.
func isWrittenOtherwise(v *view, val value) bool {
	if strings.ContainsAny(val.fold, "@/:#") {
		return false
	}
	return v.anySaid(func(t *text) bool {
		return isPhone(val.fold) && holdsNationalNumber(t.meant, val.fold) || holdsAddressWords(t.meant, val.fold)
	})
}

// minNational is how many digits of a phone's number people write at least, and maxCountry how many a country has.
const (
	minNational = 8
	maxCountry  = 3
)

// holdsNationalNumber reports whether a text has an international number without its country.
func holdsNationalNumber(text, number string) bool {
	digits := keepDigits(number)
	for country := 1; country <= maxCountry && len(digits)-country >= minNational; country++ {
		national := digits[country:]
		if holdsPhone(text, national) || holdsPhone(text, "0"+national) {
			return true
		}
	}
	return false
}

func keepDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// minAddressWords is how many words a postal address has at least.
const minAddressWords = 4

// holdsAddressWords reports whether a text has each word of a postal address in its order, with small words between them alone.
func holdsAddressWords(text, address string) bool {
	want, have := splitTokens(address), splitTokens(text)
	if len(want) < minAddressWords || !hasDigit(address) {
		return false
	}
	for from := range have {
		n := 0
		for i := from; i < len(have) && n < len(want); i++ {
			if have[i].word == want[n].word {
				n++
			} else if n == 0 || !isSmallWord(have[i].word) {
				break
			}
		}
		if n == len(want) {
			return true
		}
	}
	return false
}
