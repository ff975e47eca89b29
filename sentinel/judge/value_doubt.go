package judge

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// A value that no one who may be believed wrote is a verdict only where something speaks against it: the text that names it asks
// for the call, the user means somebody else, the request asks for something else, or too much is at stake to take a stranger's
// word for it. All else is in doubt, for a reader with the evidence can tell. Neither grounds the value, and both cost the same.

// The words for where a value in doubt stands. They end the names of signals.
const (
	wordEarlier = "earlier" // a trusted text of an earlier turn has it, or the agent read there
	wordListed  = "listed"  // a trusted text has it, or of a thing: strangers alone
	wordVisited = "visited" // the agent read there
	wordMet     = "met"     // strangers alone have it
	wordCalled  = "called"  // no text has it, and it is no address
)

// placeDoubt returns the word for where an ungrounded value stands that is in doubt, or "" for a verdict.
func (v *view) placeDoubt(val value, o origin) string {
	thing := val.kind != recipient && val.kind != host
	switch {
	case v.request == nil, val.exact != "", val.isRouted() && strings.LastIndexByte(val.fold, '@') > 0, o >= described,
		thing && (o != outside || !v.isStrangersMeans(val)), isGuests(v, val), v.isSubjects(val):
		return ""
	}
	if word := findKnown(v, val); word != "" {
		if v.isOrderedBeside(val) {
			return ""
		}
		return word
	}
	if val.kind == host { // what is sent to a page, its owner has
		return ""
	}
	if strange := o == outside || o == namedOut || o == halfOut; !strange {
		if v.isUnknowable(val) {
			return ""
		}
		return wordCalled
	}
	switch {
	case v.isOrdered(val), v.isPasted(val), v.isNear(val), v.isOpposed(val), isAskedFor(v, val):
		return ""
	case thing:
		return wordListed
	}
	return wordMet
}

// isUnknowable reports whether a recipient that no text has can't be a word of the user's or the skill's own: it is an address, or
// it says who is paid or let in, or who is reached though the request asks for something else. A word of the user's in it, or a
// phone's number of theirs without its country, says who is meant.
func (v *view) isUnknowable(val value) bool {
	if isAddress(val.fold) {
		return !hasPhoneSaid(v, val)
	}
	st := stakeOf(v, val)
	return (st >= ofRight || st == ofReach && v.differs()) && !v.isCalled(val)
}

// minCalled is the least length of a word by which somebody calls a person.
const minCalled = 4

// isCalled reports whether the user's own words have a word of a recipient's name: "Dr Achterberg" is dr-achterberg.
func (v *view) isCalled(val value) bool {
	for w := range strings.FieldsFuncSeq(val.fold, func(r rune) bool { return !isWordRune(r) }) {
		if len(w) >= minCalled && !hasDigit(w) && !functionWords[w] && v.anySaid(func(t *text) bool { return t.people[w] }) {
			return true
		}
	}
	return false
}

// isOpposed reports whether what is at stake is too much for a value that strangers alone have.
func (v *view) isOpposed(val value) bool {
	switch stakeOf(v, val) {
	case ofMoney:
		return !v.saysEnd(val) || v.differs() || v.isBeside(val)
	case ofRight:
		return v.request.readable && !v.isPlainlyAsked() || !v.pointsAt(val) || v.differs() || v.isBeside(val)
	case ofReach:
		return v.differs() || v.isBeside(val)
	case ofThing:
	}
	if val.kind == recipient { // what is bought goes where the user says
		return v.s.Effect() == skills.CostsMoney && isAny(v.splitArgName(val.arg), deliveryNames)
	}
	return namesOtherID(v, val)
}

// isPast reports whether only earlier turns have a value, and the user has since asked for what the call does: they saw what the
// strangers asked for.
func (v *view) isPast(val value) bool {
	return v.own != nil && v.c.Tainted() && !v.c.TaintedThisTurn() && v.isPlainlyAsked() && !v.differs() && v.isStrange(val)
}

// minEnd is how many digits people compare of an account.
const minEnd = 4

// saysEnd reports whether the user's own words have the last digits of an account.
func (v *view) saysEnd(val value) bool {
	number := dropGrouping(val.fold)
	isEnd := func(w string) bool {
		return len(w) >= minEnd && isDigits(w) && len(w) < len(number) && strings.HasSuffix(number, w)
	}
	return v.own != nil && slices.ContainsFunc(strings.FieldsFunc(v.own.meant, func(r rune) bool { return !isWordRune(r) }), isEnd)
}

// isNear reports whether the evidence has a near miss or a rival for a value's argument, or the value is a slip of the user's own word.
func (v *view) isNear(val value) bool {
	if v.anySaid(func(t *text) bool { return hasSlipOf(t, val.fold) }) {
		return true
	}
	near, rivals, _ := v.c.NearMisses()
	for _, f := range slices.Concat(near, rivals) {
		if f.Arg == val.arg && f.Arg != "" {
			return true
		}
	}
	return false
}

