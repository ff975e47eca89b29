// Package fallback counts limits and spending in this process while the limits store
// that counts for all processes is unreachable.
//
// Limiter asks the shared limiter first. While the shared store is unreachable, the
// process's own limiter still bounds what goes on:
//
//   - A slot is counted by the own limiter. What that denies is denied; what it allows
//     comes back with the shared store's error (limits.ErrAway), for the checkpoint to
//     decide about.
//   - Room for a question to a model is held by the own limiter, if models may be asked
//     during an outage. What the question comes to is kept (unsyncedSpending), and the
//     shared store hears of it once the store is back.
//
// Account does the same for what the review may spend, and keeps nothing: both stores
// hear of every question.
//
//	l := fallback.New(fallback.Options{Shared: all, Own: own, Server: redis, AskModels: true, Log: log})
//	l.GreetStore(ctx)
//	defer l.Close()
//
// Without Options.Own this process is all there is, and Limiter only passes on.
//
// What not to do: don't answer ErrAway with a pass outside of this package. Without the
// own limiter's count an outage would lift every limit.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through orchestrator/assembly.
package fallback
