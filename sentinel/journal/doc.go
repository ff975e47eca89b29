// Package journal keeps values: arguments, results, messages. They are sealed,
// have a retention, and can be erased without touching the ledger.
//
// The package isn't stable: docs/api.md lists those that are.
//
// # How it works
//
// Every value is sealed with AES-256-GCM under a random key of its own. That key
// is wrapped by a key that is not in the database ([KeyRing]). A value's
// owner, kind, name and times are authenticated with it. So a value that was moved
// to another row does not open.
//
//	jr, err := journal.Open(ctx, st, journal.SingleKey(keys.Journal()), journal.Options{})
//	err = st.Submit(ctx, func(tx *store.Tx) error {
//		id, err = jr.PutTx(tx, journal.Item{Call: callID, Conversation: conv, User: user,
//			Kind: "arguments", Data: canonical})
//		return err
//	})
//
// # What erasing does
//
// Erasing overwrites the wrapped key with zeros in its place, deletes the
// sealed value, and then cuts the write-ahead log. Wrapped keys live in a table
// of their own. Its rows are only ever added at the end and overwritten in place, so
// SQLite never moves them. In a table that rows are deleted from, a copy could stay
// behind in a corner of a page. Without
// its wrapped key a sealed value is noise, in this file and in every copy of its
// pages. What remains is the number, so an erased value is told from one that
// never was.
//
// Backups and snapshots of the file system are the operator's. A copy of the file
// from before the erasure opens with the key as long as that exists. [ErrPending]
// means that the value is gone from the database but old pages remain in the log. A
// reader kept them: erase again, or call store.Checkpoint.
//
// # What not to do
//
//   - Do not put text that came from outside into Kind or Name: they are codes,
//     stored in the clear.
//   - Do not keep the key beside the database in one backup.
package journal