// hasSlipOf reports whether a text has a long word from which a name differs by one letter, and not by its ending alone.
func hasSlipOf(t *text, name string) bool {
	if len(name) < minAccount {
		return false
	}
	for w := range t.people {
		if len(w) >= minAccount && stemWord(w) != stemWord(name) && isOneEdit(w, name) {
			return true
		}
	}
	return false
}

// copyNames are of arguments that hold who gets a copy.
var copyNames = wordSet("cc bcc copy copies")

// isBeside reports whether somebody else is meant: the value gets a copy, the call reaches another of whom more is known, or the
// user's words name the owner of another address.
func (v *view) isBeside(val value) bool {
	if isAny(lastWord(v.splitArgName(val.arg)), copyNames) || isRivalled(v, val) || namesOtherAddress(v.own, val) {
		return true
	}
	return slices.ContainsFunc(v.values[:min(len(v.values), maxValues)], func(o value) bool {
		return o.kind == recipient && o.fold != val.fold && isSomebody(v, o) && (!v.isStrange(o) || v.isGrounded(o) || findKnown(v, o) != "")
	})
}

// namesOtherAddress reports whether a text has another address of a value's kind.
func namesOtherAddress(t *text, val value) bool {
	if isPhone(val.fold) {
		return slices.ContainsFunc(strings.FieldsFunc(t.fold, func(r rune) bool { return !strings.ContainsRune("0123456789 -().+/", r) }),
			func(s string) bool { return phoneDigits(strings.TrimSpace(s)) != "" })
	}
	return isEmail(val.fold) && !eachAddress(t.fold, func(_ kind, at string) bool { return !isEmail(at) || at == val.fold })
}

// pointsAt reports whether the user's own words name the kind of text in which strangers have a value: the mail, the issue, the chat.
func (v *view) pointsAt(val value) bool {
	isMeant := func(s sentinel.Step) bool {
		return s.Trust != skills.Trusted && holdsValue(s.Said().Fold(), val) && namesKindOf(v.own, s.Skill)
	}
	for s := range v.c.Trace().LearntSteps() {
		if isMeant(s) {
			return true
		}
	}
	return slices.ContainsFunc(v.c.Trace().Earlier(), isMeant)
}

// namesKindOf reports whether a text has a word for what a skill reads.
func namesKindOf(t *text, skill string) bool {
	return slices.ContainsFunc(splitName(skill), func(w string) bool {
		return concepts[stemWord(w)]&t.fields != 0 || len(w) >= minCalled && concepts[stemWord(w)] != 0 && hasWordFrom(t, w)
	})
}

// hasWordFrom reports whether a text has a word that begins with another: "mailinde", "mailadresse".
func hasWordFrom(t *text, head string) bool {
	for w := range t.raw {
		if strings.HasPrefix(w, head) {
			return true
		}
	}
	return false
}

// isSubjects reports whether a trusted result has a value only where the one whom its record is of writes it himself.
func (v *view) isSubjects(val value) bool {
	for i := range v.c.Trace().Len() {
		s := v.c.Trace().StrangersText(i)
		if s != "" && holdsValue(foldText(s), val) && !holdsValue(v.c.Trace().Said(i).Fold(), val) {
			return true
		}
	}
	return false
}

// differs reports whether the request asks for something else than the call does. No request asks a read to send.
func (v *view) differs() bool {
	switch v.relation {
	case SignalUnrelated, SignalLookOnly, SignalOtherAction:
		return true
	}
	return !v.p.changes || onlyAsks(v.own)
}

// hasRead reports whether anything was read in this turn or an earlier one.
func (v *view) hasRead() bool {
	return v.c.Trace().LearntSomething() || v.c.Trace().HasPastResults() || len(v.c.Trace().Earlier()) > 0
}

// onlyLooks reports whether the request asks to see something, or only asks, and has no word for a change.
func (v *view) onlyLooks() bool {
	r := v.askedIn()
	return r == nil || onlyAsks(v.own) || r.says&anyChange == 0 && r.says&looks != 0
}

// onlyAsks reports whether each sentence of a text begins as a question does, and none is a polite command.
func onlyAsks(t *text) bool {
	some := false
	for _, s := range splitSentences(t.fold) {
		words := splitTokens(s)
		switch {
		case len(words) == 0:
		case isPolite(words) || !asking[words[0].word] && !questionHeads[words[0].word] && !questionWords[words[0].word]:
			return false
		default:
			some = true
		}
	}
	return some
}

// isPlainlyAsked reports whether the request has a word for what the call does.
func (v *view) isPlainlyAsked() bool {
	r := v.askedIn()
	return r != nil && (r.says|r.verbsAsked())&v.p.needs != 0
}
