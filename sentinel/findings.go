package sentinel

import "slices"

// Findings are what the judge said of a call: codes, numbers, and names of
// signals and of declared arguments. They hold no free text and no value.
type Findings struct {
	Outcome Outcome
	// Code is empty for a plain allow.
	Code string
	// Score is in hundredths; only HasScore makes it count.
	Score    int
	HasScore bool
	Signals  []Evidence
	// Held is set where a gate before the review asks a person.
	Held bool
}

// Findings returns what the judge found, for the gate that comes after it. ok
// is false before the judge has judged, and where it is switched off. They
// follow from the call and are no part of its digest.
func (c Call) Findings() (f Findings, ok bool) {
	if c.findings == nil {
		return Findings{}, false
	}
	return c.findings.clone(), true
}

func (f Findings) clone() Findings {
	f.Signals = slices.Clone(f.Signals)
	for i := range f.Signals {
		f.Signals[i].Args = slices.Clone(f.Signals[i].Args)
	}
	return f
}

// withFindings returns the call as the review is shown it: with what the judge found, and
// with the doubts of the scope gate. Where no judge has judged there are none.
func (c Call) withFindings(verdicts []Verdict) Call {
	var others []Evidence
	held := false
	for _, v := range verdicts {
		held = held || v.Counts() && v.weight() < Allow
		if v.Gate == GateJudge && v.State == Judged {
			f := Findings{Outcome: v.Outcome, Code: v.Code, Score: v.Score, HasScore: v.HasScore, Signals: v.Evidence}.clone()
			c.findings = &f
		} else if v.State == Judged {
			others = append(others, v.Doubts()...)
		}
	}
	if c.findings != nil {
		c.findings.Signals = append(c.findings.Signals, others...)
		c.findings.Held = held
	}
	return c
}
