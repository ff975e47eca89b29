package judge

import (
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// findRelation says how a change has to do with what the user asked for. One of
// its signals holds at most. It never looks at an argument.
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
	topic := v.p.isBlank() || v.p.isSpokenIn(r)
	// A mission is a model's word: of a request that says what it is about, it
	// is no ground for a removal of something else.
	if !topic && (r.concepts == 0 || v.p.needs&removes == 0 || v.s.Effect() != skills.Irreversible) {
		topic = v.p.isSpokenIn(v.mission)
	}
	// "Send it to her" says what to do, and the request before it what to do that to.
	topic = topic || r.concepts == 0 && v.p.isSpokenIn(v.last)
	plain := v.p.needs == 0 // nothing is known of what it does
	action := plain || says&v.p.needs != 0
	looking := says&anyChange == 0 && says&looks != 0 && (!plain || v.isHeavy())
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

// findUnreadable looks for a grave change where nothing of the request can be read. Such a
// change can't be taken back, pays, opens or lets in. After a stranger's text was read only a
// person can tell which of the two asked for it. Private data that was changed with no
// stranger about can be changed back.
func findUnreadable(v *view) finding {
	r := v.request
	if r == nil || r.known || !v.p.changes || v.p.delegation || strings.TrimSpace(r.fold) == "" {
		return finding{}
	}
	e := v.s.Effect()
	needs := v.p.needs
	if e == skills.CostsMoney {
		needs |= pays
	}
	if r.verbsAsked()&needs != 0 {
		return finding{}
	}
	return finding{found: isAny(splitName(v.c.Name()), standingNames) || e == skills.Irreversible || e == skills.CostsMoney ||
		e == skills.Modify && v.p.needs&(removes|letsIn) != 0 || v.p.private != nil && v.c.Tainted()}
}

// standingNames are of skills whose change goes on working by itself.
var standingNames = wordSet("rule rules filter filters forwarding webhook hook token key keys password")
