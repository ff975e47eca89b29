package review

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"slices"

	"github.com/sony/gobreaker/v2"
	"github.com/vedette-dev/vedette/sentinel"
)

// The codes of the gate. An approval has none.
const (
	CodeRejected    = "review.rejected"    // the model said no
	CodeUnsure      = "review.unsure"      // the model said yes and was not sure enough of it
	CodeUnavailable = "review.unavailable" // no model could be reached
	CodeUnjudgeable = "review.unjudgeable" // no model gave a usable answer
	CodeDegraded    = "review.degraded"    // allowed although no model could be reached
	CodeShadow      = "review.shadow"      // recorded and not applied
	// CodeDisagreement is for a person: two models judged, each otherwise.
	CodeDisagreement = "review.disagreement"
)

// Gate asks the chain of models about a call. It is safe for concurrent use and
// keeps breakers and counters, nothing of a call. Its zero value can't judge.
type Gate struct {
	o       Options
	version string // of the prompt
	chain   string // names what holds for every question
	models  []*model
	// stronger gives second opinions; it is empty without Options.Escalate.
	stronger []*model
	tally    tally

	answers   *verdictCache // by situation; nil where nothing is kept
	prejudged *verdictCache // by question
	flights   flights
	suspects  chan *model // to be looked at by RunCanaries
	watching  atomic.Int32
}

// New checks the options and returns the gate, or every fault as joined
// *skills.PathError values: roles.sentinel without a model, sentinel.unavailable
// with a row that is no effect, a negative time.
func New(o Options) (*Gate, error) {
	o, err := o.checkAndComplete()
	if err != nil {
		return nil, err
	}
	g := &Gate{
		o: o, version: o.promptVersion(),
		answers: newVerdictCache(o.CacheSize, o.CacheTTL, o.Now), prejudged: newVerdictCache(prejudgedSize, prejudgedFor, o.Now),
	}
	if !o.isOff() {
		a := &alarm{log: o.Log}
		for _, c := range o.Models {
			g.models = append(g.models, newModel(c, o, a))
		}
		for _, c := range o.Escalate.To {
			g.stronger = append(g.stronger, newModel(c, o, a))
		}
		g.suspects = make(chan *model, len(g.modelsOfBothChains()))
		for _, m := range g.modelsOfBothChains() {
			m.suspect, m.prove, m.watched = func() { g.suspectModel(m) }, func() { g.requestProbe(m) }, g.isWatched
		}
	}
	g.chain = nameChain(g)
	return g, nil
}

// Name returns "review".
func (*Gate) Name() string { return sentinel.GateReview }

// Check asks about a call. It allows, denies with CodeRejected, or gives the
// outcome that is configured for a missing judgement; in shadow mode the
// verdict's State is sentinel.Shadow and Meta "would" holds the outcome. The
// error is for a caller that gave up (context.Canceled, DeadlineExceeded) and
// for a call of an unknown skill.
func (g *Gate) Check(ctx context.Context, c sentinel.Call) (sentinel.Verdict, error) {
	if g == nil || g.o.Mode == "" {
		return sentinel.Verdict{}, errors.New("the review was not set up; use New")
	}
	mode, key := g.o.modeOf(c)
	switch {
	case mode == Off:
		return sentinel.Verdict{Gate: sentinel.GateReview, State: sentinel.Skipped, Reason: key + " is off"}, nil
	case c.Skill() == nil:
		return sentinel.Verdict{}, errors.New("the call is of no known skill, which scope should have denied")
	case callerGaveUp(ctx) != nil:
		return sentinel.Verdict{}, canceledError(ctx)
	}
	if v, skipped := g.o.Profile.skipVerdict(c, g.o.Modes); skipped {
		g.noteSkip(ctx, c, v, mode)
		return v, nil
	}
	c = c.WithEvidence(g.o.Evidence)
	q := g.newInquiry(c)
	v, err := g.recallVerdict(ctx, c, q)
	g.tally.countRequests(q.sent)
	if err != nil {
		return sentinel.Verdict{}, err
	}
	v.Gate = sentinel.GateReview
	v = g.withholdDoubts(v)
	v.Meta["prompt"] = g.version
	if g.o.showsEvidence() && c.ShowEvidence() != "" {
		v.Meta["evidence"] = c.EvidenceKey()[:evidenceDigits]
	}
	g.markVerdict(v.Meta)
	if v.Meta["attempts"] == "" { // else it was asked ahead, and paid for then
		v = q.stampCosts(v)
	}
	if mode == ShadowMode && v.State != sentinel.Skipped {
		v = shadowVerdict(v)
	}
	g.tally.add(v)
	g.o.Observer.Review(ctx, g.newReviewEvent(c, v, q))
	g.logVerdict(ctx, c, v)
	return v, nil
}

