package sentinel

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
)

// The codes of a call that could not be rewritten. They stand in the verdict
// of the permission gate, whose rules did it.
const (
	// CodeModifyUnstable: the rules would rewrite their own result again.
	CodeModifyUnstable = "modify.unstable"
	// CodeModifyError: a rule's condition or its rewrite failed.
	CodeModifyError = "modify.error"
)

// Modifier is what the permission gate is besides where it has rules that
// rewrite: the Checkpoint asks it once for each call, before the gates judge.
// Modify must not change the Call and must say the same of the same call. An
// error denies; a *ModifyError says which rule and why.
type Modifier interface {
	Modify(ctx context.Context, c Call) (Rewrite, error)
}

// Rewrite is what rules made of a call's arguments. The zero value leaves them
// as they are.
type Rewrite struct {
	// Args are the new arguments, as JSON; nil where no rule rewrote.
	Args []byte
	// Rules are the ids of the rules that rewrote, in order.
	Rules []string
}

// ModifyError says why a rule could not rewrite a call.
type ModifyError struct {
	// Rule is the rule's id and Args the declared arguments it is about.
	Rule string
	Args []string
	// Reason holds no value: it is recorded. Detail may hold some.
	Reason, Detail string
}

// Error returns the reason with the rule's id.
func (e *ModifyError) Error() string { return "rule " + e.Rule + " " + e.Reason }

// Modified says what rules, or a person who was asked, changed of a call before it was judged.
type Modified struct {
	// Call and Digest are those of the call as it was proposed.
	Call   string
	Digest string
	// Rules are the ids of the rules that rewrote, in order.
	Rules []string
	// Args are the declared arguments whose values changed, sorted.
	Args []string
	// EditedBy is the person who gave the call other arguments; empty where rules alone did.
	EditedBy string
}

// Note tells the agent what was changed. It holds names alone.
func (m Modified) Note() string {
	if m.EditedBy != "" {
		return m.noteEdited()
	}
	return fmt.Sprintf("The operator's rules changed this call before it was judged (%s; by %s). What counts is the changed call.",
		joinOrNone(m.Args), strings.Join(m.Rules, ", "))
}

func joinOrNone(list []string) string {
	if len(list) == 0 {
		return "arguments"
	}
	return strings.Join(list, ", ")
}

// Modified tells what rules, or a person who was asked, changed of the call; ok is false for a
// call as it was proposed.
func (c Call) Modified() (m Modified, ok bool) {
	parts := c.parts()
	if parts.parent == nil {
		return Modified{}, false
	}
	m = Modified{
		Call: parts.parent.ID(), Digest: parts.parent.Digest(), Rules: slices.Clone(parts.rewroteBy), Args: slices.Clone(parts.rewrote),
	}
	if parts.edited != nil {
		m.EditedBy = parts.edited.By
	}
	return m, true
}

// Proposed is the call as it was proposed: the one that rules or a person made
// this of, or this one.
func (c Call) Proposed() Call {
	if p := c.parts().parent; p != nil {
		return *p
	}
	return c
}

// Rewrite applies the rules that rewrite and returns the call that the gates
// judge: c itself where none did. Where it failed, v says so and counts as a
// denial by the permission gate; the call is then c. A call that was
// rewritten before is not rewritten again.
func (p *Checkpoint) Rewrite(ctx context.Context, c Call) (out Call, v *Verdict) {
	return p.rewrite(ctx, p.policyInForce(), c)
}

// rewrite is Rewrite by the rules of a policy.
func (p *Checkpoint) rewrite(ctx context.Context, pol *policy, c Call) (out Call, v *Verdict) {
	m, ok := pol.gates[GatePermission].(Modifier)
	if !ok || c.Skill() == nil || c.isRewritten() || c.parts().follows != nil { // what follows is only lowered
		return c, nil
	}
	defer func() {
		if r := recover(); r != nil {
			p.logger().Error("a rule that rewrites panicked", "stack", string(debug.Stack()))
			out, v = c, refuseUnmodified(&ModifyError{Reason: "broke"})
		}
	}()
	r, err := m.Modify(ctx, c)
	if err != nil {
		return c, refuseUnmodified(err)
	}
	if r.Args == nil {
		return c, nil
	}
	next, err := p.newRewrittenCall(c, r)
	if err != nil {
		return c, refuseUnmodified(&ModifyError{
			Rule: strings.Join(r.Rules, ", "), Reason: "made arguments that are no call", Detail: err.Error(),
		})
	}
	if next.Args() == c.Args() {
		return c, nil
	}
	again, err := m.Modify(ctx, next)
	if err != nil {
		return c, refuseUnmodified(err)
	}
	if again.Args == nil {
		return next, nil
	}
	if third, err := p.newRewrittenCall(next, again); err != nil || third.Args() != next.Args() {
		return c, refuseUnstable(next, again)
	}
	return next, nil
}

