package sentinel

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/vedette-dev/vedette/skills"
)

// heldWait is one call at a desk from before its question is put on record until
// its decision is, or until it is left held.
type heldWait struct {
	withdraw context.CancelCauseFunc
	done     chan struct{}
}

// enterWait lists a call that a person is to be asked about at the desk and those
// above it. The context that it returns ends with skills.ErrWithdrawn when one of
// them is withdrawn; leave ends the entry. ok is false where one already is.
func (d *Desk) enterWait(ctx context.Context) (waiting context.Context, leave func(), ok bool) {
	if d == nil {
		return ctx, func() {}, true
	}
	waiting, cancel := context.WithCancelCause(ctx)
	w := &heldWait{cancel, make(chan struct{})}
	leave = func() {
		for at := d; at != nil; at = at.parent {
			at.mu.Lock()
			delete(at.waits, w)
			at.mu.Unlock()
		}
		close(w.done)
		cancel(nil)
	}
	for at := d; at != nil; at = at.parent {
		at.mu.Lock()
		over := at.over
		if at.waits == nil {
			at.waits = map[*heldWait]struct{}{}
		}
		at.waits[w] = struct{}{}
		at.mu.Unlock()
		if over {
			leave()
			return ctx, func() {}, false
		}
	}
	return waiting, leave, true
}

// Withdraw ends every question of this desk and of those below it that waits for
// a person, each with a decision on record, and lets no other be asked: for an
// agent or a turn that has ended. It returns when all of them have ended; what
// runs by then it leaves alone. The error is ctx's.
func (d *Desk) Withdraw(ctx context.Context) error {
	d.mu.Lock()
	d.over = true
	list := slices.Collect(maps.Keys(d.waits))
	d.mu.Unlock()
	for _, w := range list {
		w.withdraw(skills.ErrWithdrawn)
	}
	for _, w := range list {
		select {
		case <-w.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// EndHeld records that a call was withdrawn which was left held and which no
// desk will ask about again: its agent crashed, its turn has ended, or its secret
// arguments are lost. A call whose questions have all ended is left as it is. It
// waits until no desk is at work on the call. ErrNotRecorded: nothing is certain.
//
// What waits for a call that follows from another is thrown away then, and its first call
// has committed nothing.
func (p *Checkpoint) EndHeld(ctx context.Context, callID, reason string) error {
	return p.endHeld(ctx, callID, CodeApprovalCanceled, reason)
}

// endHeld ends the questions about a call with a code.
func (p *Checkpoint) endHeld(ctx context.Context, callID, code, reason string) error {
	if p.o.History == nil || p.o.Recorder == nil {
		return fmt.Errorf("%w: the checkpoint keeps no records to read back", ErrNotRecorded)
	}
	leave, err := p.lanes.enter(ctx, callID)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	defer leave()
	list, err := p.o.History.Past(ctx, callID)
	if err != nil {
		return fmt.Errorf("%w: the records of the call could not be read: %w", ErrNotRecorded, err)
	}
	open := endless(list)
	for _, r := range open {
		if err := p.endQuestion(ctx, r, code, reason); err != nil {
			return err
		}
	}
	if len(open) > 0 && open[0].Skill == skills.CommitName {
		return p.closeFollow(ctx, readFollow(callID, list), reason)
	}
	return nil
}

// endless returns the questions among a call's records that have no decision, the
// newest record of each.
func endless(list []Record) (out []Record) {
	for i, r := range list {
		ended := func(other Record) bool { return other.Kind == RecordDecision && other.DecisionID == r.DecisionID }
		again := func(other Record) bool { return other.Kind == RecordHeld && other.DecisionID == r.DecisionID }
		if r.Kind == RecordHeld && !slices.ContainsFunc(list, ended) && !slices.ContainsFunc(list[i+1:], again) {
			out = append(out, r)
		}
	}
	return out
}

// endQuestion records the denial that ends a question, with what its own record
// has of the call.
func (p *Checkpoint) endQuestion(ctx context.Context, held Record, code, reason string) error {
	v := markApproval(Refuse(code, reason))
	r := held
	r.Kind, r.ID, r.At, r.Outcome, r.Gate, r.Code = RecordDecision, newID(), p.now(), Deny.String(), GateApproval, code
	r.Body = denyBody(held.Body, v)
	d := Decision{ID: held.DecisionID, Outcome: Deny, BlockedBy: GateApproval, Code: code, Reason: reason}
	r.Values = []Value{{valueRefusal, encode(refusal(d))}}
	if err := p.record(ctx, r); err != nil {
		return err
	}
	p.observe(Event{Decision: d, Kind: RecordDecision, Context: ctx})
	return nil
}

// denyBody is the body of a question with the verdict that ends it. One that
// can't be read keeps nothing but the end.
func denyBody(held []byte, v Verdict) []byte {
	b := map[string]json.RawMessage{}
	_ = json.Unmarshal(held, &b) // what can't be read is left out
	if b == nil {
		b = map[string]json.RawMessage{}
	}
	var gates []json.RawMessage
	_ = json.Unmarshal(b["gates"], &gates)
	gates = slices.DeleteFunc(gates, func(raw json.RawMessage) bool {
		var g struct {
			Gate string `json:"gate"`
		}
		return json.Unmarshal(raw, &g) == nil && g.Gate == v.Gate
	})
	b["gates"] = encode(append(gates, encode(recorded([]Verdict{v})[0])))
	b["outcome"], b["blocked_by"], b["code"], b["reason"] = encode(Deny), encode(v.Gate), encode(v.Code), encode(v.Reason)
	return encode(b)
}

// takeUp gives a decision the place of the question that an earlier process had
// put about the same call: its id, so that whatever is decided now ends it. A
// question about another call under this id is superseded, on record.
func (p *Checkpoint) takeUp(ctx context.Context, d *Decision, k keeping) error {
	switch {
	case k.held == nil:
	case k.held.digest == p.mac(d.Digest):
		d.ID = k.held.decision
	default:
		return p.endQuestion(ctx, k.held.record, CodeApprovalSuperseded, "another call took the place of the one that a person was asked about")
	}
	return nil
}

// changedWhileAway reports whether what the call's paths lead to is not what the
// first question was about. Records of before there was an expiry don't tell.
func (p *Checkpoint) changedWhileAway(d Decision, before *heldBefore) bool {
	return before != nil && before.decision == d.ID && !before.expires.IsZero() && !slices.Equal(before.bound, p.recordedBounds(d.Bound))
}