// Prompt is what one model is told before each call.
type Prompt struct{ Model, Version, Text string }

// Prompts returns what each model is told before each call; none where the review is off.
func (g *Gate) Prompts() []Prompt {
	var out []Prompt
	for _, m := range g.modelsOfBothChains() {
		out = append(out, Prompt{m.name, g.version, m.form.system})
	}
	return out
}

// reviewCall goes along the chain until a model judges.
func (g *Gate) reviewCall(ctx context.Context, c sentinel.Call, doc string, q *inquiry) (sentinel.Verdict, error) {
	q.left = len(g.models)
	if g.o.Escalate.wantsSecond(c.Effect(), true) || g.o.Escalate.wantsSecond(c.Effect(), false) {
		q.left += len(g.stronger)
	}
	first, err := g.consultChain(ctx, g.models, doc, q)
	switch {
	case err != nil:
		return sentinel.Verdict{}, err
	case first.model == "":
		if v, ok := g.leaveToRules(c, first.faults); ok {
			return v, nil
		}
		return g.unjudgedVerdict(c, first.faults), nil
	case g.o.Escalate.wantsSecond(c.Effect(), first.approve):
		return g.askSecondOpinion(ctx, c, doc, first, q)
	}
	return g.o.noteDoubts(c, judgedVerdict(first.answer, first.model, first.faults)), nil
}

// evidenceDigits is how many digits of the evidence's digest a record has.
const evidenceDigits = 12

// consultChain goes along a chain until a model judges.
func (g *Gate) consultChain(ctx context.Context, chain []*model, doc string, q *inquiry) (opinion, error) {
	var faults []*fault
	for _, m := range chain {
		a, err := m.judgeDocument(ctx, doc, q)
		if err == nil {
			return opinion{a, m.name, faults}, nil
		}
		var f *fault
		if !errors.As(err, &f) || callerGaveUp(ctx) != nil {
			return opinion{}, canceledError(ctx)
		}
		faults = append(faults, f)
	}
	return opinion{faults: faults}, nil
}

// judgedVerdict is the verdict of a model that answered, after others had failed.
func judgedVerdict(a answer, name string, before []*fault) sentinel.Verdict {
	v := sentinel.Pass()
	switch {
	case a.unsure:
		v = sentinel.Refuse(CodeUnsure, "the sentinel approved the call with a score below sentinel.reject_below")
	case !a.approve:
		v = sentinel.Refuse(CodeRejected, "the sentinel rejected the call")
	}
	v.Detail, v.Score, v.HasScore = a.reason, a.score, a.graded
	v.Meta = map[string]string{"model": name}
	if len(before) > 0 {
		v.Meta["failover"] = formatFaults(before)
	}
	return v
}

