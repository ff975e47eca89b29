package judge

import (
	"slices"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// weight says what a signal does to the outcome. Every signal has one, from this closed
// list.
type weight uint8

const (
	// hard signals make up the verdict.
	hard weight = iota
	// doubtful signals are what rules can't tell and a reader could. They make up the doubt.
	doubtful
	// doubtfulUntainted signals are hard in a turn that read strangers' text, and doubtful in any other.
	doubtfulUntainted
	// doubtfulUnsolicited signals are hard in a turn that read strangers' text, and doubtful in any other. A call that reaches others
	// or is grave has them hard also where the request only looks, a stranger's text of an earlier turn asks for such a call, or
	// nothing was read before.
	doubtfulUnsolicited
	// doubtfulFieldless signals are hard where the request names a field, and doubtful where it names none.
	doubtfulFieldless
	// doubtfulDelegated signals are hard in a turn that read strangers' text, and doubtful where the user hands over
	// somebody's list and the call can be undone and costs nothing.
	doubtfulDelegated
	// offsetting signals raise, and make up for doubts alone.
	offsetting
)

// weightOf is the closed list of the signals that aren't hard. TestWeights holds it.
func weightOf(signal string) weight {
	switch signal {
	case SignalOtherTopic, SignalOtherAction, "amount_unknown", "amount_nowhere", SignalUnasked, SignalWordless, "recipient_met",
		"recipient_called", "recipient_listed", "recipient_visited", "recipient_earlier", "ref_listed", "ref_earlier",
		"target_listed", "target_earlier", "host_listed", "host_earlier", SignalAskedStore,
		SignalRival, SignalRepeated, SignalSpentOverLimit, SignalOverEarlierLimit, SignalMetAddress:
		return doubtful
	case SignalUnrelated:
		return doubtfulUnsolicited
	case SignalUnreadable:
		return doubtfulUntainted
	case SignalPrivateRead:
		return doubtfulFieldless
	case SignalLookOnly:
		return doubtfulDelegated
	case SignalIntentMention, SignalHabit:
		return offsetting
	}
	return hard
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

// circumstances are what of a call decides whether a signal is in doubt.
type circumstances struct {
	turn turnKind
	// handedOver: the user handed over somebody's list that may hold the call.
	handedOver bool
	// aimed: it runs what it is given, and the user asked for a change to the very target, or what it is given only reads.
	aimed bool
	// fieldless: no word of the request is known to name a field.
	fieldless bool
}

// turnKind is what is to be known of the turn of a call.
type turnKind uint8

const (
	plainTurn turnKind = iota
	// solicitedTurn is of a call that reaches others or is grave: the request only looks, a stranger's text of an earlier turn asks
	// for such a call, or nothing was read that the request could mean.
	solicitedTurn
	taintedTurn // it read strangers' text
)

func circumstancesOf(v *view) circumstances {
	in := v.askedIn()
	heavy := v.isFinal() || v.p.changes && (isGrave(v) || mayReachOthers(v))
	turn := plainTurn
	switch {
	case v.c.TaintedThisTurn():
		turn = taintedTurn
	case heavy && (!v.hasRead() || v.onlyLooks() || isCallSolicited(v)):
		turn = solicitedTurn
	}
	return circumstances{turn: turn, handedOver: v.isHandedOver(), aimed: isAimedRun(v) || isPlainRun(v),
		fieldless: in != nil && in.concepts == 0}
}

// mayReachOthers reports whether a call reaches others, or may: it runs what it is given, or its
// skill's schema marks nothing and the user's words don't name what the call is done to.
func mayReachOthers(v *view) bool {
	return v.isOutgoing() || v.p.needs&runs != 0 || !v.s.Annotated() && v.c.Outward()
}

// isAimedRun reports whether a skill runs what it is given on a target that the user's request
// names and asks to have changed. A statement has no word that a request could share with the
// skill. Whether it does what was asked, a reader can tell.
func isAimedRun(v *view) bool {
	if v.p.needs != runs || v.own == nil || v.own.verbsAsked() == 0 {
		return false
	}
	aimed := false
	for i, val := range v.values {
		if !val.target || !v.s.Annotated() {
			continue
		}
		if i >= maxValues || !v.own.hasValue(val) {
			return false
		}
		aimed = true
	}
	return aimed
}

// isPlainRun reports whether a skill runs what it is given, and that was read whole and does nothing but read.
func isPlainRun(v *view) bool {
	if v.p.needs != runs || v.marks&skills.Shell == 0 {
		return false
	}
	plain := true
	v.c.WalkArgs(func(a skills.Arg) {
		plain = plain && (!a.Marks.Has(skills.Shell) || slices.Contains(v.c.Touch().Plain, a.Name))
	})
	return plain
}

// isDoubt reports whether evidence about a call is in doubt.
func isDoubt(e sentinel.Evidence, in circumstances) bool {
	if e.Signal == SignalAmountExceeds {
		return e.Amount >= littleMore
	}
	switch weightOf(e.Signal) {
	case doubtful:
		return true
	case doubtfulUntainted:
		return in.turn != taintedTurn
	case doubtfulUnsolicited:
		return in.aimed || in.turn == plainTurn
	case doubtfulFieldless:
		return in.fieldless
	case doubtfulDelegated:
		return in.turn != taintedTurn || in.handedOver
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
		case weightOf(e.Signal) != offsetting:
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
