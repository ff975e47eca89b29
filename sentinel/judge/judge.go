package judge

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// The codes of the gate.
const (
	CodeBelowThreshold = "judge.below_threshold"
	CodeAskBelow       = "judge.ask_below"
	// CodeDoubt is of a verdict whose doubt counted: no model judged the call.
	CodeDoubt = "judge.doubt"
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

// ruleMeta is the Meta of every verdict: verdicts share it, so that none makes its own.
var ruleMeta = map[string]string{"judge_kind": Kind}

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
	// OwnDomains are the domains of the user's own house. Such a domain vouches for an
	// address whose owner the user named, and for no list, guest or address with a plus. Each
	// is in plain letters, as in "mill.example", and none where anybody can have an address.
	OwnDomains []string
	// SeedOnly keeps to the first four signals, which know nothing of
	// requests beyond a skill's name, and nothing of history.
	SeedOnly bool
	// Habits tells what a user has had approved often; nil knows of none.
	Habits Habits
}

// Gate scores calls and is safe for concurrent use. What it remembers (what
// skills are about, the words of recent texts) is bounded and changes no score.
// Its zero value is not ready: New makes one.
type Gate struct {
	threshold, askBelow int
	seedSignals         []seedSignal
	viewSignals         []viewSignal
	ownDomains          map[string]bool
	habits              Habits

	profiles cache[*skills.Skill, *profile]
	texts    cache[string, *text]
	missions cache[string, *text] // read by ownMission, where nothing was pasted into the request
}

