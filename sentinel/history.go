package sentinel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

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
		if args, ok := r.value("args"); ok && r.Kind == RecordHeld {
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

// readKept takes down what a record says of the first call.
func (f *followPast) readKept(r Record) {
	b, _ := r.proposal()
	f.first = cmp.Or(b.Follows, f.first)
	var kept []Value
	for _, name := range []string{"result", "error", "ran"} {
		if data, ok := r.value(name); ok {
			kept = append(kept, Value{name, data})
		}
	}
	if len(kept) > 0 { // a question that was ended keeps none
		f.kept = kept
	}
}

// known reports whether the call's end is on record, as success or as a failure that
// did nothing.
func (f followPast) known() bool { return f.ended != nil && f.ended.Outcome != StatusUnknown }

// failure is what the first call comes to after an end that is known; nil for success.
func (f followPast) failure() error {
	if f.ended.Outcome == StatusOK {
		return nil
	}
	said, _ := f.ended.value("error")
	return notCommitted(pastError(said))
}

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
	case f.known():
		return FollowOver, p.endFirst(ctx, f, f.failure())
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
	if v, ok := p.paused(o.User, o.Skill); ok {
		return FollowUnknown, errors.New(v.Reason)
	}
	w, err := p.o.Issuer.Issue(o.Digest())
	if err != nil {
		return FollowUnknown, errors.Join(ErrNotRecorded, err)
	}
	again := *f.decided // the same decision: it is on record that it starts once more
	again.ID, again.At, again.Values, again.Spend, again.SpendExpires = newID(), p.now(), f.kept, w.ID(), w.Expires()
	if err := p.record(ctx, again); err != nil {
		return FollowUnknown, err
	}
	start := p.now()
	res, failed := p.o.Executors[o.Skill].Execute(ctx, w, o)
	b := outcomeBody{V: 1, DecisionID: again.DecisionID, CallID: o.CallID, ElapsedUS: p.now().Sub(start).Microseconds()}
	s, _ := p.o.Registry.Get(o.Skill)
	values := b.describe(Call{skill: s, name: o.Skill}, res, failed)
	if err := p.record(ctx, endOf(again, b, values, p.now())); err != nil {
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
func (p *Checkpoint) endFirst(ctx context.Context, f followPast, failed error) error {
	list, err := p.o.History.Past(ctx, f.first)
	if err != nil {
		return fmt.Errorf("%w: the records of the call could not be read: %w", ErrNotRecorded, err)
	}
	first := readFollow(f.first, list)
	if first.decided == nil || first.decided.Outcome != Allow.String() || first.ended != nil {
		return nil
	}
	body, _ := first.decided.proposal()
	b := outcomeBody{V: 1, DecisionID: first.decided.DecisionID, CallID: body.CallID}
	res, ran := f.returned()
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
	values := b.describe(Call{skill: s, name: s.Name()}, res, ran)
	return p.record(ctx, endOf(*first.decided, b, values, p.now()))
}

// endOf is the outcome record of a decision that was read back.
func endOf(decision Record, b outcomeBody, values []Value, at time.Time) Record {
	return Record{
		Kind: RecordOutcome, ID: newID(), At: at, CallID: decision.CallID, DecisionID: decision.DecisionID,
		Conversation: decision.Conversation, User: decision.User, Agent: decision.Agent, Skill: decision.Skill,
		Outcome: b.Status, Code: b.Code, Body: encode(b), Values: values,
	}
}
