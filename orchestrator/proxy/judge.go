package proxy

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/skills"
)

// checkArguments is the check of arguments of every call.
func checkArguments(args []byte) error { return sentinel.CheckArguments(args) }

const (
	// recordTime bounds how long what became of a call may take to be written down.
	recordTime = time.Minute
	// decideTime bounds how long the gates may take, the review included.
	decideTime = 5 * time.Minute
)

// judge decides the calls of one answer, each beside the others.
type judge struct {
	x *exchange

	mu        sync.Mutex
	allowed   map[int]allowedCall // by number, until they have left
	decisions []string            // ids, for the header
	closed    bool                // nothing leaves any more
}

// allowedCall is a call that may leave.
type allowedCall struct {
	id   string
	call stream.Call
}

func newJudge(x *exchange) *judge { return &judge{x: x, allowed: map[int]allowedCall{}} }

// decide returns the word on a call. It waits for a person up to hold, and as long as ctx, where the call is asked about.
func (j *judge) decide(ctx context.Context, c stream.Call, hold time.Duration) (d stream.Decision) {
	x := j.x
	defer func() {
		if recover() != nil {
			x.o.Log.Error("a proxied call broke; it was blocked", "request_id", x.event.Request, "stack", string(debug.Stack()))
			d = stream.Decision{Gate: "proxy", Reason: "the proxy could not judge it"}
		}
	}()
	<-x.arrived
	if x.failed != nil {
		return j.explain(x.failed)
	}
	deciding, cancel := context.WithTimeout(context.WithoutCancel(ctx), decideTime) // also where the client leaves: it is on record then
	defer cancel()
	p, err := j.propose(c)
	if err != nil {
		return j.refuse(deciding, p, sentinel.CodeSkillName, "the tool's name is longer than a skill's may be")
	}
	a, err := x.forward.Forward(deciding, p)
	if err == nil && a.State == handover.Pending && hold > 0 {
		a, err = j.await(ctx, p, a, hold)
	}
	if err != nil {
		return j.explain(err)
	}
	j.note(a.DecisionID)
	return j.take(c, a)
}

// await holds the stream for a person, where the key may hold one more.
func (j *judge) await(ctx context.Context, p handover.Proposal, asked handover.Answer, hold time.Duration) (handover.Answer, error) {
	end, ok := j.x.loads.beginHeld(j.x.caller.principal.ID, j.x.proxy.Limits.Held)
	if !ok {
		return asked, nil
	}
	defer end()
	p.Wait = hold
	return j.x.forward.Forward(ctx, p)
}

// propose makes the proposal of a call. The error is that of a name that is no skill's.
func (j *judge) propose(c stream.Call) (handover.Proposal, error) {
	x, who := j.x, j.x.caller.principal
	p := handover.Proposal{
		Principal: who.ID, By: who.Name, User: x.caller.user, Conversation: x.caller.thread.Name, Turn: x.around.turn,
		Arguments: c.Args, Request: x.around.request, RequestHuman: x.around.human, History: x.around.now, Scope: who.Skills,
		Only: x.caller.only, Forwarding: &handover.Forwarding{Said: x.around.said, Before: x.around.before},
	}
	tool := x.form.ToolName(c)
	name, ok := skills.NameTool(tool)
	if !ok {
		return p, errLongName
	}
	p.Skill = name
	if _, known := x.o.Registry.Get(name); known {
		return p, nil
	}
	s, err := x.catalog.Compile(x.proxy.Tools, x.request.Tools, tool)
	if err != nil { // the checkpoint knows no such skill, and denies
		x.o.Log.Warn("a call is of a tool that its request doesn't declare in a form that can be read", "error", err,
			"request_id", x.event.Request)
	}
	p.Forwarding.Tool = s
	return p, nil
}

var errLongName = errors.New("the tool's name is too long")

// take makes a decision of an answer.
func (j *judge) take(c stream.Call, a handover.Answer) stream.Decision {
	switch {
	case a.State == handover.Allowed && a.Warrant != "":
		return j.allow(c, a)
	case a.State == handover.Pending:
		return stream.Decision{Gate: sentinel.GateApproval, ID: a.Approval,
			Reason: "a person is asked; once that is approved, the same call passes once" + j.link(a.Approval)}
	case a.Refusal != nil:
		return stream.Decision{Gate: a.Refusal.Gate, Reason: a.Refusal.Reason, ID: a.DecisionID}
	}
	return stream.Decision{Gate: "proxy", Reason: "the call isn't allowed", ID: a.DecisionID}
}

