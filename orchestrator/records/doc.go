// Package records reads, verifies and purges what a process has recorded, beside the
// process or after it.
//
//	src := records.Source{Database: "vedette.db", PublicKey: "keys/ledger.pub", Keys: "keys"}
//	found, err := src.Find(ctx, "0199a1b2")        // one record, and those of its call
//	whole, err := src.Story(ctx, "0199a1b2")       // all that is kept of its call, without values
//	whole, err = src.StoryWithValues(ctx, "0199a1b2", story.Reader{By: "local:ann", Via: "cli"})
//	pol, err := src.Policy(ctx, "3f0a9c")          // what a policy's digest stands for
//	proof, err := src.Verify(ctx, []string{"monday.txt"})
//	gone, err := src.Purge(ctx, records.PurgeOptions{User: "ann", By: "bob"})
//
//	q, err := records.ParseQuery("outcome:deny since:24h", time.Now())
//	counted, err := src.Count(ctx, records.ListOptions{Query: q})
//
// The package isn't stable: docs/api.md lists those that are.
//
// Find, Story, Policy, List, Follow, Count, Export, Verify and NewestHead read the database beside a running
// server. StoryWithValues and Purge need it for themselves.
//
// Errors that an operator can do something about are *advice.Error, with words of the
// vedette command line. What doesn't hold what was signed is an *IntegrityError.
//
// What not to do: don't log a story with values. They are what the journal keeps sealed:
// requests, missions, arguments, results.
package records
