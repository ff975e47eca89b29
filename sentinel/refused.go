package sentinel

import (
	"slices"

	"github.com/vedette-dev/vedette/skills"
)

// MaxRefusals is how many refusals a Trace holds: the newest.
const MaxRefusals = 32

// PastRefusal is a call that a Desk refused for what it was: part of a Trace. It
// holds no argument (those the Trace keeps for itself), and taints nothing, for nothing came back.
type PastRefusal struct {
	Skill string
	// Digest is the refused call's own; empty where it was refused before a
	// restart.
	Digest string
	// Gate and Code say who refused it and why.
	Gate, Code string
}

// Refusals returns what was refused so far, oldest first, MaxRefusals at most.
func (t Trace) Refusals() []PastRefusal { return slices.Clone(t.refused) }

// WithRefusal returns a Trace with one more refusal; beyond MaxRefusals the
// oldest are dropped.
func (t Trace) WithRefusal(r PastRefusal) Trace {
	from := max(0, len(t.refused)+1-MaxRefusals)
	t.refused = append(slices.Clone(t.refused[from:]), r)
	return t
}

// RefusedBefore reports whether any call of the skill was refused.
func (t Trace) RefusedBefore(skill string) bool {
	return slices.ContainsFunc(t.refused, func(r PastRefusal) bool { return r.Skill == skill })
}

// aboutTheCall are the gates that refuse a call for what it is. Limits refuse
// any, and a schema's refusal is an invitation to correct the arguments.
var aboutTheCall = map[string]bool{
	GateScope: true, GatePermission: true, GateGuard: true, GateJudge: true, GateReview: true, GateApproval: true,
}

// noAnswer are the codes of questions that no person answered.
var noAnswer = map[string]bool{
	CodeApprovalExpired: true, CodeApprovalCanceled: true, CodeApprovalNobody: true, CodeApprovalUnbindable: true,
	CodePendingFull: true,
}

// refused adds a decision to the trace, where it speaks against the call.
func (d *Desk) refused(c Call, dec Decision) {
	d.try(c.Args())
	v, ok := dec.Verdict(dec.BlockedBy)
	if !ok || !speaksAgainst(v) {
		return
	}
	d.addRefusal(PastRefusal{Skill: c.Name(), Digest: c.Digest(), Gate: dec.BlockedBy, Code: dec.Code})
}

// speaksAgainst reports whether a verdict that blocks a call says something of it.
func speaksAgainst(v Verdict) bool {
	return v.State == Judged && v.Outcome != Defer && aboutTheCall[v.Gate] && !noAnswer[v.Code]
}

// refusedThen adds what was refused before a restart, as far as it was kept:
// the ledger holds a keyed digest, which compares with none.
func (d *Desk) refusedThen(p Past) {
	no := p.Refusal
	if _, ran := p.step(); !ran {
		d.try(p.Args)
	}
	if no == nil || p.Skill == "" || no.Kind == skills.KindDefer || !aboutTheCall[no.Gate] || noAnswer[no.Code] {
		return
	}
	d.addRefusal(PastRefusal{Skill: p.Skill, Gate: no.Gate, Code: no.Code})
}

func (d *Desk) addRefusal(r PastRefusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trace = d.trace.WithRefusal(r)
}
