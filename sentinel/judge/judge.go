// Package judge is the graded gate: it scores a call from a closed list of
// named signals and compares the score with two thresholds. It is
// deterministic, asks no model and takes microseconds.
//
//	gate, err := judge.New(judge.Options{}) // deny below 0.30, ask below 0.50
//
// Scores are integers in hundredths, 0 to 100: sums of decimal fractions would
// depend on the order in which they are added. A call starts at Base; each
// signal adds its amount; the sum is clamped. Every verdict carries its score,
// the thresholds it was held to and every signal with its amount, so that a
// person can check the sum by hand.
//
// The judge is lenient by design: what must never happen is the guard's, which
// knows no score. A signal sees the Call and nothing else, and adding an
// argument to a call must never raise its score, or a model could buy leniency
// with padding: a signal that raises may look at the skill, the grant and the
// trace, never at the arguments.
package judge

import (
	"context"
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// The codes of the gate.
const (
	CodeBelowThreshold = "judge.below_threshold"
	CodeAskBelow       = "judge.ask_below"
)

// Scores in hundredths.
const (
	// Base is the score of a call that no signal fits.
	Base = 70
	// DefaultThreshold is the score below which a call is denied.
	DefaultThreshold = 30
	// DefaultAskBelow is the score below which a person is asked.
	DefaultAskBelow = 50
	// Off, as a threshold, is below every score: it never denies or asks.
	// A plain zero means the default.
	Off = -1

	maxScore = 100
)

// Kind stands in every verdict's Meta under "judge_kind" and names the rules
// by which the score was reached.
const Kind = "rule-based-v1"

// Options configure a Gate. The zero value is the defaults.
type Options struct {
	// Threshold in hundredths: a lower score is denied. Zero means
	// DefaultThreshold, Off none. It may be above AskBelow: then nothing
	// asks.
	Threshold int
	// AskBelow in hundredths: a lower score that is not denied asks. Zero
	// means DefaultAskBelow, Off none.
	AskBelow int
}

// Gate scores calls. It is immutable and safe for concurrent use. Its zero
// value is not ready: New makes one.
type Gate struct {
	threshold, askBelow int
	signals             []signal
}

// New returns a gate, or *skills.PathError for each threshold that is no
// number of hundredths.
func New(o Options) (*Gate, error) {
	if o.Threshold < Off || o.Threshold > maxScore {
		return nil, &skills.PathError{Path: "judge.threshold", Msg: "must be from 0.00 to 1.00"}
	}
	if o.AskBelow < Off || o.AskBelow > maxScore {
		return nil, &skills.PathError{Path: "judge.ask_below", Msg: "must be from 0.00 to 1.00"}
	}
	return &Gate{orDefault(o.Threshold, DefaultThreshold), orDefault(o.AskBelow, DefaultAskBelow), table()}, nil
}

func orDefault(v, def int) int {
	switch v {
	case 0:
		return def
	case Off:
		return 0
	}
	return v
}

// Name returns "judge".
func (*Gate) Name() string { return sentinel.GateJudge }

// Check scores the call. It denies with CodeBelowThreshold, asks with
// CodeAskBelow, and allows otherwise; the verdict always has a score. It never
// returns an error.
func (g *Gate) Check(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
	score, evidence := g.score(c)
	v := g.weigh(score, sum(evidence))
	v.Gate = sentinel.GateJudge
	v.Score, v.HasScore = score, true
	v.Evidence = evidence
	v.Meta = map[string]string{"judge_kind": Kind}
	return v, nil
}

func (g *Gate) score(c sentinel.Call) (int, []sentinel.Evidence) {
	score := Base
	var evidence []sentinel.Evidence
	for _, s := range g.signals {
		f := s.look(c)
		if !f.found {
			continue
		}
		score += s.amount
		evidence = append(evidence, sentinel.Evidence{Signal: s.name, Amount: s.amount, Args: f.args})
	}
	return max(0, min(score, maxScore)), evidence
}

func (g *Gate) weigh(score int, sum string) sentinel.Verdict {
	switch {
	case g.signals == nil:
		return sentinel.Refuse(CodeBelowThreshold, "the judge was not set up")
	case score < g.threshold:
		v := sentinel.Refuse(CodeBelowThreshold, fmt.Sprintf("score %s < threshold %s %s", fraction(score), fraction(g.threshold), sum))
		v.WhatYouCanDo = "propose a call that follows more plainly from the user's request, with plain paths and argument names"
		return v
	case score < g.askBelow:
		v := sentinel.Hold(CodeAskBelow, fmt.Sprintf("score %s < ask_below %s %s", fraction(score), fraction(g.askBelow), sum))
		v.WhatYouCanDo = "wait for a person, or propose a call with plain paths and argument names"
		return v
	}
	v := sentinel.Pass()
	v.Reason = "score " + fraction(score) + " >= threshold " + fraction(g.threshold) + " " + sum
	return v
}

// sum spells out how the score came about: "(base 0.70, traversal -0.20)".
func sum(evidence []sentinel.Evidence) string {
	var b strings.Builder
	b.WriteString("(base " + fraction(Base))
	for _, e := range evidence {
		sign, n := " +", e.Amount
		if n < 0 {
			sign, n = " -", -n
		}
		b.WriteString(", " + e.Signal + sign + fraction(n))
	}
	b.WriteByte(')')
	return b.String()
}

// fraction writes hundredths as people write scores.
func fraction(n int) string {
	return string([]byte{byte('0' + n/100), '.', byte('0' + n/10%10), byte('0' + n%10)})
}
