package judge

import (
	"context"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
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
	// Roots are where agents are meant to work, as absolute folders. Empty
	// turns SignalOutsideRoots off.
	Roots []string
	// Env is what paths are resolved against, the same as the calls'.
	Env touch.Env
	// SeedOnly keeps to the first four signals, which know nothing of
	// requests beyond a skill's name, and nothing of history.
	SeedOnly bool
}

// Gate scores calls and is safe for concurrent use. What it remembers (what
// skills are about, the words of recent texts) is bounded and changes no score.
// Its zero value is not ready: New makes one.
type Gate struct {
	threshold, askBelow int
	seed                []signal
	more                []deepSignal

	profiles cache[*skills.Skill, *profile]
	texts    cache[string, *text]
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
	g := &Gate{threshold: orDefault(o.Threshold, DefaultThreshold), askBelow: orDefault(o.AskBelow, DefaultAskBelow), seed: table()}
	if !o.SeedOnly {
		g.more = append(deepTable(), outsideRoots(o.Roots, o.Env))
	}
	return g, nil
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
	var evidence []sentinel.Evidence
	for _, s := range g.seed {
		f := s.look(c)
		if !f.found {
			continue
		}
		evidence = append(evidence, sentinel.Evidence{Signal: s.name, Amount: s.amount, Args: f.args})
	}
	if g.more != nil && c.Skill() != nil {
		evidence = append(evidence, g.deep(g.look(c))...)
	}
	score := Base
	for _, e := range evidence {
		score += e.Amount
	}
	return max(0, min(score, maxScore)), evidence
}

func (g *Gate) weigh(score int, sum string) sentinel.Verdict {
	switch {
	case g.seed == nil:
		return sentinel.Refuse(CodeBelowThreshold, "the judge was not set up")
	case score < g.threshold:
		v := sentinel.Refuse(CodeBelowThreshold, reasoned(score, " < threshold ", g.threshold, sum))
		v.WhatYouCanDo = "propose a call that follows more plainly from the user's request, with plain paths and argument names"
		return v
	case score < g.askBelow:
		v := sentinel.Hold(CodeAskBelow, reasoned(score, " < ask_below ", g.askBelow, sum))
		v.WhatYouCanDo = "wait for a person, or propose a call with plain paths and argument names"
		return v
	}
	v := sentinel.Pass()
	v.Reason = reasoned(score, " >= threshold ", g.threshold, sum)
	return v
}

// reasoned is the line of a verdict: how the score stands to a bound, and why.
func reasoned(score int, stands string, bound int, sum string) string {
	b := appendFraction(append(make([]byte, 0, 128), "score "...), score)
	b = appendFraction(append(b, stands...), bound)
	return string(append(append(b, ' '), sum...))
}

// sum spells out how the score came about: "(base 0.70, traversal -0.20)".
func sum(evidence []sentinel.Evidence) string {
	b := make([]byte, 0, 96)
	b = appendFraction(append(b, "(base "...), Base)
	for _, e := range evidence {
		sign, n := " +", e.Amount
		if n < 0 {
			sign, n = " -", -n
		}
		b = appendFraction(append(append(append(b, ", "...), e.Signal...), sign...), n)
	}
	return string(append(b, ')'))
}

// appendFraction writes hundredths as people write scores.
func appendFraction(b []byte, n int) []byte {
	return append(b, byte('0'+n/100), '.', byte('0'+n/10%10), byte('0'+n%10))
}
