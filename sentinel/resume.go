package sentinel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/skills"
)

// callSpace is the namespace of numbered call ids.
var callSpace = uuid.MustParse("6a0f3c52-0f5e-5d0b-9c57-3e1c9b6f2d11")

// CallID is the id of the call that the numbered desk under the grant of that
// id proposes as its n-th, from 0.
func CallID(grantID string, n int) string {
	return ids.Derive(callSpace, grantID+"\n"+strconv.Itoa(n))
}

// Resume puts a new numbered desk to where an earlier one under the same grant
// was: done calls had been answered, and up to open more may have been
// proposed that the agent will propose again. Those are answered from the
// checkpoint's History if they were decided: a refusal is repeated, a result
// returned, and only what was interrupted and may be repeated runs again. It
// counts all of them against the limits again, brings back trace and taint,
// and returns what it found, in order. An error means that nothing may run.
func (d *Desk) Resume(ctx context.Context, done, open int) ([]Past, error) {
	if !d.numbered || d.p.o.History == nil || d.p.o.Limiter == nil {
		return nil, fmt.Errorf("%w: the desk is not numbered, or nothing was kept", ErrNotRecorded)
	}
	d.mu.Lock()
	d.next, d.until = done, done+open
	g := d.grant
	d.mu.Unlock()
	var found []Past
	for n := range done + open {
		past, ok, err := d.readPastCall(ctx, n)
		if err != nil {
			return nil, err
		}
		if ok || n < done {
			d.recountSlot(ctx, g, past)
		}
		if !ok {
			continue
		}
		found = append(found, past)
		d.rememberPast(past)
	}
	return found, nil
}

// rememberPast adds to the desk what became of a call that is over.
func (d *Desk) rememberPast(past Past) {
	d.rememberPastRefusal(past)
	st, ok := past.newStep()
	if !ok {
		return
	}
	if s, known := d.p.o.Registry.Get(st.Skill); known {
		st.Effect, st.Sensitive, st.StrangerFields = s.Effect(), s.Sensitive(), s.Spec().StrangerFields
	}
	d.addStep(st)
}

// recountSlot uses the slot of a call that was proposed before, which is free where
// the store of the limits still has it. The skill's breaker isn't asked: the
// call is over. Neither is a pause: what was used before it stays used.
func (d *Desk) recountSlot(ctx context.Context, g Grant, past Past) {
	skill := past.Skill
	v := d.p.countProposal(ctx, g, past.CallID, skill)
	if skill != "" && v.Counts() {
		d.p.releaseSlot(ctx, skill, past.CallID)
	}
}

