// Package assembly builds a Checkpoint and all that belongs to it from a
// configuration. It is the one place that knows every gate and every way to
// run a skill, and so the one place to read to see how they are put together.
//
//	parts, err := assembly.Build(ctx, cfg, assembly.Options{})    // to run skills
//	cp, err := assembly.NewDecider(cfg, assembly.DeciderOptions{})   // to decide and run nothing
//
// The package isn't stable: docs/api.md lists those that are.
//
// It holds constructors and wiring. What happens while calls run lives beside its noun:
// records in sentinel/recorder, calls that were left in sentinel/unfinished, slots in
// sentinel/slots, counting alone in limits/fallback, questions to models in
// orchestrator/models, queues in orchestrator/skillqueue, forgetting in
// orchestrator/maintenance.
//
// What not to do: don't build a Checkpoint by hand in a program that runs
// skills. A gate that is left out there is left out silently. Don't put a decision, a loop
// or a lock here.
package assembly
