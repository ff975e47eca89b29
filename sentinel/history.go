package sentinel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/skills"
)

// FollowLeft says what becomes of what waits for a call that follows from another.
type FollowLeft uint8

const (
	// FollowOver means that the call has ended, and what waits for it is of no use any more.
	FollowOver FollowLeft = iota
	// FollowHeld means that a person is still asked. A desk that is resumed puts the question again.
	FollowHeld
	// FollowUnknown means that it may have happened in part; the next start tries again.
	FollowUnknown
)

// SettleFollow ends what an earlier process left of the call that follows from the call of
// that id. One that was allowed runs again, under a new warrant for the same bytes: its
// skill finishes what was begun. One that a person is asked about stays until its time is
// over; it is withdrawn, on record, where no desk could put the question again. It must run
// before the first call of this process. An error means that nothing was settled and
// nothing may be dropped.
func (p *Checkpoint) SettleFollow(ctx context.Context, firstID string) (FollowLeft, error) {
	if p.o.History == nil || p.o.Recorder == nil || p.o.Issuer == nil {
		return FollowUnknown, fmt.Errorf("%w: the checkpoint keeps no records to read back", ErrNotRecorded)
	}
	f, err := p.followOf(ctx, firstID)
	if err != nil {
		return FollowUnknown, err
	}
	switch {
	case f.hasKnownEnd():
		return FollowOver, p.endFirst(ctx, f, f.firstFailure())
	case f.question != nil && p.keepsFollows() && p.now().Before(f.question.expires):
		return FollowHeld, nil
	case f.question != nil && p.keepsFollows():
		return FollowOver, p.ExpireFollow(ctx, f.id)
	case f.question != nil:
		return FollowOver, p.endHeld(ctx, f.id, CodeApprovalCanceled, "the process ended while a person was asked whether to commit")
	case f.decided != nil && f.decided.Outcome == Allow.String():
		return p.redoFollow(ctx, f)
	case f.decided != nil:
		return FollowOver, p.endFirst(ctx, f, notCommitted(errors.New(f.decided.Code)))
	}
	return FollowOver, nil // the program itself died with its process
}

// redoFollow runs an allowed call again and records what became of it and of its first.
func (p *Checkpoint) redoFollow(ctx context.Context, f followPast) (FollowLeft, error) {
	o, err := p.orderOf(*f.decided)
	if err != nil {
		return FollowUnknown, err
	}
	if v, ok := p.pauseVerdict(o.User, o.Skill); ok {
		return FollowUnknown, errors.New(v.Reason)
	}
	w, err := p.o.Issuer.Issue(o.Digest())
	if err != nil {
		return FollowUnknown, errors.Join(ErrNotRecorded, err)
	}
	again := *f.decided // the same decision: it is on record that it starts once more
	again.ID, again.At, again.Values, again.Spend, again.SpendExpires = ids.New(), p.now(), f.kept, w.ID(), w.Expires()
	if err := p.writeRecord(ctx, again); err != nil {
		return FollowUnknown, err
	}
	start := p.now()
	res, failed := p.o.Executors[o.Skill].Execute(ctx, w, o)
	b := outcomeBody{V: 1, DecisionID: again.DecisionID, CallID: o.CallID, ElapsedUS: p.now().Sub(start).Microseconds()}
	s, _ := p.o.Registry.Get(o.Skill)
	values := b.describeRun(Call{held: &callParts{skill: s, name: o.Skill}}, res, failed)
	if err := p.writeRecord(ctx, endOf(again, b, values, p.now())); err != nil {
		return FollowUnknown, err
	}
	if failed == nil {
		return FollowOver, p.endFirst(ctx, f, nil)
	}
	no := notCommitted(failed)
	if b.Status == StatusUnknown {
		no.Unknown = true
		return FollowUnknown, p.endFirst(ctx, f, no)
	}
	return FollowOver, p.endFirst(ctx, f, no)
}

// orderOf rebuilds the order that a decision allowed. The digest on record must be its
// own: nothing else was allowed.
func (p *Checkpoint) orderOf(r Record) (skills.Order, error) {
	b, args := r.readProposal()
	s, ok := p.o.Registry.Get(r.Skill)
	if !ok || r.Skill != skills.CommitName || p.o.Executors[r.Skill] == nil {
		return skills.Order{}, errors.New("the skill that an earlier process had allowed a call of can't run here")
	}
	o := skills.Order{
		CallID: b.CallID, GrantID: b.Grant, User: r.User, Conversation: r.Conversation, Skill: r.Skill, SkillDigest: s.Digest(), Args: args,
	}
	if p.records.keyedDigest(o.Digest()) != b.Digest {
		return skills.Order{}, errors.New(
			"the call that an earlier process had allowed is not the one that is kept: its arguments were erased, or its skill has changed")
	}
	return o, nil
}

