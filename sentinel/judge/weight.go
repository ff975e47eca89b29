package judge

import (
	"github.com/vedette-dev/vedette/sentinel"
)

// weight says what a signal does to the outcome. Every signal has one, from this closed
// list.
type weight uint8

const (
	// hard signals make up the verdict.
	hard weight = iota
	// doubtful signals are what rules can't tell and a reader could. They make up the doubt.
	doubtful
	// doubtfulUntainted signals are hard in a branch that read strangers' text, and
	// doubtful in any other.
	doubtfulUntainted
	// doubtfulDelegated signals are the same, and doubtful too where the user hands over
	// somebody's list and the call can be undone and costs nothing.
	doubtfulDelegated
	// offsetting signals raise, and make up for doubts alone.
	offsetting
)

// weights is the closed list of the signals that aren't hard. TestWeights holds it.
var weights = map[string]weight{
	SignalOtherTopic:     doubtful,
	SignalOtherAction:    doubtful,
	SignalUnrelated:      doubtfulUntainted,
	SignalLookOnly:       doubtfulDelegated,
	"amount_unknown":     doubtful,
	"amount_nowhere":     doubtful,
	SignalUnasked:        doubtful,
	SignalWordless:       doubtful,
	signalListed:         doubtful,
	"recipient_listed":   doubtful,
	"recipient_visited":  doubtful,
	"recipient_earlier":  doubtful,
	"ref_earlier":        doubtful,
	"target_earlier":     doubtful,
	"amount_earlier":     doubtful,
	signalAuthor:         doubtful,
	signalFolder:         doubtful,
	SignalAskedStore:     doubtful,
	SignalRival:          doubtful,
	SignalRepeated:       doubtful,
	SignalSpentOverLimit: doubtful,
	SignalUnreadable:     doubtfulUntainted,
	SignalIntentMention:  offsetting,
	SignalHabit:          offsetting,
}

// Outcomes returns what evidence comes to under two thresholds in hundredths: as a verdict,
// and where its doubts count. It is for views of a verdict; Check gives verdicts.
func Outcomes(evidence []sentinel.Evidence, threshold, askBelow int) (verdict, counted sentinel.Outcome) {
	s := addUp(evidence)
	verdict = outcomeAt(s.hard, threshold, askBelow)
	return verdict, min(verdict, s.doubtOutcome(threshold, askBelow))
}

// littleMore is what SignalAmountExceeds takes where fees, rounding or arithmetic may
// explain it. That much is in doubt, and more is not.
const littleMore = -10

// isDoubt reports whether evidence about a call is in doubt. handedOver says that the user
// handed over somebody's list that may hold the call.
func isDoubt(e sentinel.Evidence, tainted, handedOver bool) bool {
	if e.Signal == SignalAmountExceeds {
		return e.Amount >= littleMore
	}
	switch weights[e.Signal] {
	case doubtful:
		return true
	case doubtfulUntainted:
		return !tainted
	case doubtfulDelegated:
		return !tainted || handedOver
	case hard, offsetting:
	}
	return false
}

// sum is what the evidence about a call adds up to.
type sum struct {
	evidence []sentinel.Evidence
	hard     int // Base with the hard signals alone
	total    int // Base with every signal; it may be below zero
	doubts   int // how many signals are in doubt
}

func addUp(evidence []sentinel.Evidence) sum {
	s := sum{evidence: evidence, hard: Base, total: Base}
	for _, e := range evidence {
		s.total += e.Amount
		switch {
		case e.Doubt:
			s.doubts++
		case weights[e.Signal] != offsetting:
			s.hard += e.Amount
		}
	}
	return s
}

// farBelow is how far below the threshold doubts must take a score to deny by themselves.
const farBelow = 15

// doubtOutcome is what all signals come to: Allow where none is in doubt.
func (s sum) doubtOutcome(threshold, askBelow int) sentinel.Outcome {
	switch {
	case s.doubts == 0:
	case threshold > 0 && s.total < threshold-farBelow:
		return sentinel.Deny
	case clampScore(s.total) < max(askBelow, threshold):
		return sentinel.Ask
	}
	return sentinel.Allow
}

// weighDoubt returns the doubt of a verdict, or nil where no signal is in doubt. Its outcome
// is the verdict's where all signals together come to no less.
func (g *Gate) weighDoubt(s sum, v sentinel.Verdict) *sentinel.Doubt {
	if s.doubts == 0 {
		return nil
	}
	d := &sentinel.Doubt{Outcome: s.doubtOutcome(g.threshold, g.askBelow), Code: CodeDoubt}
	if d.Outcome >= v.Outcome {
		return &sentinel.Doubt{Outcome: v.Outcome}
	}
	stands, bound := " < ask_below ", max(g.askBelow, g.threshold)
	d.WhatYouCanDo = adviceAsk
	if d.Outcome == sentinel.Deny {
		stands, bound, d.WhatYouCanDo = " far below threshold ", g.threshold, adviceBelow
	}
	d.Reason = s.formatReason(clampScore(s.total), stands, bound, false)
	return d
}

func clampScore(n int) int { return max(0, min(n, maxScore)) }
