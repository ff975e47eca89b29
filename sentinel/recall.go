package sentinel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/skills"
)

// FailNotProposed is the code of a call that an earlier process never proposed. No
// process can propose it any more: its secret arguments are lost.
const FailNotProposed = "not_proposed"

var errNotProposed = &skills.Failure{
	Code: FailNotProposed,
	Err: errors.New("the process ended before this call was decided, and its secret arguments are kept " +
		"nowhere; nothing was done: propose it again, with them"),
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
	past, found, err := d.lookBack(ctx, n)
	switch {
	case err != nil:
		return skills.Result{}, err
	case past.follow != nil: // it ran, and no desk can ask about what it wrote again
		d.recount(ctx, g, past)
		const why = "its secret arguments are kept nowhere, so the question can't be put again"
		if err := d.p.EndHeld(ctx, past.follow.id, why); err != nil {
			return skills.Result{}, err
		}
		return skills.Result{}, notCommitted(errors.New(why))
	case !found:
		d.recount(ctx, g, Past{CallID: CallID(g.ID(), n)})
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
	return past.returned()
}
