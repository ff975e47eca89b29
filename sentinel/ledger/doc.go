// Package ledger keeps an append-only, tamper-evident list of records in a
// [store.Store]. It stores bytes and query keys and knows nothing of what they
// mean.
//
// The package isn't stable: docs/api.md lists those that are.
//
// # How it works
//
// Every record is encoded with all its fields into one leaf; [Entry] says how they
// are bounded. The leaf is hashed into a Merkle tree (RFC 6962). Just before each
// group of the store is committed, the ledger stores the new tree hashes and a head.
// The head is the size and root of the tree, signed with an Ed25519 note key. Records
// and the head over them become durable in the same transaction.
//
//	signer, err := ledger.NewSigner(keys.Ledger())
//	led, err := ledger.Open(ctx, st, signer, ledger.Options{})
//	err = st.Submit(ctx, func(tx *store.Tx) error {
//		_, err := led.AppendTx(tx, ledger.Entry{ID: id, Time: now, Kind: "decision", ...})
//		return err
//	})
//
// # What can be proved
//
// [Verify] needs the file and the public key, no running program. It finds a record
// that was changed, swapped, inserted or removed under a signed head. An attacker
// with the file can still cut off its tail and heads, or restore an old copy. Verify finds that only with heads that were kept elsewhere
// ([Ledger.ExportHead], VerifyOptions.Heads), and up to the newest of them. Without
// such heads the report says so. An attacker who holds the private key as well can
// rewrite everything after the newest head that left the machine.
//
// A statement that updates or deletes a record is an error of that statement, by a trigger. It keeps accidents away;
// the owner of the file can drop it, and Verify finds that.
//
// # More than one file
//
// [Archiver] closes the file in use and has another go on, with a tree, an origin and a key of its own. Places of
// records count through all files. Reader, proofs and Verify go through those that are there. [OpenWith] opens the
// ledger with the keys of a key folder, and finishes what a kill in the midst of an archive left.
//
// # What not to do
//
//   - Do not open the ledger of a key folder with Open: after a kill the key of the newest file may still wait in it
//     under another name.
//
//   - Do not put argument values, results or other free text into an Entry: it
//     cannot be erased. Codes, names, numbers and salted
//     digests belong here; values belong into the journal.
//
//   - Do not sign with one key for two databases: their heads would be taken
//     for each other's.
//
//   - Do not act on an index before Submit has returned nil.
package ledger
