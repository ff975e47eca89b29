// Package store is one database and one writer. Everything that must be durable
// before a skill may run goes through [Store.Submit].
//
// The package isn't stable: docs/api.md lists those that are.
//
// # How to use it
//
//	st, err := store.Open(ctx, store.Options{Path: "vedette.db"})
//	err = st.Migrate(ctx, "approvals", []string{`CREATE TABLE approvals (...) STRICT`})
//	err = st.Submit(ctx, func(tx *store.Tx) error {
//		if err := store.Spend(tx, warrantID, expires); err != nil {
//			return err // rolls back this submission alone
//		}
//		_, err := tx.Exec(`INSERT INTO approvals (id) VALUES (?)`, id)
//		return err
//	})
//
// Submissions of many callers are gathered into one transaction (a group) by a
// single goroutine. Each runs in a savepoint of its own, so one that fails
// takes nothing of its neighbours with it. Submit returns after the COMMIT of
// the group has reached the disk (write-ahead log, synchronous=FULL), never
// before. Seal hooks run once in every group just before its COMMIT. There
// the ledger signs its tree head: one signature for the whole group.
//
// Reading is done beside the writer through [Store.Reader], or from another
// process through [OpenReader]; readers never wait for the writer.
//
// # What happens when a write fails
//
// The transaction as a whole may fail to become durable: the disk is full, input or
// output fails, or a seal hook does. Then every member of the group gets an error
// that is [ErrUnavailable], and the rollback hooks run. The store opens another
// connection for the next group: it works again as soon as the disk does.
// ErrUnavailable means that the caller must act as if nothing was written. After a
// crash at exactly that moment the group may turn out to be in the file, whole. That
// is the safe direction, because no caller acted on it.
//
// A program with supervision runs the writer as a child of its own, with [Store.Run].
// A writer that breaks down there is replaced at once.
//
// # What not to do
//
//   - Do not block in a submitted function: it holds up every writer. Prepare
//     values first, and never call Submit from within one.
//   - Do not keep a [Tx] or [Rows] beyond the function that it was given to.
//   - Do not write transaction control (BEGIN, COMMIT, SAVEPOINT, ON CONFLICT
//     ROLLBACK) or PRAGMAs in a submission.
//   - Do not build SQL text from values: statements are cached by their text.
//   - Do not open the database file with os.Open while the store is open in the
//     same process: closing it drops SQLite's POSIX locks.
//   - Do not copy the file while the store is open without its -wal file.
package store