// unjudgedVerdict is the verdict when every model failed: of the cells that their
// failures point at, the strictest. Of equal ones an unjudgeable failure
// counts, so that the record shows what may have been provoked.
func (g *Gate) unjudgedVerdict(c sentinel.Call, faults []*fault) sentinel.Verdict {
	var worst *fault
	var outcome sentinel.Outcome
	var row string
	var retry time.Duration
	for _, f := range faults {
		o, r := g.tableFor(f.kind).OutcomeFor(c)
		if worst == nil || o < outcome || o == outcome && worst.kind.Unavailable() && !f.kind.Unavailable() {
			worst, outcome, row = f, o, r
		}
		retry = max(retry, f.retry)
	}
	v := sentinel.Verdict{State: sentinel.Judged, Outcome: outcome, Code: CodeUnjudgeable,
		Meta: map[string]string{"failure": string(worst.kind)}}
	column := "unjudgeable"
	if worst.kind.Unavailable() {
		column, v.Code = "unavailable", CodeUnavailable
		if outcome == sentinel.Allow {
			v.Code = CodeDegraded
		}
	}
	v.Reason = fmt.Sprintf("no judgement (%s): sentinel.%s.%s is %s", worst.kind, column, row, outcome)
	v.Degraded = outcome == sentinel.Allow
	if outcome < sentinel.Ask {
		v.WhatYouCanDo = "Nothing is wrong with the call as far as is known; try again later, or report what was not done."
	}
	if outcome == sentinel.Defer {
		v.RetryAfter = orDefault(retry, g.o.Breaker.OpenFor)
	}
	if worst.model != "" {
		v.Meta["model"] = worst.model
	}
	if len(faults) > 1 {
		v.Meta["failover"] = formatFaults(faults)
	}
	return v
}

func (g *Gate) tableFor(f Failure) sentinel.OutageTable {
	if f.Unavailable() {
		return g.o.Unavailable
	}
	return g.o.Unjudgeable
}

// formatFaults writes "fast=connect primary=refusal".
func formatFaults(faults []*fault) string {
	words := make([]string, len(faults))
	for i, f := range faults {
		words[i] = f.model + "=" + string(f.kind)
	}
	return strings.Join(words, " ")
}

// shadowVerdict keeps what a verdict says and takes away what it does.
func shadowVerdict(v sentinel.Verdict) sentinel.Verdict {
	v.Meta["would"] = v.Outcome.String()
	if v.Code != "" {
		v.Meta["would_code"] = v.Code
	}
	v.State, v.Code, v.Degraded = sentinel.Shadow, CodeShadow, false
	v.RetryAfter, v.WhatYouCanDo = 0, ""
	v.Reason, v.SpentDoubts = "not applied: would "+v.Meta["would"], ""
	return v
}

// logVerdict logs what operators must know, without values: a call that goes ahead
// unjudged, and every missing judgement.
func (g *Gate) logVerdict(ctx context.Context, c sentinel.Call, v sentinel.Verdict) {
	switch {
	case v.Meta["failure"] == "":
		return
	case v.State == sentinel.Skipped:
		g.logLeftToRules(ctx, c, v)
		return
	}
	msg := "the review gave no judgement"
	if v.Degraded {
		msg = "REVIEW DEGRADED: a call goes ahead without a judgement"
	}
	g.o.Log.LogAttrs(ctx, slog.LevelWarn, msg,
		slog.String("code", v.Code), slog.String("failure", v.Meta["failure"]), slog.String("outcome", v.Outcome.String()),
		slog.String("model", v.Meta["model"]), slog.String("failover", v.Meta["failover"]),
		slog.String("skill", c.Skill().Name()), slog.String("effect", string(c.Effect())), slog.Bool("outward", c.Outward()))
}