// readPastCall waits until no other caller works on the call of that number. Then
// readPastCall reads what is on record of the call.
func (d *Desk) readPastCall(ctx context.Context, n int) (Past, bool, error) {
	id := CallID(d.grant.ID(), n)
	leave, err := d.p.locks.lockCall(ctx, id)
	if err != nil {
		return Past{}, false, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	defer leave()
	return d.p.readHistory(ctx, id, n)
}

// answerFromHistory answers a call that an earlier process, or an earlier life of the
// agent, proposed under the same number. It is nil where the call is to be decided now.
func (i *invocation) answerFromHistory(ctx context.Context) *answer {
	if !i.proposedBefore {
		return nil
	}
	past, found, err := i.p.readHistory(ctx, i.proposal.ID, i.number)
	switch {
	case err != nil:
		return &answer{err: err}
	case past.follow != nil:
		res, err := i.resumeFollow(ctx, past)
		return &answer{res, err}
	}
	i.held, i.edit = past.held, past.edit
	if !found {
		return nil
	}
	return i.answerPast(past)
}

// answerPast answers a call that was decided before: nil where it is to be decided now, for
// the first time or, as i.mayRunAgain says then, to run a second time.
func (i *invocation) answerPast(past Past) *answer {
	c, cerr := i.p.NewCall(i.proposal)
	same := past.isProposal(i.p.records, c, cerr, len(i.proposal.Args))
	switch {
	case !past.Allowed && same:
		return &answer{err: past.Refusal}
	case !past.Allowed && !past.began:
		// Nothing was done under this id, and what was said of another call is
		// no answer to this one: it is decided.
		return nil
	case !same:
		// Not the call that was allowed under this id: whether that one had
		// its effect is all that could be said, and it isn't what was asked.
		return &answer{err: errInterrupted}
	}
	if past.isRepeatable(c.Skill()) {
		i.mayRunAgain = true
		return nil
	}
	res, err := past.deskResult()
	return &answer{res, err}
}

// resumeFollow goes on with a call that ran in an earlier process, or for an earlier
// caller, and whose changes wait for a person: the question is put again as it was.
func (i *invocation) resumeFollow(ctx context.Context, past Past) (skills.Result, error) {
	p, f := i.p, past.follow
	i.desk.recountSlot(ctx, i.proposal.Grant, past)
	c, err := p.NewCall(i.proposal)
	if err != nil || !past.isCall(p.records, c) {
		err := p.endHeld(ctx, f.id, CodeApprovalSuperseded, "another call took the place of the one that had run")
		if err != nil {
			return skills.Result{}, err
		}
		return skills.Result{}, errInterrupted
	}
	if past.JudgedID != i.proposal.ID { // rules had rewritten it
		c, _ = p.Rewrite(ctx, c)
		c = c.withID(past.JudgedID)
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
		i.desk.rememberResult(c, skills.Result{}, no, nil)
		return skills.Result{}, no
	}
	i.result, i.failed = f.firstResult()
	i.result.Follow, i.result.Note = follow, past.Result.Note
	i.call, i.resumed, i.began = c, f, p.now()
	i.decision = Decision{ID: past.decision, CallID: c.ID(), Outcome: Allow, Digest: c.Digest()}
	return i.takeSteps(ctx, i.finish)
}

// Recall stands in a resumed desk for the next proposal where its bytes are
// lost: arguments that the skill's schema marks as x-secret are kept nowhere.
// It answers from the record, as Invoke would: a refusal, a result or a failure,
// and what was interrupted is unknown, also where the skill is idempotent. Where
// the call was never decided the error is a *skills.Failure with the code
// FailNotProposed; a question about it that was left without an answer is
// withdrawn, on record. Nothing is run, and the proposal's slot is used all the
// same.
func (d *Desk) Recall(ctx context.Context, skill string, _ json.RawMessage) (skills.Result, error) {
	p := d.p
	if p == nil || p.o.History == nil || p.o.Limiter == nil || !d.numbered {
		return skills.Result{}, fmt.Errorf("%w: the desk is not numbered, or nothing was kept", ErrNotRecorded)
	}
	d.mu.Lock()
	n, g := d.next, d.grant
	d.next++
	d.mu.Unlock()
	past, found, err := d.readPastCall(ctx, n)
	switch {
	case err != nil:
		return skills.Result{}, err
	case past.follow != nil: // it ran, and no desk can ask about what it wrote again
		d.recountSlot(ctx, g, past)
		const why = "its secret arguments are kept nowhere, so the question can't be put again"
		if err := d.p.EndHeld(ctx, past.follow.id, why); err != nil {
			return skills.Result{}, err
		}
		return skills.Result{}, notCommitted(errors.New(why))
	case !found:
		d.recountSlot(ctx, g, Past{CallID: CallID(g.ID(), n)})
		if past.held != nil { // no desk can ask about it again
			if err := p.EndHeld(ctx, past.held.record.CallID, errNotProposed.Err.Error()); err != nil {
				return skills.Result{}, err
			}
		}
		return skills.Result{}, errNotProposed
	case !past.Allowed && (past.Skill == "" || past.Skill == skill):
		return skills.Result{}, past.Refusal
	case past.Skill != skill: // not the call that is asked about
		return skills.Result{}, errInterrupted
	}
	return past.deskResult()
}

// FailNotProposed is the code of a call that an earlier process never proposed. No
// process can propose it any more: its secret arguments are lost.
const FailNotProposed = "not_proposed"

var errNotProposed = &skills.Failure{
	Code: FailNotProposed,
	Err: errors.New("the process ended before this call was decided, and its secret arguments are kept " +
		"nowhere; nothing was done: propose it again, with them"),
}
