package skills

// Effect says what a call of a skill does to the world. The zero value is not
// an effect: a Spec without one is refused.
type Effect string

// The five effects, from the mildest to the most consequential.
const (
	Read         Effect = "read"
	Create       Effect = "create"
	Modify       Effect = "modify"
	Irreversible Effect = "irreversible"
	CostsMoney   Effect = "costs_money"
)

// Effects lists every effect in order.
func Effects() []Effect { return []Effect{Read, Create, Modify, Irreversible, CostsMoney} }

// Valid reports whether e is one of the five effects.
func (e Effect) Valid() bool {
	switch e {
	case Read, Create, Modify, Irreversible, CostsMoney:
		return true
	}
	return false
}

// Reach says whose world a call changes: the user's own, or other people's.
type Reach string

// The two reaches. An empty Reach in a Spec is replaced by the default of the
// way it runs: others for http, exec and mcp, self for all else.
const (
	Self   Reach = "self"
	Others Reach = "others"
)

// Trust says whether a text may ground an argument.
type Trust string

// The two kinds of trust. The empty value counts as untrusted everywhere.
const (
	Untrusted Trust = "untrusted"
	Trusted   Trust = "trusted"
)

// Risk says how much harm a call of a skill can do, in its operator's judgement.
type Risk string

// The risks. LowRisk is for skills that read or create: profiles of the review may leave
// their plainest calls to the rules.
const (
	NormalRisk Risk = "normal"
	LowRisk    Risk = "low"
)

// Approval says when a person is asked before a call of the skill runs.
type Approval string

// The approval policies. None of them lifts a denial or an ask of a gate:
// ApproveNever only means that the Spec itself adds no ask.
const (
	ApproveNever  Approval = "never"
	ApprovePolicy Approval = "policy"
	ApproveAlways Approval = "always"
)
