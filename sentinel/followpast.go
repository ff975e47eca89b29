package sentinel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// followPast is what is on record of a call that follows from another.
type followPast struct {
	allowed *Record // the decision that allowed it
	ended   *Record // the last outcome
	held    bool    // a person was being asked
	kept    []Value // what its first call had returned
}

func readFollow(list []Record) (f followPast) {
	for _, r := range list {
		switch {
		case r.Kind == RecordHeld:
			f.held = true
		case r.Kind == RecordDecision && r.Outcome == Allow.String():
			f.allowed = &r
			f.kept = nil
			for _, name := range []string{"result", "error"} {
				if data, ok := r.value(name); ok {
					f.kept = append(f.kept, Value{name, data})
				}
			}
		case r.Kind == RecordOutcome:
			f.ended = &r
		}
	}
	return f
}

// known reports whether the call's end is on record, as success or as a failure that
// did nothing.
func (f followPast) known() bool { return f.ended != nil && f.ended.Outcome != StatusUnknown }

// SettleFollow ends what an earlier process left of the call that follows from the call of
// that id. One that was allowed runs again, under a new warrant for the same bytes: its
// skill finishes what was begun. One that was not is withdrawn, on record. drop says that
// what waits for it is of no use any more. It must run before the first call of this
// process. An error means that nothing was settled and nothing may be dropped.
func (p *Checkpoint) SettleFollow(ctx context.Context, firstID string) (drop bool, err error) {
	if p.o.History == nil || p.o.Recorder == nil || p.o.Issuer == nil {
		return false, fmt.Errorf("%w: the checkpoint keeps no records to read back", ErrNotRecorded)
	}
	list, err := p.o.History.Past(ctx, FollowID(firstID))
	if err != nil {
		return false, fmt.Errorf("%w: the records of the call could not be read: %w", ErrNotRecorded, err)
	}
	f := readFollow(list)
	switch {
	case f.known():
		return true, nil
	case f.allowed != nil:
		return p.redoFollow(ctx, firstID, f)
	case f.held:
		if err := p.EndHeld(ctx, FollowID(firstID), "the process ended while a person was asked whether to commit"); err != nil {
			return false, err
		}
		no := &skills.Failure{Code: skills.FailNotCommitted, Err: errors.New(
			"what the program wrote was not committed: the process ended before a person had answered")}
		return true, p.endFirst(ctx, firstID, f, no)
	}
	return true, nil // the program itself died with its process, or the call was refused
}

// redoFollow runs an allowed call again and records what became of it and of its first.
func (p *Checkpoint) redoFollow(ctx context.Context, firstID string, f followPast) (drop bool, err error) {
	o, err := p.orderOf(*f.allowed)
	if err != nil {
		return false, err
	}
	if v, ok := p.paused(o.User, o.Skill); ok {
		return false, errors.New(v.Reason)
	}
	w, err := p.o.Issuer.Issue(o.Digest())
	if err != nil {
		return false, errors.Join(ErrNotRecorded, err)
	}
	again := *f.allowed // the same decision: it is on record that it starts once more
	again.ID, again.At, again.Values, again.Spend, again.SpendExpires = newID(), p.now(), f.kept, w.ID(), w.Expires()
	if err := p.record(ctx, again); err != nil {
		return false, err
	}
	start := p.now()
	res, failed := p.o.Executors[o.Skill].Execute(ctx, w, o)
	b := outcomeBody{V: 1, DecisionID: again.DecisionID, CallID: o.CallID, ElapsedUS: p.now().Sub(start).Microseconds()}
	s, _ := p.o.Registry.Get(o.Skill)
	values := b.describe(Call{skill: s, name: o.Skill}, res, failed)
	if err := p.record(ctx, endOf(again, b, values, p.now())); err != nil {
		return false, err
	}
	if failed == nil {
		return true, p.endFirst(ctx, firstID, f, nil)
	}
	no := &skills.Failure{Code: skills.FailNotCommitted, Unknown: b.Status == StatusUnknown,
		Err: fmt.Errorf("what the program wrote was not committed: %w", failed)}
	return !no.Unknown, p.endFirst(ctx, firstID, f, no)
}

// orderOf rebuilds the order that a decision allowed. The digest on record must be its
// own: nothing else was allowed.
func (p *Checkpoint) orderOf(r Record) (skills.Order, error) {
	b, args := r.proposal()
	s, ok := p.o.Registry.Get(r.Skill)
	if !ok || r.Skill != skills.CommitName || p.o.Executors[r.Skill] == nil {
		return skills.Order{}, errors.New("the skill that an earlier process had allowed a call of can't run here")
	}
	o := skills.Order{
		CallID: b.CallID, GrantID: b.Grant, User: r.User, Conversation: r.Conversation, Skill: r.Skill, SkillDigest: s.Digest(), Args: args,
	}
	if p.mac(o.Digest()) != b.Digest {
		return skills.Order{}, errors.New(
			"the call that an earlier process had allowed is not the one that is kept: its arguments were erased, or its skill has changed")
	}
	return o, nil
}

// endFirst records the outcome of a call whose follow-up has ended in this process. One
// that has an outcome keeps it.
func (p *Checkpoint) endFirst(ctx context.Context, firstID string, f followPast, failed error) error {
	list, err := p.o.History.Past(ctx, firstID)
	if err != nil {
		return err
	}
	first := readFollow(list)
	if first.allowed == nil || first.ended != nil {
		return nil
	}
	body, _ := first.allowed.proposal()
	b := outcomeBody{V: 1, DecisionID: first.allowed.DecisionID, CallID: body.CallID, Status: StatusOK}
	values := f.kept
	switch {
	case failed != nil:
		b.Status, b.Code = failure(failed)
		values = []Value{{"error", []byte(failed.Error())}}
	case len(values) > 0 && values[0].Name == "error": // the program failed, and what it wrote was committed
		b.Status, b.Code = StatusFailed, skills.FailFailed
	case len(values) > 0:
		b.Bytes, b.Marks = len(values[0].Data), TextMarks(string(values[0].Data))
	}
	return p.record(ctx, endOf(*first.allowed, b, values, p.now()))
}

// endOf is the outcome record of a decision that was read back.
func endOf(decision Record, b outcomeBody, values []Value, at time.Time) Record {
	return Record{
		Kind: RecordOutcome, ID: newID(), At: at, CallID: decision.CallID, DecisionID: decision.DecisionID,
		Conversation: decision.Conversation, User: decision.User, Agent: decision.Agent, Skill: decision.Skill,
		Outcome: b.Status, Code: b.Code, Body: encode(b), Values: values,
	}
}
