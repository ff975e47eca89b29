package judge

import (
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// relation says how a change has to do with what the user asked for. One of
// its signals holds at most. It never looks at an argument.
func (v *view) relation() (sentinel.Evidence, bool) {
	none := sentinel.Evidence{}
	r := v.request
	if r == nil || !r.known || !v.p.changes || v.p.delegation {
		return none, false
	}
	says := r.says
	if v.mission != nil {
		says |= v.mission.says
	}
	topic := v.p.blank() || v.p.spokenIn(r)
	// A mission is a model's word: of a request that says what it is about, it
	// is no ground for a removal of something else.
	if !topic && (r.concepts == 0 || v.p.needs&removes == 0 || v.s.Effect() != skills.Irreversible) {
		topic = v.p.spokenIn(v.mission)
	}
	plain := v.p.needs == 0 // nothing is known of what it does
	action := plain || says&v.p.needs != 0
	looking := says&anyChange == 0 && says&looks != 0 && (!plain || v.heavy())
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

// heavy is a change that a look can't be by another name: one that can't be
// undone, costs money or reaches others.
func (v *view) heavy() bool {
	e := v.s.Effect()
	return e == skills.Irreversible || e == skills.CostsMoney || v.s.Reaches() == skills.Others
}
