package handover

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Asker is who wants a line of the check contract decided, as the server knows them. What the line says
// of its user is left aside, and what it grants may only narrow Scope.
type Asker struct {
	Principal, User string
	// Scope are the skills that the principal may use. Empty means all that there are.
	Scope skills.Scope
	// RequestHuman says that the line's requests are the user's own words. Otherwise they ground nothing.
	RequestHuman bool
}

// errorLine is a line that is no case, in the check contract.
type errorLine struct {
	ID    string       `json:"id"`
	Error *cases.Error `json:"error"`
}

// Check decides one line of the check contract and returns the line of its decision, without an end. It
// runs nothing, asks no person, writes no record and counts no limit. What the line's history holds has the
// trust of a client: it taints, and it grounds nothing. The error wraps ErrProposal, or is ctx's.
func (h *Handover) Check(ctx context.Context, a Asker, line []byte) (out []byte, err error) {
	decided, mistake, err := h.CheckLine(ctx, a, line)
	switch {
	case err != nil:
		return nil, err
	case mistake != nil:
		out, _ = plainjson.Marshal(errorLine{decided.ID, mistake}) // plain data, which always works
	default:
		out, _ = plainjson.Marshal(decided)
	}
	return out, nil
}

// CheckLine is Check for programs that write the line themselves. Of a line that is no case it returns what
// is wrong, and the line's id alone.
func (h *Handover) CheckLine(ctx context.Context, a Asker, line []byte) (out sentinel.Line, mistake *cases.Error, err error) {
	for name, text := range map[string]string{"principal": a.Principal, "user": a.User} {
		if err := checkName(name, text, true); err != nil {
			return out, nil, err
		}
	}
	var c cases.Case
	defer func() {
		if recover() != nil { // its value may quote the line
			h.o.Log.Error("a line to check broke", "stack", string(debug.Stack()))
			out, err = sentinel.Line{ID: c.ID}, nil
			mistake = &cases.Error{Code: cases.CodeInternal, Message: "the line broke the check; please report it"}
		}
	}()
	if c, mistake = (cases.Parser{Calls: h.o.Checkpoint}).Parse(line); mistake != nil {
		return sentinel.Line{ID: c.ID}, mistake, nil
	}
	start := h.o.Now()
	if err := a.narrowCase(&c); err != nil {
		return sentinel.Line{ID: c.ID}, &cases.Error{Code: cases.CodeValue, Message: err.Error()}, nil
	}
	d, err := h.decideOnly(ctx, c.Proposal)
	if err != nil {
		return out, nil, err
	}
	d.Elapsed = h.o.Now().Sub(start)
	return d.Line(c.ID), nil, nil
}

// decideOnly decides a proposal that runs nowhere.
func (h *Handover) decideOnly(ctx context.Context, p sentinel.Proposal) (sentinel.Decision, error) {
	call, err := h.o.Checkpoint.NewCall(p)
	var mistake *sentinel.CallError
	if errors.As(err, &mistake) {
		return sentinel.Refused("", mistake, h.o.Now()), nil
	}
	if err != nil {
		return sentinel.Decision{}, err
	}
	return h.o.Checkpoint.Decide(ctx, call)
}

// narrowCase gives a case the authority of who asks.
func (a Asker) narrowCase(c *cases.Case) error {
	g, trace := c.Proposal.Grant, c.Proposal.Trace
	o := sentinel.GrantOptions{
		User: a.User, Conversation: g.Conversation(), Agent: g.Agent(), Mission: g.Mission(), MissionBy: g.MissionBy(), MissionTainted: true,
		Scope: g.Scope(), Tainted: trace.Len() > 0 || trace.HasPastResults() || len(trace.Earlier()) > 0, TaintedBefore: trace.Len() == 0,
		Remote: a.Principal,
	}
	if !a.Scope.Empty() {
		o.Scope = intersectScopes(o.Scope, a.Scope)
	}
	said := "client"
	if request, ok := g.Request(); ok && a.RequestHuman {
		o.Request, o.Earlier, said = &request, g.EarlierTurns(), "human"
	}
	o.ID = deriveID("check", append([]string{a.Principal, a.User, g.ID(), said}, o.Scope.List()...)...)
	narrowed, err := sentinel.NewGrant(o)
	if err != nil {
		return err
	}
	c.Proposal.Grant, c.Proposal.Trace = narrowed, distrustTrace(trace)
	return nil
}

// distrustTrace returns a trace with the trust of a client.
func distrustTrace(t sentinel.Trace) sentinel.Trace {
	steps := make([]sentinel.Step, t.Len())
	for i := range steps {
		steps[i] = t.Step(i)
		steps[i].Trust = skills.Untrusted
	}
	earlier := t.Earlier()
	var past []sentinel.PastResult
	for r := range t.PastResults() {
		if r.Trust == skills.Trusted && !r.Gone {
			r.Trust = skills.Untrusted
			earlier = append(earlier, r.Step)
		}
		past = append(past, r)
	}
	return sentinel.NewTrace(steps...).WithEarlier(earlier...).WithPastResults(past...)
}

// intersectScopes returns what both scopes allow.
func intersectScopes(a, b skills.Scope) skills.Scope {
	var names []string
	for _, pair := range [][2]skills.Scope{{a, b}, {b, a}} {
		for _, n := range pair[0].List() {
			one, _ := skills.NewScope(n) // it was one's entry
			if ok, _ := one.Within(pair[1]); ok {
				names = append(names, n)
			}
		}
	}
	s, _ := skills.NewScope(names...)
	return s
}
