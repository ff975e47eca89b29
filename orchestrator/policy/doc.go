// Package policy is what operators use to understand their rules before these
// meet a call: it explains one decision, runs the expectations that stand next
// to the rules, and finds rules that do nothing.
//
//	x, err := policy.Explain(ctx, cfg, decider, line)   // every gate's working on one case
//	report, err := policy.Test(ctx, cfg)                // the tests: of the configuration
//	findings, err := policy.Lint(cfg)                   // rules without effect, effects too mild
//	r, err := policy.NewRehearsal(policy.RehearsalOptions{Config: cfg})
//	a, err := r.Consider(ctx, text)                     // a user's text through the stages of intents
//
// The package isn't stable: docs/api.md lists those that are.
//
// Nothing runs, nothing is recorded, and no model is asked by Test and Lint.
//
// What not to do: don't log or store an Explanation. It holds argument values,
// for the operator's own eyes.
package policy
