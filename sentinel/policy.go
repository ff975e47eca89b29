package sentinel

import (
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

// policy is a Policy that was checked. It never changes, so its holder has gates and digest
// of one configuration.
type policy struct {
	gates      map[string]Gate
	askTimeout time.Duration
	pending    PendingLimits
	digest     string
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
