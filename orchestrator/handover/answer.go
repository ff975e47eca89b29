package handover

import (
	"context"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// answerPending says that a person is asked.
func (f *flight) answerPending() Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	line, expires := f.asked.Line(f.proposal.CallID), f.asked.Expires
	return Answer{ID: f.id, State: Pending, Decision: &line, DecisionID: f.asked.ID, Approval: f.asked.ID, Expires: &expires}
}

// answerRefused is the answer of a call that was refused or is held, or the error of one that was
// neither.
func answerRefused(h *Handover, f *flight, p *Proposal, handed sentinel.Handed, err error) (Answer, error) {
	var no *skills.Refusal
	var mistake *sentinel.CallError
	switch {
	case errors.Is(err, sentinel.ErrHeld) && h.base.Err() == nil:
		return f.answerPending(), nil
	case errors.Is(err, sentinel.ErrHeld), errors.As(err, &no) && no.Code == codeCanceled && h.base.Err() != nil:
		return Answer{}, ErrClosed
	case errors.Is(err, sentinel.ErrOtherCall):
		return Answer{}, ErrDigest
	case errors.As(err, &mistake):
		return Answer{}, fmt.Errorf("%w: the arguments of a result in history: %w", ErrProposal, mistake)
	case no == nil:
		return Answer{}, err
	}
	a := Answer{ID: f.id, State: stateOf(no), Refusal: no, DecisionID: handed.Decision.ID}
	if handed.Decision.ID != "" {
		line := handed.Decision.Line(p.CallID)
		a.Approval = approvalOf(handed.Decision)
		if handed.Warrant != "" { // it was allowed, and is no more
			line.Decision, line.BlockedBy, line.Code, line.Reason = sentinel.Deny.String(), &no.Gate, no.Code, no.Reason
		}
		a.Decision = &line
	}
	return a, nil
}

// codeCanceled is the code of a call that was given up before it was decided.
const codeCanceled = "limits.canceled"

// stateOf is the state of a refused call.
func stateOf(no *skills.Refusal) State {
	switch no.Kind {
	case skills.KindAskExpired:
		return Expired
	case skills.KindDefer, skills.KindPaused:
		return Deferred
	}
	return Denied
}

// answerRecorded is the answer of a call that was decided before. One that was to be reported by now is
// unknown.
func answerRecorded(ctx context.Context, h *Handover, c *conversation, id, callID string, past sentinel.Past) (Answer, error) {
	if past.IsOpen() && !h.o.Now().Before(past.ReportBy()) {
		ended, err := c.desk.EndUnreported(ctx, id)
		if err != nil {
			return Answer{}, err
		}
		c.dropHanded(id)
		past = ended
	}
	return answerPast(id, callID, past), nil
}

// answerPast says what is on record of a call.
func answerPast(id, callID string, past sentinel.Past) Answer {
	a := Answer{ID: id, Refusal: past.Refusal, Approval: past.Approval()}
	if past.Refusal != nil && past.Refusal.Code == sentinel.CodeApprovalNobody { // nothing was asked
		a.Approval = ""
	}
	if line, ok := past.Line(callID); ok {
		a.Decision = &line
	}
	if !past.Allowed {
		if a.State = Denied; past.Refusal != nil {
			a.State = stateOf(past.Refusal)
		}
		return a
	}
	a.Note = past.Result.Note
	switch {
	case past.IsOpen():
		by := past.ReportBy()
		a.State, a.Expires = Allowed, &by
	case past.Code == sentinel.CodeOutcomePaused || past.Code == sentinel.CodeWithdrawn:
		a.State = Denied
		a.Refusal = &skills.Refusal{
			Kind: skills.KindDeny, Gate: sentinel.GatePermission, Code: past.Code, Reason: past.Words(),
			WhatYouCanDo: "Nothing ran. Propose it once more under another id, if it is still wanted.",
		}
	case past.Status == sentinel.StatusOK:
		a.State = OK
	case past.Status == sentinel.StatusFailed:
		a.State = Failed
	default:
		a.State = Unknown
	}
	if a.State == OK || a.State == Failed {
		a.Result, a.Trust = past.Words(), past.Result.Trust
	}
	return a
}

// approvalOf is the id of the question to a person; empty where none was asked.
func approvalOf(d sentinel.Decision) string {
	if d.Asked.IsZero() || d.Code == sentinel.CodeApprovalNobody {
		return ""
	}
	return d.ID
}