// endFirst records the outcome of a call whose follow-up has ended in this process. One
// that has an outcome keeps it.
func (p *Checkpoint) endFirst(ctx context.Context, f followPast, failed error) error {
	list, err := p.o.History.Past(ctx, f.first)
	if err != nil {
		return fmt.Errorf("%w: the records of the call could not be read: %w", ErrNotRecorded, err)
	}
	first := readFollow(f.first, list)
	if first.decided == nil || first.decided.Outcome != Allow.String() || first.ended != nil {
		return nil
	}
	body, _ := first.decided.readProposal()
	b := outcomeBody{V: 1, DecisionID: first.decided.DecisionID, CallID: body.CallID}
	res, ran := f.firstResult()
	switch {
	case failed != nil:
		ran = failed
	case len(f.kept) == 0:
		ran = nil // it is on record that it was committed, and what it said was erased
	}
	s, ok := p.o.Registry.Get(first.decided.Skill)
	if !ok {
		return nil // the outcome of a skill that is gone stays unknown
	}
	values := b.describeRun(Call{held: &callParts{skill: s, name: s.Name()}}, res, ran)
	return p.writeRecord(ctx, endOf(*first.decided, b, values, p.now()))
}

// endOf is the outcome record of a decision that was read back.
func endOf(decision Record, b outcomeBody, values []Value, at time.Time) Record {
	return Record{
		Kind: RecordOutcome, ID: ids.New(), At: at, CallID: decision.CallID, DecisionID: decision.DecisionID,
		Conversation: decision.Conversation, User: decision.User, Agent: decision.Agent, Skill: decision.Skill,
		Outcome: b.Status, Code: b.Code, Body: encodeJSON(b), Values: values,
	}
}

// History reads back what a Recorder was given.
type History interface {
	// Past returns the records of the call of that id, oldest first, none for
	// a call that was never recorded. Values that are gone, because they were
	// erased or their time is over, are left out of Record.Values.
	Past(ctx context.Context, callID string) ([]Record, error)
}

// readHistory reads what is on record of the call of that id, the n-th of its desk.
func (p *Checkpoint) readHistory(ctx context.Context, id string, n int) (Past, bool, error) {
	list, err := p.o.History.Past(ctx, id)
	if err != nil {
		p.logger().Error("the records of an earlier call could not be read", "call", id, "error", err)
		return Past{}, false, fmt.Errorf("%w: what became of it before could not be read", ErrNotRecorded)
	}
	past, ok := readPast(id, list)
	past.Number = n
	if past.follow, err = p.heldFollow(ctx, past); err != nil {
		return Past{}, false, err
	}
	return past, ok && past.follow == nil, nil
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
	leave, err := p.locks.lockCall(ctx, callID)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	defer leave()
	list, err := p.o.History.Past(ctx, callID)
	if err != nil {
		return fmt.Errorf("%w: the records of the call could not be read: %w", ErrNotRecorded, err)
	}
	open := listOpenQuestions(list)
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

// listOpenQuestions returns the questions among a call's records that have no decision, the
// newest record of each.
func listOpenQuestions(list []Record) (out []Record) {
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
	r.Kind, r.ID, r.At, r.Outcome, r.Gate, r.Code = RecordDecision, ids.New(), p.now(), Deny.String(), GateApproval, code
	r.Body = denyBody(held.Body, v)
	d := Decision{ID: held.DecisionID, Outcome: Deny, BlockedBy: GateApproval, Code: code, Reason: reason}
	r.Values = []Value{{valueRefusal, encodeJSON(newRefusal(d))}}
	if err := p.writeRecord(ctx, r); err != nil {
		return err
	}
	p.tellObserver(Event{Decision: d, Kind: RecordDecision, Context: ctx})
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
	b["gates"] = encodeJSON(append(gates, encodeJSON(recordVerdicts([]Verdict{v})[0])))
	b["outcome"], b["blocked_by"], b["code"], b["reason"] = encodeJSON(Deny), encodeJSON(v.Gate), encodeJSON(v.Code), encodeJSON(v.Reason)
	return encodeJSON(b)
}

// keepsFollows reports whether a question about a call that follows from another can be
// put again after its caller has left.
func (p *Checkpoint) keepsFollows() bool { return p.o.Follows != nil && p.o.History != nil }

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