// New returns a gate, or *skills.PathError for a threshold that is no number of hundredths
// and for an own domain that is none.
func New(o Options) (*Gate, error) {
	if o.Threshold < Off || o.Threshold > maxScore {
		return nil, &skills.PathError{Path: "judge.threshold", Msg: "must be from 0.00 to 1.00"}
	}
	if o.AskBelow < Off || o.AskBelow > maxScore {
		return nil, &skills.PathError{Path: "judge.ask_below", Msg: "must be from 0.00 to 1.00"}
	}
	g := &Gate{threshold: orDefault(o.Threshold, DefaultThreshold), askBelow: orDefault(o.AskBelow, DefaultAskBelow),
		seedSignals: seedSignals(), habits: o.Habits}
	var err error
	if g.ownDomains, err = readOwnDomains(o.OwnDomains); err != nil {
		return nil, err
	}
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
// CodeAskBelow, and allows otherwise. The verdict is made of the hard signals, and its
// Doubt of all. The recorded score is that of all signals. Check never returns an error.
func (g *Gate) Check(ctx context.Context, c sentinel.Call) (sentinel.Verdict, error) {
	s := offsetByHabit(ctx, g.habits, c, addUp(g.collectEvidence(c)))
	v := g.weighScore(s)
	v.Gate = sentinel.GateJudge
	v.Score, v.HasScore = clampScore(s.total), true
	v.Evidence = s.evidence
	v.Detail = describeDetail(c, s.evidence)
	v.Doubt = g.weighDoubt(s, v)
	v.Meta = ruleMeta
	return v, nil
}

// collectEvidence lists what speaks for and against the call, each marked where it is in doubt.
func (g *Gate) collectEvidence(c sentinel.Call) []sentinel.Evidence {
	var evidence []sentinel.Evidence
	for _, s := range g.seedSignals {
		f := s.find(c)
		if !f.found {
			continue
		}
		if evidence == nil {
			evidence = make([]sentinel.Evidence, 0, len(g.seedSignals))
		}
		evidence = append(evidence, sentinel.Evidence{Signal: s.name, Amount: s.amount, Args: f.args})
	}
	if g.viewSignals != nil && c.Skill() != nil {
		evidence = append(evidence, g.findEvidence(g.readCall(c))...)
	}
	return evidence
}

// What an agent can do about a score that is too low.
const (
	adviceBelow = "propose a call that follows more plainly from the user's request, with plain paths and argument names"
	adviceAsk   = "wait for a person, or propose a call with plain paths and argument names"
)

// weighScore is the verdict of the hard signals. Its reason is of all signals where that
// comes to the same.
func (g *Gate) weighScore(s sum) sentinel.Verdict {
	if g.seedSignals == nil {
		return sentinel.Refuse(CodeBelowThreshold, "the judge was not set up")
	}
	score, hardAlone := clampScore(s.total), false
	if outcome := g.outcomeOf(s.hard); s.doubts > 0 || outcome != g.outcomeOf(s.total) {
		score, hardAlone = clampScore(s.hard), true
	}
	switch g.outcomeOf(s.hard) {
	case sentinel.Deny:
		v := sentinel.Refuse(CodeBelowThreshold, s.formatReason(score, " < threshold ", g.threshold, hardAlone))
		v.WhatYouCanDo = adviceBelow
		return v
	case sentinel.Ask:
		v := sentinel.Hold(CodeAskBelow, s.formatReason(score, " < ask_below ", g.askBelow, hardAlone))
		v.WhatYouCanDo = adviceAsk
		return v
	}
	v := sentinel.Pass()
	v.Reason = s.formatReason(score, " >= threshold ", g.threshold, hardAlone)
	return v
}

func (g *Gate) outcomeOf(score int) sentinel.Outcome {
	return outcomeAt(score, g.threshold, g.askBelow)
}

// outcomeAt is what a score comes to by itself.
func outcomeAt(score, threshold, askBelow int) sentinel.Outcome {
	switch score = clampScore(score); {
	case score < threshold:
		return sentinel.Deny
	case score < askBelow:
		return sentinel.Ask
	}
	return sentinel.Allow
}

// formatReason is the line of a verdict: how the score stands to a bound, and why. Where hardAlone
// is set, the score is that of the hard signals, and the line says what doesn't count towards it.
func (s sum) formatReason(score int, stands string, bound int, hardAlone bool) string {
	b := appendFraction(append(make([]byte, 0, 256), "score "...), score)
	b = appendFraction(append(b, stands...), bound)
	b = s.appendTerms(append(b, ' '), hardAlone)
	if hardAlone {
		b = s.appendUncounted(b)
	}
	return string(b)
}

// appendTerms spells out how a score came about: "(base 0.70, traversal -0.20)". What adds
// nothing is left out.
func (s sum) appendTerms(b []byte, hardAlone bool) []byte {
	b = appendFraction(append(b, "(base "...), Base)
	for _, e := range s.evidence {
		if e.Amount != 0 && (!hardAlone || isCounted(e)) {
			b = appendSignal(append(b, ", "...), e)
		}
	}
	return append(b, ')')
}

// appendUncounted spells out what doesn't count towards the score of the hard signals:
// "; in doubt: other_topic -0.35".
func (s sum) appendUncounted(b []byte) []byte {
	sign := "; in doubt: "
	if s.doubts == 0 {
		sign = "; for doubts alone: "
	}
	for _, e := range s.evidence {
		if !isCounted(e) {
			b = appendSignal(append(b, sign...), e)
			sign = ", "
		}
	}
	return b
}

// isCounted reports whether evidence counts towards the score of the hard signals.
func isCounted(e sentinel.Evidence) bool { return !e.Doubt && weightOf(e.Signal) != offsetting }

// appendSignal writes a signal with what it adds: "traversal -0.20".
func appendSignal(b []byte, e sentinel.Evidence) []byte {
	sign, n := " +", e.Amount
	if n < 0 {
		sign, n = " -", -n
	}
	return appendFraction(append(append(b, e.Signal...), sign...), n)
}

// appendFraction writes hundredths as people write scores.
func appendFraction(b []byte, n int) []byte {
	return append(b, byte('0'+n/100), '.', byte('0'+n/10%10), byte('0'+n%10))
}

// findEvidence lists the signals of a view, each marked where it is in doubt.
func (g *Gate) findEvidence(v *view) []sentinel.Evidence {
	in := circumstancesOf(v)
	inDoubt := func(e sentinel.Evidence) bool { return isDoubt(e, in) }
	rel, related := findRelation(v)
	v.relation = rel.Signal
	var out []sentinel.Evidence
	if related && inDoubt(rel) {
		out = g.findBesideDoubt(v, rel)
	} else {
		out = g.findBeside(v, rel, related)
	}
	if related && !inDoubt(rel) { // what costs more by itself hides behind no relation
		if alone := g.findBeside(v, sentinel.Evidence{}, false); sumAmounts(alone) < sumAmounts(out) {
			out = keepRelation(rel, out, alone, inDoubt)
		}
	}
	for i := range out {
		out[i].Doubt = inDoubt(out[i])
	}
	return out
}

// keepRelation returns what there is without a relation, which costs more, and the relation with what it costs as a verdict beyond that:
// doubts, which may be spent, take no verdict's place. They cost as much less, so that the score is the lower one.
func keepRelation(rel sentinel.Evidence, beside, alone []sentinel.Evidence, inDoubt func(sentinel.Evidence) bool) []sentinel.Evidence {
	isVerdict := func(e sentinel.Evidence) bool { return !e.Doubt && !inDoubt(e) && weightOf(e.Signal) != offsetting }
	sumVerdicts := func(list []sentinel.Evidence) (n int) {
		for _, e := range list {
			if isVerdict(e) {
				n += e.Amount
			}
		}
		return n
	}
	if rel.Amount = sumVerdicts(beside) - sumVerdicts(alone); rel.Amount >= 0 {
		return alone
	}
	out := append([]sentinel.Evidence{rel}, alone...)
	for i, rest := 1, -rel.Amount; i < len(out); i++ {
		if e := &out[i]; e.Amount < 0 && !isVerdict(*e) {
			less := min(-e.Amount, rest)
			e.Amount += less
			rest -= less
		}
	}
	return out
}

// findBeside lists a relation and what else there is. Some signs are the same one as a
// relation and cost less beside it.
func (g *Gate) findBeside(v *view, rel sentinel.Evidence, related bool) (out []sentinel.Evidence) {
	if v.related = related; related {
		out = append(out, rel)
	}
	out = append(out, v.findUngrounded()...)
	if related && v.own.delegates {
		out = softenGrounding(out)
	}
	for _, s := range g.viewSignals {
		if f := s.find(v); f.found {
			n := s.amount + f.extra
			if related && s.name == SignalOtherDate {
				n = max(n, softDate)
			}
			if related && (s.name == SignalPrivateOutward || s.name == SignalTrustedStore || s.name == SignalAskedStore) {
				n = max(n, softFollows)
			}
			out = append(out, sentinel.Evidence{Signal: s.name, Amount: n, Args: f.args})
		}
	}
	mergeSecrets(out)
	return append(out, findEvidenceSigns(v, out)...)
}

// findBesideDoubt is findBeside for a relation that is in doubt. What else there is keeps
// what it costs by itself, since a spent doubt excuses nothing. The doubt adds the rest, so
// that the score is the one of a relation that is certain.
func (g *Gate) findBesideDoubt(v *view, rel sentinel.Evidence) []sentinel.Evidence {
	alone := g.findBeside(v, sentinel.Evidence{}, false)
	if full := sumAmounts(alone); full < 0 {
		rel.Amount = min(0, sumAmounts(g.findBeside(v, rel, true))-full)
	}
	if rel.Amount == 0 {
		return alone
	}
	return slices.Insert(alone, 0, rel)
}

func sumAmounts(evidence []sentinel.Evidence) (n int) {
	for _, e := range evidence {
		n += e.Amount
	}
	return n
}

// softenGrounding takes a relation and the ungrounded values behind it for one sign:
// the relation with the values at softRecipient, or the values alone, whichever
// costs more. A relation that a tainted mission brings about buys nothing so.
func softenGrounding(out []sentinel.Evidence) []sentinel.Evidence {
	soft := slices.Clone(out)
	for i, e := range out[1:] {
		soft[i+1].Amount = max(e.Amount, softRecipient)
		if weightOf(e.Signal) == doubtful && slices.ContainsFunc(out[1:], func(o sentinel.Evidence) bool { return isVerdictBeside(o, e) }) {
			soft[i+1].Amount = 0 // softened, the verdict costs as much
		}
	}
	if sumAmounts(out[1:]) < sumAmounts(soft) {
		return keepRelation(out[0], soft, out[1:], func(e sentinel.Evidence) bool { return weightOf(e.Signal) == doubtful })
	}
	return soft
}

// isVerdictBeside reports whether evidence is the verdict of the family of which other evidence is the doubt, and costs as much once
// it is softened.
func isVerdictBeside(e, doubt sentinel.Evidence) bool {
	family, _, _ := strings.Cut(doubt.Signal, "_")
	return weightOf(e.Signal) == hard && e.Amount <= max(doubt.Amount, softRecipient) && strings.HasPrefix(e.Signal, family+"_")
}

func (g *Gate) readCall(c sentinel.Call) *view {
	v := &view{c: c, s: c.Skill(), ownDomains: g.ownDomains}
	v.values, v.contents, v.said = v.firstValue[:0], v.firstContent[:0], v.firstSaid[:0]
	v.p = g.profiles.get(v.s, func() *profile { return newProfile(v.s) })
	grant := c.Grant()
	if r, ok := grant.Request(); ok {
		v.request = g.readText(r)
		v.said = g.readSaid(v.said, grant, v.request)
		v.own = v.said[0]
		g.goOn(v)
	}
	if m := grant.Mission(); m != "" && !c.Grant().MissionTainted() {
		v.mission = g.readMission(v, m)
	}
	trace := c.Trace()
	for i := range trace.Len() {
		st := trace.Step(i)
		if st.Trust == skills.Trusted {
			v.trusted = append(v.trusted, trace.Said(i).Fold())
			takeStrangers(v, trace.StrangersText(i), st.Marks)
		} else {
			r := trace.Said(i).Fold()
			v.untrusted = append(v.untrusted, r)
			if slices.Contains(st.Marks, sentinel.MarkInstructions) {
				v.orders = append(v.orders, r)
			}
		}
	}
	for _, st := range trace.Earlier() {
		v.untrusted = append(v.untrusted, st.Said().Fold())
		if slices.Contains(st.Marks, sentinel.MarkInstructions) {
			v.orders = append(v.orders, st.Said().Fold())
		}
	}
	c.WalkArgs(v.takeArg)
	if v.p.changes {
		v.takeKeys(c.Parsed(), "", 0)
	}
	return v
}

// takeStrangers takes what strangers wrote in a trusted result.
func takeStrangers(v *view, text string, marks []string) {
	if text == "" {
		return
	}
	v.untrusted = append(v.untrusted, foldText(text))
	if slices.Contains(marks, sentinel.MarkInstructions) {
		v.orders = append(v.orders, foldText(text))
	}
}

func (g *Gate) readText(s string) *text {
	if len(s) > maxCachedText {
		return readText(s)
	}
	return g.texts.get(s, func() *text { return readText(s) })
}

// readMission reads a mission as ownMission gives it. What the user pasted changes that, so what
// was read of a mission is kept only for requests into which nothing was pasted.
func (g *Gate) readMission(v *view, mission string) *text {
	if v.hasPasted() || len(mission) > maxCachedText {
		return g.readText(v.ownMission(mission))
	}
	return g.missions.get(mission, func() *text { return readText(v.ownMission(mission)) })
}
