package sentinel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Policy is what of a Checkpoint may be exchanged while it works: what a configuration says of calls.
type Policy struct {
	// Gates are as in Options.
	Gates []Gate
	// AskTimeout and Pending are as in Options. They count for questions to come.
	AskTimeout time.Duration
	Pending    PendingLimits
	// Digest identifies the configuration. It stands in the record of every decision that these
	// gates gave the verdicts of.
	Digest string
}

// policy is a Policy that was checked. It never changes, so whoever holds it has gates and digest
// of one configuration.
type policy struct {
	gates      map[string]Gate
	askTimeout time.Duration
	pending    PendingLimits
	digest     string
}

// SetPolicy puts another policy in force. Calls that are judged from now on are judged by it. A call
// that was judged by the one before keeps that one's verdicts and digest; once a person has approved
// it, and before it starts, the rules of the policy that is in force then are asked again, and what
// they don't allow doesn't start. What has started runs on. The error is that of New, and changes nothing.
func (p *Checkpoint) SetPolicy(next Policy) error {
	pol, err := newPolicy(next)
	if err != nil {
		return err
	}
	p.inForce.Store(pol)
	return nil
}

// PolicyDigest returns the digest of the policy that is in force.
func (p *Checkpoint) PolicyDigest() string { return p.policyInForce().digest }

// policyInForce returns the policy that is in force. That of the zero Checkpoint has no gate, so it denies.
func (p *Checkpoint) policyInForce() *policy {
	if pol := p.inForce.Load(); pol != nil {
		return pol
	}
	return &policy{}
}

// newPolicy checks a policy. A gate that is missing, unknown, there twice, or switched off though
// it can't be, is an error.
func newPolicy(o Policy) (*policy, error) {
	pol := &policy{gates: map[string]Gate{}, askTimeout: o.AskTimeout, pending: o.Pending, digest: o.Digest}
	var errs []error
	for _, g := range o.Gates {
		n := g.Name()
		_, isSkip := g.(skipGate)
		switch {
		case !slices.Contains(innerGates(), n):
			errs = append(errs, fmt.Errorf("gate %q is not one of %v", n, innerGates()))
		case pol.gates[n] != nil:
			errs = append(errs, fmt.Errorf("gate %q is there twice", n))
		case isSkip && mandatory[n]:
			errs = append(errs, fmt.Errorf("gate %q can't be switched off", n))
		}
		pol.gates[n] = g
	}
	for _, n := range innerGates() {
		if pol.gates[n] == nil {
			errs = append(errs, fmt.Errorf("gate %q is missing", n))
		}
	}
	return pol, errors.Join(errs...)
}

// askRulesNow asks the rules of a policy about a call that was allowed and has not started. An answer
// that was given to another question counts no more, and neither does one that was given beforehand
// under another policy. The review's answer stands.
func (p *Checkpoint) askRulesNow(ctx context.Context, pol *policy, c Call, allowed Decision) Decision {
	d := allowed
	yes, _ := d.Verdict(GateApproval)
	for _, n := range ruleGates() {
		d.putVerdict(p.askGate(ctx, pol, n, c, p.now()))
	}
	d.Policy = pol.digest
	beforehand := yes.Meta[metaStanding] != "" && (c.Tainted() || pol.digest != allowed.Policy)
	if beforehand || !slices.Equal(askingGates(d), askingGates(allowed)) {
		yes = Verdict{Gate: GateApproval, State: NotReached} // it was the answer to another question
	}
	d.putAnswer(yes)
	return d
}
