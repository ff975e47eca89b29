package sentinel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cmp"
	"encoding/json"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// CodeInherited is the code of the judge and the review on a call that follows from
// another: what they said of that one holds.
const CodeInherited = "inherited"

// FollowID is the id of the call that follows from the call of that id.
func FollowID(callID string) string { return callID + ".commit" }

// following is what a call that follows from another has besides its arguments.
type following struct {
	first    Call
	decision string // the one that allowed the first call
	writes   []skills.FollowPath
	reasons  []string
}

// newFollowing returns what the proposal says of the call that it follows; nil for none.
func (p Proposal) newFollowing() *following {
	if p.Follows == nil {
		return nil
	}
	return &following{*p.Follows, p.FollowsDecision, slices.Clone(p.Writes), slices.Clone(p.Reasons)}
}

// touchWrites is what a call touches that would write these paths. They are names of
// files and no text of a model's, so nothing in them is expanded.
func touchWrites(writes []skills.FollowPath, env touch.Env) touch.Touch {
	var t touch.Touch
	for _, w := range writes {
		p := touch.Path{Raw: w.Path, Clean: w.Path, Real: touch.Real(w.Path, env), Access: touch.Write, Inert: w.Inert}
		if w.Deleted {
			p.Access, p.Recursive = touch.Delete, true
		}
		t.Paths = append(t.Paths, p)
	}
	return t
}

// inheritVerdict is the word of a gate that judges what was said, on a call that follows
// from one that it has judged: nothing new was said. A gate that is left out stays so.
func inheritVerdict(g Gate, c Call) (Verdict, bool) {
	_, out := g.(skipGate)
	f := c.parts().follows
	if f == nil || out || g.Name() != GateJudge && g.Name() != GateReview {
		return Verdict{}, false
	}
	v := Pass()
	v.Code, v.Meta = CodeInherited, map[string]string{"decision": f.decision}
	return v, true
}

// concludeFollow decides and runs the call that a skill asks for, and returns what the
// first call comes to. What was refused or failed is thrown away. What may have happened
// in part stays, for the next start to end, and so does what a person is still asked about:
// the error wraps ErrHeld then.
func (i *invocation) concludeFollow(ctx context.Context) error {
	f, p := i.result.Follow, i.p
	if f == nil {
		return i.failed
	}
	why := i.invokeFollow(ctx)
	if errors.Is(why, ErrHeld) {
		if p.keepsFollows() {
			return why
		}
		why = p.withdrawFollow(ctx, i.followID())
	}
	if why == nil {
		return i.failed
	}
	said := fmt.Errorf("what the program wrote was not committed: %w", why)
	if i.failed != nil {
		said = fmt.Errorf("%w; the program itself failed: %w", said, i.failed)
	}
	var failed *skills.Failure
	if errors.As(why, &failed) && failed.Unknown {
		return &skills.Failure{Code: skills.FailNotCommitted, Unknown: true, Err: said}
	}
	p.dropFollow(i.call.ID(), f.Drop)
	return &skills.Failure{Code: skills.FailNotCommitted, Err: said}
}

// invokeFollow takes the call that a skill asks for through the checkpoint, under the grant
// and trace of the first. The error is a *skills.Refusal where it was refused, a
// *skills.Failure where it ran and failed, and wraps ErrHeld where a person is still asked.
func (i *invocation) invokeFollow(ctx context.Context) error {
	if i.result.Follow.Skill != skills.CommitName {
		return errors.New("the skill asks for a call that none may ask for")
	}
	f := i.newFollow()
	leave, err := i.p.locks.lockCall(ctx, f.proposal.ID)
	if err != nil {
		return err
	}
	defer leave()
	f.limitsVerdict = Verdict{Gate: GateLimits, State: Skipped, Reason: "it follows a call that used a slot"}
	if v, ok := i.p.stopVerdict(f.proposal.Grant, f.proposal.Skill); ok {
		f.limitsVerdict = v
	}
	_, err = f.takeSteps(ctx, f.parse, f.judge, f.review, f.approve, f.commit, f.execute, f.finishFollow)
	return err
}

// finishFollow records what became of a call that follows from another.
func (i *invocation) finishFollow(ctx context.Context) error {
	i.result.Follow = nil // a chain has two links
	b := outcomeBody{ElapsedUS: i.p.now().Sub(i.began).Microseconds()}
	values := b.describeRun(i.call, i.result, i.failed)
	if stopped := stopOf(i.failed); stopped != nil {
		b.Status, b.Code = StatusFailed, stopped.code
	}
	i.recordOutcome(ctx, b, values)
	return nil
}

