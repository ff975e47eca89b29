// Package doctor looks at a deployment and says what is wrong with it and what
// to do: the configuration, the models, the store, the limits, the files.
//
//	report := doctor.Examine(ctx, "vedette.yaml", doctor.Options{})
//
// The package isn't stable: docs/api.md lists those that are.
//
// Each finding is ok, a warning (allowed, and may surprise) or a problem (does
// not work, or does not hold what it promises), with the time that finding it
// took. A configuration with mistakes ends the examination there.
//
// Options.Found is told each finding as it is made. Models come last, for they take
// longest: whether they answer is asked of all at once, the rest of each server's
// one after another, so that they don't make each other slow, and what was found
// about a model is told together. An examination that is given up returns what is
// known by then, and says what it did not look at.
//
// What it does to the world: each model of a role is asked one small question,
// those of orchestrator and agents for a tool call, and those of the review for a
// schema and six canaries, which cost what they cost and are in no budget; a Redis server is asked about itself; the program true is run
// where a skill runs programs. Of the database it reads; where no process has it
// open, it opens it once as a process would. It makes no key, no database and no
// folder. With Options.Offline no model and no server is asked.
//
// Findings hold names, addresses without user, password and query, numbers and
// closed words: no key, no value, no model's text. Names are as they were
// written, so the program that prints them must escape them.
//
// What not to do: don't take an ok for a proof. It is what was seen at one
// moment, and canaries are a smoke alarm, see package review.
package doctor