// newRewrittenCall makes the call that a rewrite results in. Its id follows from its
// parent's and its bytes, so that a repeat of the proposal has the same
// Idempotency-Key.
func (p *Checkpoint) newRewrittenCall(c Call, r Rewrite) (Call, error) {
	next, err := p.NewCall(Proposal{
		Skill: c.Name(), Args: r.Args, Grant: c.Grant(), Trace: c.Trace(), BeforeTaint: c.BeforeTaint(), ID: c.ID(),
		Tool: c.Skill(),
	})
	if err != nil {
		return Call{}, err
	}
	made, proposed := *next.parts(), c.Proposed()
	made.id = editedID(c, made.digest)
	made.parent, made.rewroteBy, made.edited = &proposed, slices.Clone(r.Rules), c.parts().edited
	for _, name := range made.skill.DeclaredArgs() {
		was, had := proposed.Parsed()[name]
		is, has := made.parsed[name]
		if had != has || !reflect.DeepEqual(was, is) {
			made.rewrote = append(made.rewrote, name)
		}
	}
	return Call{held: &made}, nil
}

// isRewritten reports whether rules made the call of another. What a person made of one they may
// rewrite still.
func (c Call) isRewritten() bool {
	p := c.parts()
	return p.parent != nil && (p.edited == nil || len(p.rewroteBy) > 0)
}

// Edited tells who gave the call its arguments in place of its agent; ok is false where no person
// did. Modified tells then what they changed.
func (c Call) Edited() (e Edited, ok bool) {
	if p := c.parts().edited; p != nil {
		return *p, true
	}
	return Edited{}, false
}

// newEditedCall makes the call that a person wants to run in place of c, as it was proposed. Its
// id follows from that one's and its bytes, as that of a call that rules rewrote.
func (p *Checkpoint) newEditedCall(c Call, e edit) (Call, error) {
	was := c.Proposed()
	_, edited, err := canonicalize(e.args)
	if err != nil || was.Skill() == nil || was.parts().follows != nil {
		return Call{}, errors.Join(errors.New("the edit is not arguments for the call"), err)
	}
	edited, err = keepSecrets(was.Skill(), was.Parsed(), was.Skill().WithSizedSecrets(was.Parsed()), edited)
	if err != nil {
		return Call{}, err
	}
	next, err := p.newRewrittenCall(was, Rewrite{Args: encodeJSON(edited)})
	if err != nil {
		return Call{}, err
	}
	next.held.edited = &Edited{By: e.by, Via: e.via, Decision: e.decision, Digest: next.Digest()}
	return next, nil
}

// refuseUnmodified is the denial of a call that a rule failed to rewrite.
func refuseUnmodified(err error) *Verdict {
	var e *ModifyError
	if !errors.As(err, &e) {
		e = &ModifyError{Reason: "could not be evaluated", Detail: err.Error()}
	}
	v := Refuse(CodeModifyError, strings.TrimSpace("rule "+e.Rule)+" "+e.Reason)
	v.Detail = e.Detail
	v.Evidence = []Evidence{{Signal: strings.TrimSpace("rule "+e.Rule) + " error", Args: e.Args}}
	v.WhatYouCanDo = "send every argument that the skill describes, in its declared type; if that does " +
		"not help, tell the operator which rule fails"
	return &v
}

// refuseUnstable is the denial of a call whose rewriting has no end.
func refuseUnstable(next Call, again Rewrite) *Verdict {
	v := Refuse(CodeModifyUnstable, "the rules would rewrite their own result again ("+strings.Join(again.Rules, ", ")+")")
	v.Evidence = []Evidence{{Signal: "rule " + strings.Join(again.Rules, ", "), Args: next.parts().rewrote}}
	v.WhatYouCanDo = "don't repeat the call; tell the operator which rules contradict each other"
	return &v
}

// mergeDenial puts the denial of a failed rewrite into the place of the
// permission gate's verdict, and keeps what that gate had found.
func mergeDenial(own, failed Verdict) Verdict {
	failed.Gate, failed.Elapsed = own.Gate, own.Elapsed
	failed.Evidence = append(slices.Clone(failed.Evidence), own.Evidence...)
	failed.Detail = strings.Trim(failed.Detail+"\n"+own.Detail, "\n")
	return failed
}
