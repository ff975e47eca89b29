package replay

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// decider decides calls of some conversations, one after the other, each at the time at which it was
// decided first.
type decider struct {
	*assembly.Decider
	unworldly *assembly.Decider // looks at no file
	against   *decider          // decides what the calls are compared with; nil where that is on record
	recaller  *sentinel.Recaller
	clock     time.Time
	key       [32]byte
}

// newDecider builds the gates of a configuration twice: with and without this machine's files.
func newDecider(o Options, sealed *records.Sealed, kept *keptValues) (_ *decider, err error) {
	d := &decider{key: sealed.DigestKey, recaller: sentinel.NewRecaller(kept)}
	ao := assembly.DeciderOptions{
		NoReview: o.NoReview, Natives: true, Now: func() time.Time { return d.clock }, Log: o.Log, Transport: o.Transport,
		WrapReview: func(g *review.Gate) sentinel.Gate { return &recordedReview{g} },
	}
	if d.Decider, err = assembly.NewDecider(o.Config, ao); err != nil {
		return nil, err
	}
	ao.NoFS = true
	if d.unworldly, err = assembly.NewDecider(o.Config, ao); err != nil {
		d.Close()
		return nil, err
	}
	if o.Against == nil {
		return d, nil
	}
	o.Config, o.Against = o.Against, nil
	if d.against, err = newDecider(o, sealed, kept); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *decider) close() {
	d.Close()
	d.unworldly.Close()
	if d.against != nil {
		d.against.close()
	}
}

// decide decides a call again and writes down what it comes to.
func (d *decider) decide(ctx context.Context, c *call) error {
	c.readRecord()
	if c.record.Kind == sentinel.RecordRefused { // no configuration makes a call of it
		c.now = c.was
		return nil
	}
	if d.against != nil {
		was := *c
		if err := d.against.decide(ctx, &was); err != nil {
			return err
		}
		if c.reason = was.reason; c.reason != "" {
			return nil
		}
		c.was = was.now
	}
	d.clock, c.noReview, c.reason = c.moment(), false, ""
	made, reason, err := c.rebuild(d, d.key)
	if err != nil || reason != "" {
		c.reason = reason
		return err
	}
	got, err := d.Decide(withCall(ctx, c), made)
	if err != nil {
		return err
	}
	c.now = Verdict{got.Outcome.String(), got.BlockedBy, got.Code}
	if c.noReview {
		c.reason = ReasonReview
		return nil
	}
	if c.now.Outcome == c.was.Outcome || d.against != nil { // where both are decided now, the rules alone differ
		return nil
	}
	c.reason, err = d.explain(ctx, c, made)
	return err
}

// explain says why a call that is decided otherwise may be so for another cause than the configuration.
// It is empty where the configuration is the cause.
func (d *decider) explain(ctx context.Context, c *call, made sentinel.Call) (Reason, error) {
	same := c.body.Policy == d.PolicyDigest()
	if c.hasHabit() {
		return ReasonHabits, nil
	}
	if t := made.Touch(); made.Remote() == "" && len(t.Paths)+len(t.Commands) > 0 {
		if same {
			return ReasonFiles, nil
		}
		p, _, _ := c.findProposal()
		p.Grant, p.Trace, p.BeforeTaint = made.Grant(), made.Trace(), made.BeforeTaint()
		other, err := d.unworldly.NewCall(p)
		if err != nil {
			return ReasonOtherBytes, nil //nolint:nilerr // it says the same
		}
		got, err := d.unworldly.Decide(withCall(ctx, c), other)
		if err != nil {
			return "", err
		}
		if got.Outcome.String() != c.now.Outcome || c.noReview {
			return ReasonFiles, nil
		}
	}
	if same {
		return ReasonUnknown, nil
	}
	return "", nil
}

// recordedReview stands in the place of the review: it answers from the record.
type recordedReview struct{ gate *review.Gate }

// Name returns the review's.
func (r *recordedReview) Name() string { return r.gate.Name() }

// Check gives the recorded judgement where it fits, and asks the models where they may be asked.
func (r *recordedReview) Check(ctx context.Context, made sentinel.Call) (sentinel.Verdict, error) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return sentinel.Verdict{}, errors.New("the call is no recorded one")
	}
	if v, ok := review.Repeat(r.gate, made, c.judgedBy); ok {
		return v, nil
	}
	if c.asking {
		return r.gate.Check(ctx, made)
	}
	c.noReview = true
	return sentinel.Verdict{State: sentinel.Skipped, Reason: "no judgement is on record"}, nil
}
