package sentinel

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A decision in which no gate took part denies.
func TestSettleWithoutGatesDenies(t *testing.T) {
	for _, vs := range [][]Verdict{nil,
		{{Gate: GateScope, State: Skipped, Outcome: Allow}, {Gate: GateReview, State: Shadow, Outcome: Allow},
			{Gate: GateJudge, Outcome: Allow}}} {
		d := Decision{Outcome: Allow, Verdicts: vs}
		d.settle()
		require.Equal(t, Deny, d.Outcome)
		require.Equal(t, "checkpoint.no_gate", d.Code)
	}
}

// drawVerdict is any verdict that a gate can have, also those that none should give.
func drawVerdict(t *rapid.T, gate string) Verdict {
	return Verdict{
		Gate: gate, State: State(rapid.IntRange(0, 4).Draw(t, "state")), Outcome: Outcome(rapid.IntRange(0, 3).Draw(t, "outcome")),
		Code: gate + ".code", Degraded: rapid.Bool().Draw(t, "degraded"),
	}
}

// counted reports whether a verdict that counts has the outcome.
func counted(d Decision, o Outcome) bool {
	for _, v := range d.Verdicts {
		if v.Counts() && v.weight() == o {
			return true
		}
	}
	return false
}

// Whatever is put, answered and denied in whatever order: no decision allows
// while a counted verdict denies or defers, and one that lets an Ask pass has a
// person's yes in it. A failed verdict denies whatever its outcome says.
func TestCountedDenyAlwaysWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Decision{}
		for _, n := range GateNames() {
			d.Verdicts = append(d.Verdicts, drawVerdict(t, n))
		}
		d.settle()
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			gate := rapid.SampledFrom(GateNames()).Draw(t, "gate")
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				d.putVerdict(drawVerdict(t, gate))
			case 2:
				d.putAnswer(drawVerdict(t, GateApproval))
			case 3:
				d.denyBy(gate, gate+".no", "no")
			}
			if d.Outcome == Allow {
				require.False(t, counted(d, Deny) || counted(d, Defer), "%+v", d.Verdicts)
				yes, _ := d.Verdict(GateApproval)
				require.True(t, !counted(d, Ask) || yes.State == Judged && yes.Outcome == Allow, "%+v", d.Verdicts)
				require.Empty(t, d.BlockedBy)
				continue
			}
			v, found := d.Verdict(d.BlockedBy)
			require.True(t, !found || v.Counts() && v.weight() == d.Outcome, "%+v", d)
		}
	})
}

// A person's yes lifts Ask alone: a decision that is denied or put off stays so.
func TestAnYesLiftsAskAlone(t *testing.T) {
	for _, first := range []Outcome{Deny, Defer, Ask, Allow} {
		d := Decision{Verdicts: []Verdict{{Gate: GateGuard, State: Judged, Outcome: first}, {Gate: GateJudge, State: Judged, Outcome: Ask},
			{Gate: GateApproval}}}
		d.settle()
		d.putAnswer(Verdict{Gate: GateApproval, State: Judged, Outcome: Allow})
		want := first
		if first >= Ask {
			want = Allow
		}
		require.Equal(t, want, d.Outcome)
		d.putVerdict(Verdict{Gate: GateLimits, State: Judged, Outcome: Deny}) // no such gate is in it: nothing changes for the better
		require.LessOrEqual(t, d.Outcome, want)
	}
}

// What was handed out is never written again, and a proposal that became no call
// stays denied whatever is put into its decision.
func TestPutWritesToAnArrayOfItsOwn(t *testing.T) {
	d := Refused("c", &CallError{Code: CodeNoSkill}, Grant{}.Deadline())
	handed := d
	d.putVerdict(Pass())
	for i := range handed.Verdicts {
		d.putVerdict(Verdict{Gate: handed.Verdicts[i].Gate, State: Judged, Outcome: Allow, Code: "x"})
		require.Equal(t, NotReached, handed.Verdicts[i].State)
	}
	require.Equal(t, Deny, d.Outcome)
	require.Equal(t, GateParse, d.BlockedBy)
}

// A gate that failed denies, whatever outcome stands beside that.
func TestAFailedGateDenies(t *testing.T) {
	for _, o := range []Outcome{Deny, Defer, Ask, Allow} {
		d := Decision{Verdicts: []Verdict{
			{Gate: GateSchema, State: Judged, Outcome: Allow},
			{Gate: GateJudge, State: Failed, Outcome: o, Code: "judge.error"},
		}}
		d.settle()
		require.Equal(t, Deny, d.Outcome)
		require.Equal(t, []string{GateJudge, "judge.error"}, []string{d.BlockedBy, d.Code})
	}
}

// What became of a doubt stays so, whatever a later verdict of the review is: it neither
// counts twice nor is spent after it counted.
func TestDoubtIsClosedOnce(t *testing.T) {
	v := Pass()
	v.Gate, v.Evidence = GateJudge, []Evidence{{Signal: "s", Amount: -1, Doubt: true}}
	v.Doubt = &Doubt{Outcome: Ask, Code: "judge.doubt"}
	no := Verdict{Gate: GateReview, State: Skipped}
	yes := Pass()
	yes.Gate, yes.SpentDoubts = GateReview, DoubtsKey(v.Evidence)
	for name, c := range map[string]struct {
		first, then Verdict
		want        Outcome
		state       DoubtState
	}{
		"counted": {no, yes, Ask, DoubtCounted},
		"spent":   {yes, no, Allow, DoubtSpent},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decision{Verdicts: []Verdict{v, c.first}}
			d.settle()
			d.putVerdict(c.then)
			d.settle()
			got, _ := d.Verdict(GateJudge)
			require.Equal(t, c.state, got.Doubt.State)
			require.Equal(t, c.want, d.Outcome)
			require.Equal(t, DoubtOpen, v.Doubt.State, "the gate's own verdict is left as it was")
		})
	}
}

// A call's deviation is what the review's score lacks, or else the judge's; a gate that couldn't tell says nothing of it.
func TestDeviation(t *testing.T) {
	judge := Verdict{Gate: GateJudge, State: Judged, Outcome: Allow, Score: 70, HasScore: true}
	for name, c := range map[string]struct {
		verdicts []Verdict
		want     int // -1 for none
	}{
		"judge alone":      {[]Verdict{judge}, 30},
		"review":           {[]Verdict{judge, {Gate: GateReview, State: Judged, Outcome: Allow, Score: 90, HasScore: true}}, 10},
		"no score":         {[]Verdict{judge, {Gate: GateReview, State: Judged, Outcome: Deny}}, 100},
		"approved":         {[]Verdict{judge, {Gate: GateReview, State: Judged, Outcome: Allow}}, 30},
		"model was down":   {[]Verdict{judge, {Gate: GateReview, State: Judged, Outcome: Deny, Degraded: true}}, 30},
		"review failed":    {[]Verdict{{Gate: GateReview, State: Failed, Outcome: Deny}}, -1},
		"outside of grant": {[]Verdict{{Gate: GateScope, State: Judged, Outcome: Deny, Code: "scope.not_granted"}, judge}, 100},
		"malformed":        {[]Verdict{{Gate: GateSchema, State: Judged, Outcome: Deny, Code: "schema.invalid"}}, -1},
		"nothing":          {nil, -1},
	} {
		d := Decision{Verdicts: c.verdicts}
		d.settle()
		got := measureDeviation(d)
		if c.want < 0 {
			require.Nil(t, got, name)
			continue
		}
		require.NotNil(t, got, name)
		require.Equal(t, c.want, *got, name)
	}
}