// State returns how the gate is doing now.
func (g *Gate) State() State {
	s := State{Mode: g.o.Mode, Prompt: g.version, Models: make([]ModelState, 0, len(g.models)+len(g.stronger)), Stats: g.tally.snapshot()}
	for _, m := range g.modelsOfBothChains() {
		m.mu.Lock()
		last, canary, at, doubts := m.lastFailure, m.canary, m.canaryAt, m.doubtCanary
		m.mu.Unlock()
		paused, _ := m.lane.pauseLeft("")
		s.Models = append(s.Models, ModelState{
			Model: m.name, Breaker: m.breaker.Load().State().String(),
			Failures: int(m.breaker.Load().Counts().ConsecutiveFailures), LastFailure: last,
			UnderWay: m.lane.places.countTaken(), Paused: max(paused, 0), Canary: canary, CanaryAt: at, DoubtCanary: doubts,
		})
	}
	return s
}

// Models returns the names of the chain, in order, and after them those of the
// models that give second opinions.
func (g *Gate) Models() []string {
	var out []string
	for _, m := range g.modelsOfBothChains() {
		out = append(out, m.name)
	}
	return out
}

func (g *Gate) modelsOfBothChains() []*model { return append(slices.Clone(g.models), g.stronger...) }

// Renew gives a model of either chain a breaker that knows nothing yet. A supervisor calls it
// when it starts the model's process again. Calls that are under way end with the one before.
// What the server asked for with Retry-After holds on.
func (g *Gate) Renew(name string) {
	for _, m := range g.modelsOfBothChains() {
		if m.name != name {
			continue
		}
		old := m.breaker.Swap(m.fresh())
		if from := old.State(); from != gobreaker.StateClosed {
			m.observer.Breaker(BreakerEvent{Model: name, From: from.String(), To: gobreaker.StateClosed.String()})
		}
	}
}

// askSecondOpinion asks the stronger chain about a judgement and combines the two. What
// the first one lowered stays lowered: agreement alone keeps an approval, and a
// rejection ends as a rejection or, where the stronger one would approve, with a
// person.
func (g *Gate) askSecondOpinion(ctx context.Context, c sentinel.Call, doc string, first opinion, q *inquiry) (sentinel.Verdict, error) {
	q.left, q.second = len(g.stronger), true
	other, err := g.consultChain(ctx, g.stronger, doc, q)
	if err != nil {
		return sentinel.Verdict{}, err
	}
	v := judgedVerdict(first.answer, first.model, first.faults)
	switch {
	case other.model == "" && first.approve:
		v = g.unjudgedVerdict(c, other.faults)
		v.Meta["second_model"], v.Meta["model"] = v.Meta["model"], first.model
		v.Meta["second_failure"] = v.Meta["failure"]
		delete(v.Meta, "failover")
	case other.model == "":
		f := worstFault(other.faults)
		v.Meta["second_model"], v.Meta["second_failure"] = f.model, string(f.kind)
		g.o.Log.LogAttrs(ctx, slog.LevelWarn, "a rejection stands without a second opinion",
			slog.String("failure", string(f.kind)), slog.String("model", f.model), slog.String("skill", c.Skill().Name()))
	case other.approve != first.approve:
		meta := v.Meta
		v = sentinel.Hold(CodeDisagreement, "two models of the sentinel disagree about the call")
		v.Meta = meta
	}
	if len(first.faults) > 0 {
		v.Meta["failover"] = formatFaults(first.faults)
	}
	if len(other.faults) > 0 {
		v.Meta["second_failover"] = formatFaults(other.faults)
	}
	v.Meta["first"] = first.decisionWord()
	v.Detail = first.model + " " + first.decisionWord() + ": " + fmt.Sprintf("%q", first.reason)
	if other.model != "" {
		v.Meta["second"], v.Meta["second_model"] = other.decisionWord(), other.model
		v.Detail += "; " + other.model + " " + other.decisionWord() + ": " + fmt.Sprintf("%q", other.reason)
	}
	if v.Meta["failure"] == "" {
		v = g.o.noteDoubts(c, v)
	}
	return v, nil
}