// link names where a person answers.
func (j *judge) link(approval string) string {
	if j.x.o.PublicURL == "" {
		return ""
	}
	return ": " + j.x.o.PublicURL + "/approvals/" + approval
}

// allow lets a call through, unless rules or a person gave it other arguments: what was judged is what leaves.
func (j *judge) allow(c stream.Call, a handover.Answer) stream.Decision {
	canonical, _, err := sentinel.CanonicalArgs(c.Args)
	if err != nil || canonical != string(a.Arguments) {
		j.tellForwarded(a.ID, false)
		return stream.Decision{Gate: sentinel.GatePermission, ID: a.DecisionID,
			Reason: "a rule or a person changed the call, and the proxy forwards calls as the model wrote them"}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		j.tellForwarded(a.ID, false)
		return stream.Decision{}
	}
	j.allowed[c.Number] = allowedCall{a.ID, c}
	return stream.Decision{Allow: true, ID: a.DecisionID}
}

// explain is the decision on a call that could not be decided.
func (j *judge) explain(err error) stream.Decision {
	reason := "the call could not be decided"
	switch {
	case errors.Is(err, sentinel.ErrNotRecorded):
		reason = "the decision could not be recorded, so nothing may run"
	case errors.Is(err, handover.ErrBusy):
		reason = "too many calls are under way; try again later"
	case errors.Is(err, handover.ErrClosed), errors.Is(err, context.Canceled):
		return stream.Decision{Gate: "proxy", Reason: "the proxy is ending, or the client left; try again later"}
	}
	j.x.o.Log.Warn("a proxied call could not be decided; it was blocked", "error", err, "request_id", j.x.event.Request)
	return stream.Decision{Gate: "proxy", Reason: reason}
}

// refuse writes down a call that was blocked without a decision.
func (j *judge) refuse(ctx context.Context, p handover.Proposal, code, reason string) stream.Decision {
	a, err := j.x.forward.Refuse(ctx, p, code, reason)
	if err != nil {
		return j.explain(err)
	}
	j.note(a.Refusal.DecisionID)
	return stream.Decision{Gate: sentinel.GateParse, Reason: reason, ID: a.Refusal.DecisionID}
}

// recordRefused writes down, beside the answer, what the stream blocked by itself.
func (j *judge) recordRefused(list []stream.Refusal) {
	for _, r := range list {
		j.x.work.Go(func() {
			ctx, cancel := context.WithTimeout(j.x.base, recordTime)
			defer cancel()
			<-j.x.arrived
			p, _ := j.propose(stream.Call{Name: r.Name}) // a name that is none changes nothing
			j.refuse(ctx, p, r.Code, stream.DescribeCode(r.Code))
		})
	}
}

// keep notes calls that are about to leave, for the request that brings their results.
func (j *judge) keep(numbers []int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, n := range numbers {
		if a, ok := j.allowed[n]; ok {
			j.x.memory.keepCall(handover.ForwardingID(j.x.caller.of()), a.call.ID, a.id, a.call.Args)
		}
	}
}

// left takes down, beside the answer, that calls have left in it.
func (j *judge) left(numbers []int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, n := range numbers {
		if a, ok := j.allowed[n]; ok {
			delete(j.allowed, n)
			j.tellForwarded(a.id, true)
		}
	}
}

// close takes down that what was allowed and has not left never will.
func (j *judge) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	for n, a := range j.allowed {
		j.tellForwarded(a.id, false)
		delete(j.allowed, n)
	}
}

// tellForwarded writes down, beside the answer, whether a call has left.
func (j *judge) tellForwarded(id string, left bool) {
	x := j.x
	x.work.Go(func() {
		ctx, cancel := context.WithTimeout(x.base, recordTime)
		defer cancel()
		if err := x.forward.Forwarded(ctx, x.caller.of(), id, left); err != nil {
			x.o.Log.Warn("it could not be written down whether a call was forwarded", "call", id, "error", err)
		}
	})
}

// note keeps the decision's id for the header.
func (j *judge) note(id string) {
	if id == "" {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.decisions = append(j.decisions, id)
}

// listDecisions returns the ids of the decisions, as the header has them.
func (j *judge) listDecisions() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.decisions, ", ")
}
