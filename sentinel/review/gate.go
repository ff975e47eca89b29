package review

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

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
	models  []*model
	// stronger gives second opinions; it is empty without Options.Escalate.
	stronger []*model
	tally    tally

	answers  *kept // by situation; nil where nothing is kept
	ahead    *kept // by question
	flights  flights
	doubts   chan *model // to be looked at by RunCanaries
	watching atomic.Int32
}

// New checks the options and returns the gate, or every fault as joined
// *skills.PathError values: roles.sentinel without a model, sentinel.unavailable
// with a row that is no effect, a negative time.
func New(o Options) (*Gate, error) {
	o, err := o.prepare()
	if err != nil {
		return nil, err
	}
	g := &Gate{
		o: o, version: o.promptVersion(),
		answers: newKept(o.CacheSize, o.CacheTTL, o.Now), ahead: newKept(aheadSize, aheadFor, o.Now),
	}
	if !o.off() {
		a := &alarm{log: o.Log}
		for _, c := range o.Models {
			g.models = append(g.models, newModel(c, o, a))
		}
		for _, c := range o.Escalate.To {
			g.stronger = append(g.stronger, newModel(c, o, a))
		}
		g.doubts = make(chan *model, len(g.all()))
		for _, m := range g.all() {
			m.doubt, m.prove, m.watched = func() { g.doubt(m) }, func() { g.look(m) }, g.watched
		}
	}
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
	case gaveUp(ctx) != nil:
		return sentinel.Verdict{}, canceled(ctx)
	}
	q := g.inquire(c)
	v, err := g.recall(ctx, c, q)
	g.tally.asked(q.sent)
	if err != nil {
		return sentinel.Verdict{}, err
	}
	v.Gate = sentinel.GateReview
	v.Meta["prompt"] = g.version
	g.mark(v.Meta)
	if v.Meta["attempts"] == "" { // else it was asked ahead, and paid for then
		v = q.stamp(v)
	}
	if mode == ShadowMode && v.State != sentinel.Skipped {
		v = shadow(v)
	}
	g.tally.add(v)
	g.o.Observer.Review(ctx, g.observed(c, v, q))
	g.tell(ctx, c, v)
	return v, nil
}

// review goes along the chain until a model judges.
func (g *Gate) review(ctx context.Context, c sentinel.Call, doc string, q *inquiry) (sentinel.Verdict, error) {
	q.left = len(g.models)
	if g.o.Escalate.wanted(c.Effect(), true) || g.o.Escalate.wanted(c.Effect(), false) {
		q.left += len(g.stronger)
	}
	first, err := g.consult(ctx, g.models, doc, q)
	switch {
	case err != nil:
		return sentinel.Verdict{}, err
	case first.model == "":
		if v, ok := g.leaveToRules(c, first.faults); ok {
			return v, nil
		}
		return g.unjudged(c, first.faults), nil
	case g.o.Escalate.wanted(c.Effect(), first.approve):
		return g.second(ctx, c, doc, first, q)
	}
	return judged(first.answer, first.model, first.faults), nil
}

// consult goes along a chain until a model judges.
func (g *Gate) consult(ctx context.Context, chain []*model, doc string, q *inquiry) (opinion, error) {
	var faults []*fault
	for _, m := range chain {
		a, err := m.judge(ctx, doc, q)
		if err == nil {
			return opinion{a, m.name, faults}, nil
		}
		var f *fault
		if !errors.As(err, &f) || gaveUp(ctx) != nil {
			return opinion{}, canceled(ctx)
		}
		faults = append(faults, f)
	}
	return opinion{faults: faults}, nil
}

// judged is the verdict of a model that answered, after others had failed.
func judged(a answer, name string, before []*fault) sentinel.Verdict {
	v := sentinel.Pass()
	switch {
	case a.unsure:
		v = sentinel.Refuse(CodeUnsure, "the sentinel approved the call with a confidence below sentinel.reject_below")
	case !a.approve:
		v = sentinel.Refuse(CodeRejected, "the sentinel rejected the call")
	}
	v.Detail, v.Score, v.HasScore = a.reason, a.score, a.graded
	v.Meta = map[string]string{"model": name}
	if len(before) > 0 {
		v.Meta["failover"] = list(before)
	}
	return v
}

// unjudged is the verdict when every model failed: of the cells that their
// failures point at, the strictest. Of equal ones an unjudgeable failure
// counts, so that the record shows what may have been provoked.
func (g *Gate) unjudged(c sentinel.Call, faults []*fault) sentinel.Verdict {
	var worst *fault
	var outcome sentinel.Outcome
	var row string
	var retry time.Duration
	for _, f := range faults {
		o, r := g.table(f.kind).cell(c.Effect(), c.Outward())
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
		v.Meta["failover"] = list(faults)
	}
	return v
}

func (g *Gate) table(f Failure) Table {
	if f.Unavailable() {
		return g.o.Unavailable
	}
	return g.o.Unjudgeable
}

// list writes "fast=connect primary=refusal".
func list(faults []*fault) string {
	words := make([]string, len(faults))
	for i, f := range faults {
		words[i] = f.model + "=" + string(f.kind)
	}
	return strings.Join(words, " ")
}

// shadow keeps what a verdict says and takes away what it does.
func shadow(v sentinel.Verdict) sentinel.Verdict {
	v.Meta["would"] = v.Outcome.String()
	if v.Code != "" {
		v.Meta["would_code"] = v.Code
	}
	v.State, v.Code, v.Degraded = sentinel.Shadow, CodeShadow, false
	v.RetryAfter, v.WhatYouCanDo = 0, ""
	v.Reason = "not applied: would " + v.Meta["would"]
	return v
}

// tell logs what operators must know, without values: a call that goes ahead
// unjudged, and every missing judgement.
func (g *Gate) tell(ctx context.Context, c sentinel.Call, v sentinel.Verdict) {
	switch {
	case v.Meta["failure"] == "":
		return
	case v.State == sentinel.Skipped:
		g.tellRules(ctx, c, v)
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
