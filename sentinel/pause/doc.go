// Package pause is the kill switch. An operator stops the work of a user, of a skill,
// or all of it. The pause holds at once, until an operator lifts it.
//
//	sw, err := pause.Open(ctx, st, lg, pause.Options{})
//	p, err := sw.Pause(ctx, pause.Target{User: "ann"}, "uid:1000")
//	lifted, err := sw.Lift(ctx, pause.Target{User: "ann"}, "uid:1000")
//
// The package isn't stable: docs/api.md lists those that are.
//
// A pause is in force in this process before Pause tells others of it and begins to
// write it down. So a disk that is full or stalls doesn't keep a pause from stopping
// work. When Pause returns nil, the pause is on disk, with its record in the ledger, and
// survives a restart. Lift is the other way round: what can't be written down stays
// paused.
//
// With Options.Shared, several processes tell each other. A pause that one makes is in
// force in all within Options.Every, and each records it. Where the table can't be
// reached, pauses hold where they were made and Lift fails. A table that loses what it
// held lifts nothing.
//
// The checkpoint asks the Switch when a call is proposed and before its decision is
// written down. It asks once more right before the call would start. So the checkpoint
// also refuses a call that a person has approved, and one that waits for the disk or for
// others of its skill. What runs already runs on: see sentinel.Checkpoint.InFlight.
//
// What not to do. Don't take a pause for a limit: it has no end of its own. Don't hand
// Lift to anything that an agent can reach.
package pause
