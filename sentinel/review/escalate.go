package review

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Escalate asks a stronger model for a second opinion. Its zero value asks none.
type Escalate struct {
	// To is the chain of stronger models, none of them in Options.Models.
	To []*llm.Client
	// Rejected and Approved are the effects of calls whose rejection, and whose
	// approval, is looked at again. Nil is read and create, and irreversible and
	// costs_money.
	Rejected, Approved []skills.Effect
}

func (e Escalate) complete() Escalate {
	if e.Rejected == nil {
		e.Rejected = []skills.Effect{skills.Read, skills.Create}
	}
	if e.Approved == nil {
		e.Approved = []skills.Effect{skills.Irreversible, skills.CostsMoney}
	}
	return e
}

func (e Escalate) check(first []*llm.Client) error {
	var errs []error
	for i, m := range e.To {
		same := func(o *llm.Client) bool { return o != nil && m != nil && o.Name() == m.Name() }
		path := fmt.Sprintf("sentinel.escalate.to[%d]", i)
		switch {
		case m == nil:
			errs = append(errs, &skills.PathError{Path: path, Msg: "is no model"})
		case slices.ContainsFunc(first, same) || slices.ContainsFunc(e.To[:i], same):
			errs = append(errs, &skills.PathError{Path: path, Msg: fmt.Sprintf("names %q again; a second opinion is another model's", m.Name())})
		}
	}
	for _, l := range []struct {
		path string
		list []skills.Effect
	}{{"sentinel.escalate.rejected", e.Rejected}, {"sentinel.escalate.approved", e.Approved}} {
		for _, effect := range l.list {
			if !slices.Contains(skills.Effects(), effect) {
				errs = append(errs, &skills.PathError{Path: l.path, Msg: fmt.Sprintf("%q is no effect", string(effect))})
			}
		}
	}
	return errors.Join(errs...)
}

// wanted reports whether a judgement is looked at again.
func (e Escalate) wanted(effect skills.Effect, approved bool) bool {
	list := e.Rejected
	if approved {
		list = e.Approved
	}
	return len(e.To) > 0 && slices.Contains(list, effect)
}

// opinion is what came of asking a chain.
type opinion struct {
	answer
	model  string   // that judged, empty if none did
	faults []*fault // of those before it
}

// second asks the stronger chain about a judgement and combines the two. What
// the first one lowered stays lowered: agreement alone keeps an approval, and a
// rejection ends as a rejection or, where the stronger one would approve, with a
// person.
func (g *Gate) second(ctx context.Context, c sentinel.Call, doc string, first opinion, q *inquiry) (sentinel.Verdict, error) {
	q.left, q.second = len(g.stronger), true
	other, err := g.consult(ctx, g.stronger, doc, q)
	if err != nil {
		return sentinel.Verdict{}, err
	}
	v := judged(first.answer, first.model, first.faults)
	switch {
	case other.model == "" && first.approve:
		v = g.unjudged(c, other.faults)
		v.Meta["second_model"], v.Meta["model"] = v.Meta["model"], first.model
		v.Meta["second_failure"] = v.Meta["failure"]
		delete(v.Meta, "failover")
	case other.model == "":
		f := worst(other.faults)
		v.Meta["second_model"], v.Meta["second_failure"] = f.model, string(f.kind)
		g.o.Log.LogAttrs(ctx, slog.LevelWarn, "a rejection stands without a second opinion",
			slog.String("failure", string(f.kind)), slog.String("model", f.model), slog.String("skill", c.Skill().Name()))
	case other.approve != first.approve:
		meta := v.Meta
		v = sentinel.Hold(CodeDisagreement, "two models of the sentinel disagree about the call")
		v.Meta = meta
	}
	if len(first.faults) > 0 {
		v.Meta["failover"] = list(first.faults)
	}
	if len(other.faults) > 0 {
		v.Meta["second_failover"] = list(other.faults)
	}
	v.Meta["first"] = first.word()
	v.Detail = first.model + " " + first.word() + ": " + fmt.Sprintf("%q", first.reason)
	if other.model != "" {
		v.Meta["second"], v.Meta["second_model"] = other.word(), other.model
		v.Detail += "; " + other.model + " " + other.word() + ": " + fmt.Sprintf("%q", other.reason)
	}
	return v, nil
}

func (a answer) word() string {
	if a.approve {
		return "approve"
	}
	return "reject"
}

// worst is the fault that is told of: one that makes the call unjudgeable
// before one of a model that is down.
func worst(faults []*fault) *fault {
	i := slices.IndexFunc(faults, func(f *fault) bool { return !f.kind.Unavailable() })
	return faults[max(i, 0)]
}
