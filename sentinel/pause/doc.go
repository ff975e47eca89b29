// Package pause is the kill switch: an operator stops the work of a user, of a
// skill, or all of it, at once, and lifts the pause later.
//
//	sw, err := pause.Open(ctx, st, lg, pause.Options{})
//	p, err := sw.Pause(ctx, pause.Target{User: "ann"}, "uid:1000")
//	lifted, err := sw.Lift(ctx, pause.Target{User: "ann"}, "uid:1000")
//
// A pause is in force in this process before Pause tells others of it and begins
// to write it down, so that a disk that is full or stalls stops nothing from
// being stopped; it is on disk, with its record in the ledger, when Pause returns
// nil, and survives a restart. Lift is the other way round: what can't be written
// down stays paused.
//
// With Options.Shared, several processes tell each other: a pause that one
// makes is in force in all within Options.Every, and each records it. Where the
// table can't be reached, pauses hold where they were made and Lift fails; a
// table that loses what it held lifts nothing.
//
// The checkpoint asks the Switch when a call is proposed, before its decision is
// written down, and once more right before it would start: a call that a person
// has approved, or that waits for the disk or for others of its skill, is refused
// as well. What runs already runs on: see sentinel.Checkpoint.InFlight.
//
// What not to do: don't take a pause for a limit (it has no end of its own), and
// don't hand Lift to anything that an agent can reach.
package pause
