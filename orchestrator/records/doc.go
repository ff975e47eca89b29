// Package records reads, verifies and purges what a process has recorded, beside the
// process or after it.
//
//	src := records.Source{Database: "vedette.db", PublicKey: "keys/ledger.pub", Keys: "keys"}
//	found, err := src.Find(ctx, "0199a1b2")        // one record, and those of its call
//	proof, err := src.Verify(ctx, records.VerifyOptions{Heads: []string{"monday.txt"}})
//	gone, err := src.Purge(ctx, records.PurgeOptions{User: "ann", By: "bob"})
//
//	q, err := records.ParseQuery("outcome:deny since:24h", time.Now())
//	counted, err := src.Count(ctx, records.ListOptions{Query: q})
//
// The package isn't stable: docs/api.md lists those that are.
//
// Find, List, Follow, Count, Export, Verify and NewestHead read the database beside a running server.
// Purge needs it for itself. Package shown has what is shown of one call and of policies.
//
// Errors that an operator can do something about are *advice.Error, with words of the
// vedette command line. What doesn't hold what was signed is an *IntegrityError.
//
// What not to do: don't purge while a server runs on the database; stop it first.
package records
