package judge

import (
	"math"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// A value that no one who may be believed wrote in this turn is a verdict, unless its place
// explains it: then it costs the same and is in doubt. No explanation grounds a value.

// The signals of values whose place explains them.
const (
	// signalEarlier ends the signals of values that a trusted record of an earlier turn has, and
	// of places that the agent read in then.
	signalEarlier = "_earlier"
	// earlierRecipient is that of who is reached.
	earlierRecipient = "recipient" + signalEarlier
	// signalAuthor is of somebody who wrote what the agent read, and whom no text names.
	signalAuthor = "recipient_author"
	// signalFolder is of a folder of a mailbox that a result names, and into which mail is put.
	signalFolder = "ref_folder"
	// signalCalled is of a channel that is nowhere, and that the user called by a word of its name.
	signalCalled = "recipient_called"
	// signalAssigned is of who is to do something inside of the house, and whom a listing names.
	signalAssigned = "recipient_assigned"
)

// explainOrigin returns the signal of an ungrounded value whose place explains it, or "". What
// speaks to a model explains nothing.
func explainOrigin(v *view, val value, o origin) string {
	if v.request == nil || val.exact != "" || val.isRouted() || val.kind == host || val.kind == readHost || v.isOrdered(val) {
		return ""
	}
	if val.kind == amount && o != outside { // it is in doubt anyhow
		return ""
	}
	switch {
	case isListedEarlier(v, val), val.kind == recipient && o != outside && isVisitedEarlier(v, val):
		return family[val.kind] + signalEarlier
	case val.kind == recipient && (o == outside || (o == namedOut || o == halfOut) && !isRivalled(v, val)) && isAuthor(v, val):
		return signalAuthor
	case val.kind == reference && o == outside && isMailFolder(v, val):
		return signalFolder
	case val.kind == recipient && (o == nowhere || o == unknown) && isOwnPlace(v, val):
		return signalOwn
	case val.kind == recipient && (o == nowhere || o == unknown) && isWrittenOtherwise(v, val):
		return signalCalled
	case val.kind == recipient && (o == nowhere || o == unknown) && isOutwardThing(v, val):
		return signalThing
	case val.kind == recipient && (o == nowhere || o == unknown) && (isCalledChannel(v, val) || isCalledPerson(v, val)):
		return signalCalled
	case val.kind == recipient && o == outside && isAssigned(v, val):
		return signalAssigned
	}
	return ""
}

// isListedEarlier reports whether a trusted record of an earlier turn has a value by itself.
func isListedEarlier(v *view, val value) bool {
	if val.kind == amount && math.IsInf(val.amount, 0) {
		return false
	}
	fits := func(s *sentinel.Said) bool { return holdsValue(s.Fold(), val) }
	return v.c.Trace().ListedEarlier(val.fold, fits, func(result string) bool {
		found := hasEntryLine(result, val) || movesBetweenOwn(v) && isAccountLine(result, val)
		eachObject(result, func(o object) { found = found || o.lists(val) })
		return found
	})
}

// lists reports whether one of an object's fields is the value and no more than that.
func (o object) lists(val value) bool {
	if val.kind == recipient && o.isGuest() {
		return false
	}
	return slices.ContainsFunc(o.fields, func(f field) bool { return f.isJust(val) })
}

// proseKeys are fields in which others write what they like, a payer's reference among them.
var proseKeys = wordSet(`title subject note notes comment comments description text body message summary reference ref memo location
	snippet preview content betreff oggetto asunto objet onderwerp tytul tytuł verwendungszweck causale concepto titel notiz`)

func (f field) isJust(val value) bool {
	tail := lastWord(splitName(f.key))
	text := foldText(strings.TrimSpace(f.text))
	if val.kind == amount {
		n, ok := parseNumber(strings.TrimPrefix(text, "-"))
		return ok && !isAny(tail, proseKeys) && n == val.amount
	}
	if isAny(tail, proseKeys) {
		return false
	}
	if isAny(tail, entryNames) && (val.kind == recipient || val.kind == account) && (strings.Contains(val.fold, "@") || hasDigit(val.fold)) {
		return false // people choose what they are called
	}
	if text == val.fold {
		return true
	}
	c := dropGrouping(val.fold)
	return val.kind >= account && len(c) >= minAccount && hasDigit(c) && dropGrouping(text) == c
}

// isVisitedEarlier reports whether a recipient is a place that the agent read in an earlier turn,
// and that no result names: see findVisit. A payment goes to no place.
func isVisitedEarlier(v *view, val value) bool {
	if strings.Contains(val.fold, "://") || isEmail(val.fold) || namesDomain(val.fold) || v.s.Effect() == skills.CostsMoney ||
		v.p.needs&pays != 0 {
		return false
	}
	name := lastWord(v.splitArgName(val.arg))
	for r := range v.c.Trace().PastResults() {
		if isLook(r.Step) && slices.ContainsFunc(readPlaces(r.Args), func(p place) bool { return p.holds(name, val) }) {
			return !v.isStrange(val)
		}
	}
	return false
}

var (
	mailWords   = wordSet("mail email mails emails mailbox inbox")
	folderNames = wordSet("folder folders label labels mailbox")
)

// isMailFolder reports whether a value is where mail is put within a mailbox. It reaches no one.
func isMailFolder(v *view, val value) bool {
	return !v.isFinal() && isAny(splitName(domainOf(v.c.Name())), mailWords) && isAny(lastWord(v.splitArgName(val.arg)), folderNames)
}

// channelNames are arguments that hold where people of one house talk.
var channelNames = wordSet("channel channels room rooms")

// isCalledChannel reports whether a recipient that is nowhere is a channel that the user called by a
// word of its name. No stranger named it, and no one is paid or let in there.
func isCalledChannel(v *view, val value) bool {
	return isAny(lastWord(v.splitArgName(val.arg)), channelNames) && !v.isFinal() && v.p.needs&(pays|letsIn) == 0 && v.isCalled(val)
}

// isAssigned reports whether a recipient is who is to do something: a name of the house, that listings
// of the call's own kind have. Such a call reaches no one, lets no one in, and can be undone.
func isAssigned(v *view, val value) bool {
	if v.isOutgoing() || v.isFinal() || v.p.needs&(pays|letsIn) != 0 || strings.ContainsAny(val.fold, "@:/ ") || v.isPasted(val) ||
		!isAny(lastWord(v.splitArgName(val.arg)), assigneeNames) {
		return false
	}
	for st := range listStrange(v, val) {
		if st.Failed || st.Effect != "" && st.Effect != skills.Read || slices.Contains(st.Marks, sentinel.MarkInstructions) ||
			!isListing(splitName(st.Skill)) || !isOfSameKind(st.Skill, v.c.Name()) {
			return false
		}
	}
	return true
}

// assigneeNames are of arguments that hold who is to do something.
var assigneeNames = wordSet("assignee assignees")