// FollowKeeper gives back what waits for a call that follows from another, in a process
// that didn't make it.
type FollowKeeper interface {
	// Restore returns what was asked for with these arguments. An error that isn't ctx's
	// says that it is gone, or isn't what the arguments say.
	Restore(ctx context.Context, args json.RawMessage) (*skills.Follow, error)
	// Drop throws away what waits for the call with these arguments. What is gone already
	// is no error.
	Drop(args json.RawMessage) error
}

// ranBody is what is kept of how a program ran, until its call has an outcome.
type ranBody struct {
	Isolation string          `json:"isolation,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	Egress    *skills.Egress  `json:"egress,omitempty"`
	Details   json.RawMessage `json:"details,omitempty"`
}

// notCommitted is the failure of a call whose changes were thrown away.
func notCommitted(why error) *skills.Failure {
	return &skills.Failure{Code: skills.FailNotCommitted, Err: fmt.Errorf("what the program wrote was not committed: %w", why)}
}

// followPast is what is on record of a call that follows from another.
type followPast struct {
	id       string
	first    string          // the id under which its first call was proposed
	decided  *Record         // the last decision
	ended    *Record         // the last outcome
	question *heldBefore     // a person is being asked, and nothing was decided since
	asked    json.RawMessage // the arguments of the question; nil where they were erased
	kept     []Value         // what its first call had returned
}

func readFollow(id string, list []Record) followPast {
	f := followPast{id: id, first: strings.TrimSuffix(id, FollowID(""))}
	past, _ := readPast(id, list)
	f.question = past.held
	for _, r := range list {
		if r.Kind == RecordHeld || r.Kind == RecordDecision {
			f.readKept(r)
		}
		if args, ok := r.findValue("args"); ok && r.Kind == RecordHeld {
			f.asked = args
		}
		switch r.Kind {
		case RecordDecision:
			f.decided = &r
		case RecordOutcome:
			f.ended = &r
		}
	}
	return f
}

// firstResult is what the first call had returned.
func (f followPast) firstResult() (res skills.Result, err error) {
	for _, v := range f.kept {
		switch v.Name {
		case "result":
			res.Content = string(v.Data)
		case "error":
			err = &skills.Failure{Code: skills.FailFailed, Err: pastError(strings.TrimPrefix(string(v.Data), "skill "+skills.FailFailed+": "))}
		case "ran":
			var ran ranBody
			_ = json.Unmarshal(v.Data, &ran) // what can't be read is left out
			res.Isolation, res.Truncated, res.Egress = ran.Isolation, ran.Truncated, ran.Egress
			if res.Egress != nil {
				res.Egress.Details = ran.Details
			}
		}
	}
	return res, err
}

// readKept takes down what a record says of the first call.
func (f *followPast) readKept(r Record) {
	b, _ := r.readProposal()
	f.first = cmp.Or(b.Follows, f.first)
	var kept []Value
	for _, name := range []string{"result", "error", "ran"} {
		if data, ok := r.findValue(name); ok {
			kept = append(kept, Value{name, data})
		}
	}
	if len(kept) > 0 { // a question that was ended keeps none
		f.kept = kept
	}
}

// hasKnownEnd reports whether the call's end is on record, as success or as a failure that
// did nothing.
func (f followPast) hasKnownEnd() bool { return f.ended != nil && f.ended.Outcome != StatusUnknown }

// firstFailure is what the first call comes to after an end that is known; nil for success.
func (f followPast) firstFailure() error {
	if f.ended.Outcome == StatusOK {
		return nil
	}
	said, _ := f.ended.findValue("error")
	return notCommitted(pastError(said))
}

// followID is the id of the call that follows from this one.
func (i *invocation) followID() string {
	if i.resumed != nil {
		return i.resumed.id
	}
	return FollowID(i.call.ID())
}

// newFollow is the invocation of the call that follows from this one. Its records hold what
// this one returned, for another process that has to tell its end.
func (i *invocation) newFollow() *invocation {
	first, f := i.call, i.result.Follow
	next := &invocation{p: i.p, desk: i.desk, restartable: true, proposal: Proposal{
		Skill: f.Skill, Args: f.Args, Grant: first.Grant(), Trace: first.Trace(), BeforeTaint: first.BeforeTaint(), ID: i.followID(),
		Follows: &first, FollowsDecision: i.decision.ID, Writes: f.Paths, Reasons: f.Reasons,
	}}
	if i.resumed != nil {
		next.held, next.kept = i.resumed.question, i.resumed.kept
		return next
	}
	kept := Value{"result", []byte(i.result.Content)}
	if i.failed != nil {
		kept = Value{"error", []byte(i.failed.Error())}
	}
	ran := ranBody{Isolation: i.result.Isolation, Truncated: i.result.Truncated, Egress: i.result.Egress}
	if ran.Egress != nil && len(ran.Egress.Details) > 0 {
		ran.Details = ran.Egress.Details
	}
	next.kept = []Value{kept, {"ran", encodeJSON(ran)}}
	return next
}
