package sentinel

import (
	"slices"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/internal/textcut"
)

// Decision is the combined outcome of one Call with the verdict of every gate,
// also of those that were skipped or not reached. Its zero value denies.
type Decision struct {
	ID     string
	CallID string
	Digest string
	At     time.Time
	// Policy is the digest of the configuration whose gates gave the verdicts: see Policy.
	Policy  string
	Outcome Outcome
	// BlockedBy is the first gate in order whose outcome is the decision's;
	// empty when allowed. GateParse for a proposal that became no Call.
	BlockedBy string
	Code      string
	Reason    string
	// Degraded is set where a gate allowed because its model, or the store of
	// the limits, was down.
	Degraded bool
	// Modified is set where rules rewrote the call; CallID and Digest are
	// then those of the rewritten call, the one that was judged.
	Modified *Modified
	// Verdicts holds one verdict a gate, in the gates' order.
	Verdicts []Verdict
	// Bound is what the call's paths led to and held when a person was asked.
	Bound []Bound
	// Asked is when a person was first asked, and Expires when the question
	// ends; both stay the same over restarts. Zero where no person was asked.
	Asked, Expires time.Time
	// Answered is when a person answered; At is the same time then.
	Answered time.Time
	// Approver is who answered and Via how, in the approver's own words.
	Approver, Via string
	Elapsed       time.Duration

	abandoned bool      // its caller left before it could be allowed
	reportBy  time.Time // until when its caller may report what became of it
}

// settle combines the verdicts: the least outcome wins, after doubts that no model has
// judged were counted. A decision that no gate took part in denies, and so does one on a
// proposal that is no call. It writes to Verdicts, which must be the decision's own.
func (d *Decision) settle() {
	if d.BlockedBy == GateParse {
		d.Outcome = Deny
		return
	}
	d.countDoubts()
	d.Outcome, d.BlockedBy, d.Code, d.Reason, d.Degraded = Deny, "", "", "", false
	seen := false
	for i := range d.Verdicts { // a verdict is too large to be copied for a look at it
		v := &d.Verdicts[i]
		if !v.Counts() {
			continue
		}
		if o := v.weight(); !seen || o < d.Outcome {
			d.Outcome = o
		}
		seen = true
		d.Degraded = d.Degraded || v.Degraded
	}
	if d.Outcome == Allow && seen {
		return
	}
	for i := range d.Verdicts {
		if v := &d.Verdicts[i]; v.Counts() && v.weight() == d.Outcome {
			d.BlockedBy, d.Code, d.Reason = v.Gate, v.Code, v.Reason
			return
		}
	}
	d.Code, d.Reason = "checkpoint.no_gate", "no gate judged the call"
}

// weight is the outcome of a verdict that counts: a failed one denies, whatever
// else it says.
func (v Verdict) weight() Outcome {
	if v.State == Failed {
		return Deny
	}
	return v.Outcome
}

// putVerdict stores a gate's verdict and combines all of them again. It writes to an
// array of its own: observers and approvers keep the one that they were handed.
func (d *Decision) putVerdict(v Verdict) {
	d.Verdicts = slices.Clone(d.Verdicts)
	d.placeVerdict(v)
	d.settle()
}

// placeVerdict stores a verdict in an array that nothing else holds yet.
func (d *Decision) placeVerdict(v Verdict) {
	for i := range d.Verdicts {
		if d.Verdicts[i].Gate == v.Gate {
			d.Verdicts[i] = v
			return
		}
	}
}

// putAnswer stores what a person said, and raises the outcome where that was yes.
func (d *Decision) putAnswer(v Verdict) {
	d.putVerdict(v)
	if d.canRaise() {
		d.Outcome, d.BlockedBy, d.Code, d.Reason = Allow, "", "", ""
	}
}

// canRaise reports whether a person's yes turns the decision from Ask to Allow:
// the only way for an outcome to rise. No verdict that counts may deny or defer.
func (d *Decision) canRaise() bool {
	yes, _ := d.Verdict(GateApproval)
	if d.Outcome != Ask || yes.State != Judged || yes.Outcome != Allow {
		return false
	}
	return !slices.ContainsFunc(d.Verdicts, func(v Verdict) bool { return v.Counts() && v.weight() < Ask })
}

