package sentinel

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// following returns what the proposal says of the call that it follows; nil for none.
func (p Proposal) following() *following {
	if p.Follows == nil {
		return nil
	}
	return &following{*p.Follows, p.FollowsDecision, slices.Clone(p.Writes), slices.Clone(p.Reasons)}
}

// Follows returns the call that made this one necessary; ok is false for a call that an
// agent proposed.
func (c Call) Follows() (first Call, ok bool) {
	if c.follows == nil {
		return Call{}, false
	}
	return c.follows.first, true
}

// Reasons are the skill's own words on why a person must be asked about a call that
// follows from another.
func (c Call) Reasons() []string {
	if c.follows == nil {
		return nil
	}
	return slices.Clone(c.follows.reasons)
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
	if c.follows == nil || out || g.Name() != GateJudge && g.Name() != GateReview {
		return Verdict{}, false
	}
	v := Pass()
	v.Code, v.Meta = CodeInherited, map[string]string{"decision": c.follows.decision}
	return v, true
}

// concludeFollow decides and runs the call that a skill asks for, and returns what the
// first call comes to. What was refused or failed is thrown away. What may have happened
// in part stays, for the next start to end, and so does what a person is still asked about:
// the error wraps ErrHeld then.
func (d *Desk) concludeFollow(ctx context.Context, e ranCall) error {
	f := e.res.Follow
	if f == nil {
		return e.err
	}
	why := d.followUp(ctx, e)
	if errors.Is(why, ErrHeld) {
		if d.p.keepsFollows() {
			return why
		}
		why = d.p.withdrawFollow(ctx, e.followID())
	}
	if why == nil {
		return e.err
	}
	said := fmt.Errorf("what the program wrote was not committed: %w", why)
	if e.err != nil {
		said = fmt.Errorf("%w; the program itself failed: %w", said, e.err)
	}
	var failed *skills.Failure
	if errors.As(why, &failed) && failed.Unknown {
		return &skills.Failure{Code: skills.FailNotCommitted, Unknown: true, Err: said}
	}
	d.p.dropFollow(e.g.c.ID(), f.Drop)
	return &skills.Failure{Code: skills.FailNotCommitted, Err: said}
}

// dropFollow throws away what waited for a call that won't run.
func (p *Checkpoint) dropFollow(callID string, drop func() error) {
	defer func() {
		if recover() != nil {
			p.logger().Error("what a refused call would have written can't be thrown away: its skill panicked", "call", callID)
		}
	}()
	if drop == nil {
		return
	}
	if err := drop(); err != nil { // it never reaches the files, and the next start tries again
		p.logger().Warn("what a refused call would have written is left on disk", "call", callID)
	}
}

// followUp takes the call that a skill asks for through the checkpoint, under the grant
// and trace of the first. The error is a *skills.Refusal where it was refused, a
// *skills.Failure where it ran and failed, and wraps ErrHeld where a person is still asked.
func (d *Desk) followUp(ctx context.Context, e ranCall) error {
	p, first, f := d.p, e.g.c, e.res.Follow
	if f.Skill != skills.CommitName {
		return errors.New("the skill asks for a call that none may ask for")
	}
	prop := Proposal{
		Skill: f.Skill, Args: f.Args, Grant: first.grant, Trace: first.trace, BeforeTaint: first.granted, ID: e.followID(),
		Follows: &first, FollowsDecision: e.g.d.ID, Writes: f.Paths, Reasons: f.Reasons,
	}
	leave, err := p.lanes.enter(ctx, prop.ID)
	if err != nil {
		return err
	}
	defer leave()
	lv := Verdict{Gate: GateLimits, State: Skipped, Reason: "it follows a call that used a slot"}
	if v, ok := p.paused(first.grant.User(), f.Skill); ok {
		lv = v
	}
	c, err := p.NewCall(prop)
	var ce *CallError
	if errors.As(err, &ce) {
		return p.refuse(ctx, prop.Grant, prop.ID, ce, lv, len(prop.Args), true)
	}
	if err != nil {
		return err
	}
	dec, err := p.decideAndRecord(ctx, c, lv, e.keeping(d))
	if err != nil {
		return err
	}
	if dec.d.Outcome != Allow {
		if v, ok := dec.d.Verdict(dec.d.BlockedBy); ok && speaksAgainst(v) { // the same command again is known by it
			d.addRefusal(PastRefusal{Skill: first.Name(), Digest: first.Digest(), Gate: dec.d.BlockedBy, Code: dec.d.Code})
		}
		return refusal(dec.d)
	}
	return d.runFollow(ctx, dec)
}

// runFollow runs a call that follows from another under its own warrant, and records
// what became of it.
func (d *Desk) runFollow(ctx context.Context, g granted) error {
	p, start := d.p, d.p.now()
	seat := p.flight.enter(g.c, PhaseQueued, start)
	res, err := p.run(ctx, g.c, g, seat)
	seat.leave()
	res.Follow = nil // a chain has two links
	b := outcomeBody{ElapsedUS: p.now().Sub(start).Microseconds()}
	values := b.describe(g.c, res, err)
	if stopped(err) {
		b.Status, b.Code = StatusFailed, CodeOutcomePaused
	}
	p.ended(ctx, g, b, values)
	return err
}
