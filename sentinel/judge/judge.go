package judge

import (
	"context"

	"slices"

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
	seedSignals         []seedSignal
	viewSignals         []viewSignal

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
	g := &Gate{threshold: orDefault(o.Threshold, DefaultThreshold), askBelow: orDefault(o.AskBelow, DefaultAskBelow),
		seedSignals: seedSignals()}
	if !o.SeedOnly {
		g.viewSignals = append(viewSignals(), newRootsSignal(o.Roots, o.Env))
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
	score, evidence := g.scoreCall(c)
	v := g.weighScore(score, formatSum(evidence))
	v.Gate = sentinel.GateJudge
	v.Score, v.HasScore = score, true
	v.Evidence = evidence
	v.Meta = map[string]string{"judge_kind": Kind}
	return v, nil
}

func (g *Gate) scoreCall(c sentinel.Call) (int, []sentinel.Evidence) {
	var evidence []sentinel.Evidence
	for _, s := range g.seedSignals {
		f := s.find(c)
		if !f.found {
			continue
		}
		evidence = append(evidence, sentinel.Evidence{Signal: s.name, Amount: s.amount, Args: f.args})
	}
	if g.viewSignals != nil && c.Skill() != nil {
		evidence = append(evidence, g.findEvidence(g.readCall(c))...)
	}
	score := Base
	for _, e := range evidence {
		score += e.Amount
	}
	return max(0, min(score, maxScore)), evidence
}

func (g *Gate) weighScore(score int, sum string) sentinel.Verdict {
	switch {
	case g.seedSignals == nil:
		return sentinel.Refuse(CodeBelowThreshold, "the judge was not set up")
	case score < g.threshold:
		v := sentinel.Refuse(CodeBelowThreshold, formatReason(score, " < threshold ", g.threshold, sum))
		v.WhatYouCanDo = "propose a call that follows more plainly from the user's request, with plain paths and argument names"
		return v
	case score < g.askBelow:
		v := sentinel.Hold(CodeAskBelow, formatReason(score, " < ask_below ", g.askBelow, sum))
		v.WhatYouCanDo = "wait for a person, or propose a call with plain paths and argument names"
		return v
	}
	v := sentinel.Pass()
	v.Reason = formatReason(score, " >= threshold ", g.threshold, sum)
	return v
}

// formatReason is the line of a verdict: how the score stands to a bound, and why.
func formatReason(score int, stands string, bound int, sum string) string {
	b := appendFraction(append(make([]byte, 0, 128), "score "...), score)
	b = appendFraction(append(b, stands...), bound)
	return string(append(append(b, ' '), sum...))
}

// formatSum spells out how the score came about: "(base 0.70, traversal -0.20)".
func formatSum(evidence []sentinel.Evidence) string {
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

func (g *Gate) findEvidence(v *view) []sentinel.Evidence {
	var out []sentinel.Evidence
	rel, related := findRelation(v)
	v.related = related
	if related {
		out = append(out, rel)
	}
	out = append(out, v.findUngrounded()...)
	if related && v.request.delegates {
		out = softenGrounding(out)
	}
	for _, s := range g.viewSignals {
		if f := s.find(v); f.found {
			n := s.amount + f.extra
			if related && s.name == SignalOtherDate {
				n = max(n, softDate)
			}
			out = append(out, sentinel.Evidence{Signal: s.name, Amount: n, Args: f.args})
		}
	}
	return out
}

// softenGrounding takes a relation and the ungrounded values behind it for one sign:
// the relation with the values at softRecipient, or the values alone, whichever
// costs more. A relation that a tainted mission brings about buys nothing so.
func softenGrounding(out []sentinel.Evidence) []sentinel.Evidence {
	full, soft := 0, out[0].Amount
	for _, e := range out[1:] {
		full += e.Amount
		soft += max(e.Amount, softRecipient)
	}
	if full < soft {
		return out[1:]
	}
	for i := range out[1:] {
		out[i+1].Amount = max(out[i+1].Amount, softRecipient)
	}
	return out
}

func (g *Gate) readCall(c sentinel.Call) *view {
	v := &view{c: c, s: c.Skill()}
	v.p = g.profiles.get(v.s, func() *profile { return newProfile(v.s) })
	if r, ok := c.Grant().Request(); ok {
		v.request = g.readText(r)
	}
	if m := c.Grant().Mission(); m != "" && !c.Grant().MissionTainted() {
		v.mission = g.readText(m)
	}
	for i := range c.Trace().Len() {
		st := c.Trace().Step(i)
		if st.Trust == skills.Trusted {
			v.trusted = append(v.trusted, c.Trace().Said(i).Fold())
		} else {
			r := c.Trace().Said(i).Fold()
			v.untrusted = append(v.untrusted, r)
			if slices.Contains(st.Marks, sentinel.MarkInstructions) {
				v.orders = append(v.orders, r)
			}
		}
	}
	c.WalkArgs(v.takeArg)
	v.takeKeys(c.Parsed(), "", 0)
	return v
}

func (g *Gate) readText(s string) *text {
	if len(s) > maxCachedText {
		return readText(s)
	}
	return g.texts.get(s, func() *text { return readText(s) })
}
