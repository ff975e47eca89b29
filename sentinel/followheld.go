package sentinel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

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

// keepsFollows reports whether a question about a call that follows from another can be
// put again after its caller has left.
func (p *Checkpoint) keepsFollows() bool { return p.o.Follows != nil && p.o.History != nil }

// followID is the id of the call that follows from this one.
func (e ranCall) followID() string {
	if e.resumed != nil {
		return e.resumed.id
	}
	return FollowID(e.g.c.ID())
}

// ranBody is what is kept of how a program ran, until its call has an outcome.
type ranBody struct {
	Isolation string          `json:"isolation,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	Egress    *skills.Egress  `json:"egress,omitempty"`
	Details   json.RawMessage `json:"details,omitempty"`
}

// keeping says how the records of the call that follows are made: they hold what the first
// call returned, for another process that has to tell its end.
func (e ranCall) keeping(d *Desk) keeping {
	if e.resumed != nil {
		return keeping{desk: d, numbered: true, held: e.resumed.question, kept: e.resumed.kept}
	}
	kept := Value{"result", []byte(e.res.Content)}
	if e.err != nil {
		kept = Value{"error", []byte(e.err.Error())}
	}
	ran := ranBody{Isolation: e.res.Isolation, Truncated: e.res.Truncated, Egress: e.res.Egress}
	if ran.Egress != nil && len(ran.Egress.Details) > 0 {
		ran.Details = ran.Egress.Details
	}
	return keeping{desk: d, numbered: true, kept: []Value{kept, {"ran", encode(ran)}}}
}

// heldFollow returns what is on record of the call that follows from a call, where that
// one has no outcome and a person is asked about the other. It is nil for any other.
func (p *Checkpoint) heldFollow(ctx context.Context, past Past) (*followPast, error) {
	if !p.keepsFollows() || !past.Allowed || past.Status != StatusUnknown || past.Code != "" {
		return nil, nil //nolint:nilnil // nothing is held, which is no error
	}
	f, err := p.followOf(ctx, past.JudgedID)
	if err != nil || f.question == nil {
		return nil, err
	}
	return &f, nil
}

// followOf reads what is on record of the call that follows from the call of that id.
func (p *Checkpoint) followOf(ctx context.Context, firstID string) (followPast, error) {
	id := FollowID(firstID)
	list, err := p.o.History.Past(ctx, id)
	if err != nil {
		return followPast{}, fmt.Errorf("%w: the records of the call could not be read: %w", ErrNotRecorded, err)
	}
	return readFollow(id, list), nil
}

// resumeFollow goes on with a call that ran in an earlier process, or for an earlier
// caller, and whose changes wait for a person: the question is put again as it was.
func (d *Desk) resumeFollow(ctx context.Context, prop Proposal, past Past) (skills.Result, error) {
	p, f := d.p, past.follow
	d.recount(ctx, prop.Grant, past)
	c, err := p.NewCall(prop)
	if err != nil || !past.of(p, c) {
		err := p.endHeld(ctx, f.id, CodeApprovalSuperseded, "another call took the place of the one that had run")
		if err != nil {
			return skills.Result{}, err
		}
		return skills.Result{}, errInterrupted
	}
	if past.JudgedID != prop.ID { // rules had rewritten it
		c, _ = p.Rewrite(ctx, c)
		c.id = past.JudgedID
	}
	follow, err := p.o.Follows.Restore(ctx, f.asked)
	if ctx.Err() != nil {
		return skills.Result{}, fmt.Errorf("%w; its caller left: %w", ErrHeld, ctx.Err())
	}
	if err != nil {
		const why = "what the program wrote isn't what the question was about"
		if err := p.endHeld(ctx, f.id, CodeApprovalChanged, why); err != nil {
			return skills.Result{}, err
		}
		no := notCommitted(errors.New(why))
		d.remember(c, skills.Result{}, no, nil)
		return skills.Result{}, no
	}
	res, failed := f.returned()
	res.Follow, res.Note = follow, past.Result.Note
	g := granted{c: c, d: Decision{ID: past.decision, CallID: c.ID(), Outcome: Allow, Digest: c.Digest()}}
	return d.conclude(ctx, ranCall{g: g, res: res, err: failed, start: p.now(), resumed: f})
}

// returned is what the first call had returned.
func (f followPast) returned() (res skills.Result, err error) {
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

// notCommitted is the failure of a call whose changes were thrown away.
func notCommitted(why error) *skills.Failure {
	return &skills.Failure{Code: skills.FailNotCommitted, Err: fmt.Errorf("what the program wrote was not committed: %w", why)}
}

// withdrawFollow ends, on record, the question about a call that follows from another,
// where nothing can put it again. The error says so to the first call.
func (p *Checkpoint) withdrawFollow(ctx context.Context, id string) error {
	const why = "the caller left while a person was asked whether to commit"
	if p.o.History != nil {
		if err := p.endHeld(context.WithoutCancel(ctx), id, CodeApprovalCanceled, why); err != nil {
			return err
		}
	}
	return errors.New(why)
}

// ExpireFollow ends, on record, the question about a call that follows from another whose
// time is over and which no desk has put again. What waited for it is thrown away.
func (p *Checkpoint) ExpireFollow(ctx context.Context, followID string) error {
	return p.endHeld(ctx, followID, CodeApprovalExpired, "no person answered in time")
}

// closeFollow throws away what waited for a call whose question has ended, and records
// that the first call committed nothing.
func (p *Checkpoint) closeFollow(ctx context.Context, f followPast, reason string) error {
	if p.o.Follows != nil && f.asked != nil {
		p.dropFollow(f.first, func() error { return p.o.Follows.Drop(f.asked) })
	}
	return p.endFirst(ctx, f, notCommitted(errors.New(reason)))
}