// denyBy turns the verdict of a gate that is in the decision into a denial, after the gates
// have spoken. A gate that isn't there changes nothing.
func (d *Decision) denyBy(gate, code, reason string) {
	v, _ := d.Verdict(gate)
	v.Gate, v.State, v.Outcome, v.Code, v.Reason = gate, Judged, Deny, code, reason
	d.putVerdict(v)
}

// verdictOf returns the verdict of a gate, nil where there is none. A verdict is too large to be
// copied for a look at it.
func (d *Decision) verdictOf(gate string) *Verdict {
	for i := range d.Verdicts {
		if d.Verdicts[i].Gate == gate {
			return &d.Verdicts[i]
		}
	}
	return nil
}

// Verdict returns the verdict of the gate of that name.
func (d Decision) Verdict(gate string) (Verdict, bool) {
	if v := d.verdictOf(gate); v != nil {
		return *v, true
	}
	return Verdict{}, false
}

// Explanation is the reason with the free text behind it, for the agent and
// for people who may see values. It belongs in no log.
func (d Decision) Explanation() string {
	if v, ok := d.Verdict(d.BlockedBy); ok && v.Detail != "" {
		if d.Reason == "" {
			return v.Detail
		}
		return d.Reason + ": " + v.Detail
	}
	return d.Reason
}

// GateLine is one gate in a decision as check prints it.
type GateLine struct {
	Gate      string   `json:"gate"`
	Outcome   string   `json:"outcome"`
	Code      string   `json:"code"`
	Score     *float64 `json:"score"`
	ElapsedUS int64    `json:"elapsed_us"`
}

// Who judged a call, as check tells it.
const (
	JudgeRules = "rule-based-v1" // the rules alone
	JudgeModel = "llm-v1"        // a model of the review too
)

// judgeKind names who judged.
func (d Decision) judgeKind() string {
	if v, ok := d.Verdict(GateReview); ok && v.State == Judged && v.Meta["model"] != "" && v.Meta["failure"] == "" {
		return JudgeModel
	}
	return JudgeRules
}

// Line is a decision as check prints it: one JSON object a line.
type Line struct {
	ID        string     `json:"id"`
	Decision  string     `json:"decision"`
	BlockedBy *string    `json:"blocked_by"`
	Code      string     `json:"code"`
	Reason    string     `json:"reason"`
	Degraded  bool       `json:"degraded"`
	Digest    *string    `json:"digest"`
	ElapsedUS int64      `json:"elapsed_us"`
	Gates     []GateLine `json:"gates"`
	// TS is when the call was decided, in UTC; it is null for a decision that was
	// read back. JudgeKind says who gave the graded judgement: JudgeRules or
	// JudgeModel.
	TS        *time.Time `json:"ts"`
	JudgeKind string     `json:"judge_kind"`
	// Doubts is what the rules could not tell, and what became of it.
	Doubts []DoubtLine `json:"doubts"`
	// Modified is there only where rules rewrote the call.
	Modified *ModifiedLine `json:"modified,omitempty"`
}

// DoubtLine is one doubt in a Line: a signal of the judge, what it takes from the score in
// hundredths, the arguments that it was seen in, and whether it counted or was spent.
type DoubtLine struct {
	Signal string     `json:"signal"`
	Amount int        `json:"amount"`
	Args   []string   `json:"args,omitempty"`
	State  DoubtState `json:"state"`
}

// listDoubts returns the doubts of the decision. A doubt is open where a gate had
// denied before the review.
func (d Decision) listDoubts() []DoubtLine {
	out := []DoubtLine{}
	for _, v := range d.Verdicts {
		for _, e := range v.Doubts() {
			l := DoubtLine{Signal: e.Signal, Amount: e.Amount, Args: e.Args}
			if v.Doubt != nil {
				l.State = v.Doubt.State
			}
			out = append(out, l)
		}
	}
	return out
}

// ModifiedLine says in a Line which rules changed which arguments, and the
// digest of the call as it was proposed.
type ModifiedLine struct {
	Digest string   `json:"digest"`
	Rules  []string `json:"rules"`
	Args   []string `json:"args"`
}