// leaveToRules is the verdict on a call that the rules decide alone: the day's
// budget is spent, and the operator has said so for such calls. A budget of the
// call's own user or conversation is no reason: it is in that user's hand.
func (g *Gate) leaveToRules(c sentinel.Call, faults []*fault) (sentinel.Verdict, bool) {
	other := func(f *fault) bool { return f.kind != Budget || !strings.HasPrefix(f.budget, daysBudget) }
	switch {
	case len(faults) == 0 || slices.ContainsFunc(faults, other):
		return sentinel.Verdict{}, false
	case !slices.Contains(g.o.RulesFor, string(c.Effect())), c.Outward() && !slices.Contains(g.o.RulesFor, sentinel.OutwardRow):
		return sentinel.Verdict{}, false
	}
	return sentinel.Verdict{
		State: sentinel.Skipped, Reason: "the review's budget for a day is spent, and the rules decide: sentinel.budget.rules_for",
		Meta: map[string]string{"failure": string(Budget), "model": faults[0].model, "rules": faults[0].budget},
	}, true
}

// logLeftToRules logs that a call goes on without the review.
func (g *Gate) logLeftToRules(ctx context.Context, c sentinel.Call, v sentinel.Verdict) {
	g.o.Log.LogAttrs(ctx, slog.LevelWarn, "REVIEW SKIPPED: the budget of the day is spent, and the rules decide",
		slog.String("budget", "sentinel.budget."+v.Meta["rules"]), slog.String("skill", c.Skill().Name()),
		slog.String("effect", string(c.Effect())), slog.Bool("outward", c.Outward()))
}

// daysBudget begins the names of the budgets of all users together.
const daysBudget = "day."

// noteSkip counts a call that the profile left out, and tells the observer.
func (g *Gate) noteSkip(ctx context.Context, c sentinel.Call, v sentinel.Verdict, mode Mode) {
	g.tally.countSkip()
	g.o.Observer.Review(ctx, ReviewEvent{
		Code: v.Code, Mode: mode, Course: Course{Profile: g.o.Profile}, Effect: c.Effect(), Began: time.Now(),
	})
}

// newReviewEvent is the event of a verdict.
func (g *Gate) newReviewEvent(c sentinel.Call, v sentinel.Verdict, q *inquiry) ReviewEvent {
	e := ReviewEvent{
		Outcome: v.Outcome, Code: v.Code, Degraded: v.Degraded, Mode: Enforce,
		Failure: Failure(v.Meta["failure"]), SecondFailure: Failure(v.Meta["second_failure"]),
		Course: Course{
			Cached:    v.Meta["from"] == fromCache || v.Meta["from"] == fromShared,
			Escalated: isEscalated(v), ByRules: v.State == sentinel.Skipped,
			CanaryFailed: v.Meta["canary"] != "" || v.Meta["second_canary"] != "",
		},
		Effect: c.Effect(), Outward: c.Outward(), Model: v.Meta["model"], SecondModel: v.Meta["second_model"],
		Requests: q.sent, TokensIn: q.in, TokensOut: q.out, Cost: q.cost, Began: q.began, Duration: time.Since(q.began),
	}
	if v.State == sentinel.Shadow {
		e.Mode = ShadowMode
	}
	return e
}

// markVerdict notes in a record how the models that it names are to be taken. One may have
// been held to the answer's shape by something weaker than a json_schema. One may be wrong
// about calls whose verdict is known.
func (g *Gate) markVerdict(meta map[string]string) {
	for _, m := range g.modelsOfBothChains() {
		switch {
		case m.form.way == "":
		case m.name == meta["model"]:
			meta["answer"] = m.form.way
		case m.name == meta["second_model"]:
			meta["second_answer"] = m.form.way
		}
		switch failed := m.failedCanary(); {
		case failed && m.name == meta["model"]:
			meta["canary"] = string(CanaryFailed)
		case failed && m.name == meta["second_model"]:
			meta["second_canary"] = string(CanaryFailed)
		}
	}
}
