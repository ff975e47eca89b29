package judge

import (
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// findRelation says how a change has to do with what the user asked for. One of
// its signals holds at most. Of the arguments it looks at required targets alone: see namesRecords.
func findRelation(v *view) (sentinel.Evidence, bool) {
	none := sentinel.Evidence{}
	r := v.askedIn()
	if r == nil || !r.known || !v.p.changes || v.p.delegation {
		return none, false
	}
	says := r.says
	if v.mission != nil {
		says |= v.mission.says
	}
	plain := v.p.needs == 0 // nothing is known of what it does
	action := plain || says&v.p.needs != 0
	looking := says&anyChange == 0 && says&looks != 0 && (!plain || v.isHeavy())
	topic := v.p.isBlank() || v.p.isSpokenIn(r)
	// A mission is a model's word: of a request that says what it is about, it
	// is no ground for a removal of something else.
	if !topic && (r.concepts == 0 || v.p.needs&removes == 0 || v.s.Effect() != skills.Irreversible) {
		topic = v.p.isSpokenIn(v.mission)
	}
	// "Send it to her" says what to do, and the request before it what to do that to.
	topic = topic || r.concepts == 0 && v.p.isSpokenIn(v.last)
	// Nor is there a field to compare in "push it back": the action says all that is said.
	topic = topic || action && !looking && !v.c.Tainted() && r.namesNoField()
	topic = topic || action && !looking && namesRecords(v)
	// What somebody applied for may be of any field: "approve the two from my team".
	topic = topic || plain && says&anyChange == decides
	switch {
	case !topic && (!action || looking):
		return sentinel.Evidence{Signal: SignalUnrelated, Amount: amountUnrelated}, true
	case looking:
		return sentinel.Evidence{Signal: SignalLookOnly, Amount: amountLookOnly}, true
	case !action:
		return sentinel.Evidence{Signal: SignalOtherAction, Amount: amountOtherAction}, true
	case !topic:
		return sentinel.Evidence{Signal: SignalOtherTopic, Amount: amountOtherTopic}, true
	}
	return none, false
}

// findUnreadable looks for a grave change where the request is in no language that is known,
// or reaches others after a stranger's text was read. Then only a person or a model can tell
// which of the two asked for it.
func findUnreadable(v *view) finding {
	if !lacksWords(v) || v.request.readable {
		return finding{}
	}
	return finding{found: isGrave(v) || v.isOutgoing() && v.c.Tainted()}
}

// findWordless looks for a grave change where the request's language is known and no word of
// it that says what is to be done.
func findWordless(v *view) finding {
	return finding{found: v.c.Tainted() && v.request != nil && v.request.readable && lacksWords(v) && isGrave(v)}
}

// lacksWords reports whether the request has no word that is known for what the call changes.
func lacksWords(v *view) bool {
	r := v.request
	if r == nil || r.known || !v.p.changes || v.p.delegation || strings.TrimSpace(r.fold) == "" {
		return false
	}
	needs := v.p.needs
	// What a shell or a database is given to run is what it does: people ask for that, and not to run.
	if needs == runs && !v.c.Tainted() {
		return false
	}
	if v.s.Effect() == skills.CostsMoney {
		needs |= pays
	}
	return r.verbsAsked()&needs == 0
}

// isGrave reports whether a change can't be taken back, pays, opens, lets in or goes on
// working by itself. Private data that was changed with no stranger about can be changed back.
func isGrave(v *view) bool {
	return isAny(splitName(v.c.Name()), standingNames) || v.isFinal() ||
		v.s.Effect() == skills.Modify && v.p.needs&(removes|letsIn) != 0 || v.p.private != nil && v.c.Tainted()
}

// standingNames are of skills whose change goes on working by itself.
var standingNames = wordSet("rule rules filter filters forwarding webhook hook token key keys password")