// Line returns the decision in the form of the check contract, under the id of
// the caller's own line.
func (d Decision) Line(id string) Line {
	l := Line{
		ID: id, Decision: d.Outcome.String(), Code: d.Code, Reason: d.Explanation(), Degraded: d.Degraded,
		ElapsedUS: d.Elapsed.Microseconds(), Gates: make([]GateLine, 0, len(d.Verdicts)), JudgeKind: d.judgeKind(),
	}
	if !d.At.IsZero() {
		at := d.At.UTC()
		l.TS = &at
	}
	if d.BlockedBy != "" {
		l.BlockedBy = &d.BlockedBy
	}
	if d.Digest != "" {
		l.Digest = &d.Digest
	}
	if m := d.Modified; m != nil {
		l.Modified = &ModifiedLine{m.Digest, m.Rules, append([]string{}, m.Args...)}
	}
	l.Doubts = d.listDoubts()
	for _, v := range d.Verdicts {
		g := GateLine{Gate: v.Gate, Outcome: v.Word(), Code: v.Code, ElapsedUS: v.Elapsed.Microseconds()}
		if v.HasScore {
			s := float64(v.Score) / 100
			g.Score = &s
		}
		l.Gates = append(l.Gates, g)
	}
	return l
}

// Refused returns the decision on a proposal that never became a Call: denied
// by GateParse, no gate reached.
func Refused(callID string, err *CallError, at time.Time) Decision {
	d := Decision{
		ID: ids.New(), CallID: callID, At: at, BlockedBy: GateParse, Code: err.Code, Reason: err.Reason,
	}
	for _, n := range GateNames() {
		d.Verdicts = append(d.Verdicts, Verdict{Gate: n, State: NotReached})
	}
	return d
}

// recordedVerdict is a verdict as the ledger holds it: no Detail.
type recordedVerdict struct {
	Gate      string            `json:"gate"`
	State     State             `json:"state"`
	Outcome   string            `json:"outcome"`
	Code      string            `json:"code,omitempty"`
	Score     *int              `json:"score,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	Evidence  []Evidence        `json:"evidence,omitempty"`
	Doubt     *recordedDoubt    `json:"doubt,omitempty"`
	Degraded  bool              `json:"degraded,omitempty"`
	Meta      map[string]string `json:"meta,omitempty"`
	ElapsedUS int64             `json:"elapsed_us"`
}

func recordVerdicts(vs []Verdict) []recordedVerdict {
	out := make([]recordedVerdict, len(vs))
	for i, v := range vs {
		out[i] = recordedVerdict{
			Gate: v.Gate, State: v.State, Outcome: v.Word(), Code: v.Code, Reason: v.Reason, Evidence: v.Evidence,
			Doubt: recordDoubt(v.Doubt), Degraded: v.Degraded, Meta: v.Meta, ElapsedUS: v.Elapsed.Microseconds(),
		}
		if v.HasScore {
			out[i].Score = &v.Score
		}
	}
	return out
}

// collectDetails collects the free text of the verdicts: sealed, never in the ledger.
func collectDetails(vs []Verdict) []byte {
	m := map[string]string{}
	for _, v := range vs {
		if v.Detail != "" {
			m[v.Gate] = v.Detail
		}
	}
	if len(m) == 0 {
		return nil
	}
	return encodeJSON(m)
}

// personRefused reports whether a person said no: the word stands whatever
// became of the caller.
func (d *Decision) personRefused() bool {
	v, _ := d.Verdict(GateApproval)
	return v.State == Judged && v.Outcome == Deny
}

// creditApprover takes down who answered a decision, how and when.
func (d *Decision) creditApprover(v Verdict, now time.Time) {
	d.At = now
	switch v.Code {
	case CodeApprovalNobody, CodeApprovalExpired, CodeApprovalCanceled, CodeApprovalUnbindable:
		return // no person answered
	}
	d.Answered, d.Approver, d.Via = now, textcut.Head(v.Meta["by"], maxWho), textcut.Head(v.Meta["via"], maxWho)
}

// maxWho is the greatest length in bytes of an approver's name on record.
const maxWho = 128

// closeQuestion gives the decision the verdict v, which follows from a person's answer.
func (d *Decision) closeQuestion(v, answer Verdict, at time.Time) {
	d.putAnswer(v)
	d.creditApprover(answer, at)
}
