// Package habit remembers what people approve, so that the judge's doubts about a user's
// usual calls need no person again.
//
//	h := habit.New(habit.Options{Store: rec, Key: key})
//	judge.New(judge.Options{Habits: h})
//	sentinel.New(sentinel.Options{Habits: h, …})
//
// A habit is three approvals on three days (UTC), the last 90 days long. They must be of one
// user, of the very same skill (a changed skill is another one), to exactly the same
// recipients and other names, byte for byte. No number may be greater than the greatest that
// was approved. An approval of a tainted call never counts. Calls without a recipient, with
// arguments that no schema names, with a command line, and those of agents have no habits. What
// a schema marks x-content, prose and dates may differ; in a skill without marks every text may
// be a name, so none may.
//
// What a habit does is the judge's: it makes up for doubts, and for nothing else.
//
// Approvals are sealed in the journal under the user's name. A purge of the user erases
// them, and the retention of 90 days does. Names stand in no key: Ref is a keyed digest.
//
// What not to do: don't take a habit for a permission. Hard signals, rules and the guard
// are asked about each call all the same.
//
// The package isn't stable: docs/api.md lists those that are.
package habit
