package review

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
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

func (e Escalate) withDefaults() Escalate {
	if e.Rejected == nil {
		e.Rejected = []skills.Effect{skills.Read, skills.Create}
	}
	if e.Approved == nil {
		e.Approved = []skills.Effect{skills.Irreversible, skills.CostsMoney}
	}
	return e
}

func (e Escalate) checkEscalate(first []*llm.Client) error {
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

// wantsSecond reports whether a judgement is looked at again.
func (e Escalate) wantsSecond(effect skills.Effect, approved bool) bool {
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
