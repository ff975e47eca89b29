package store

import (
	"context"
	"fmt"
)

const (
	sqlMigrations = `CREATE TABLE IF NOT EXISTS store_migrations (
	name    TEXT PRIMARY KEY NOT NULL,
	version INTEGER NOT NULL
) STRICT, WITHOUT ROWID`
	sqlGetVersion = `SELECT version FROM store_migrations WHERE name = ?`
	sqlSetVersion = `INSERT INTO store_migrations (name, version) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET version = excluded.version`
)

// Migrate brings the tables of one user of the store up to date. steps[i] is
// the script (one or more statements) that leads from version i to i+1; steps
// that a file has been through are not run again, so they must never be edited
// or reordered, only added to. All missing steps are one transaction. ErrNewer:
// the file has been through more steps than this program knows.
func (s *Store) Migrate(ctx context.Context, name string, steps []string) error {
	if name == "" {
		return fmt.Errorf("migrate needs a name for the tables")
	}
	return s.Submit(ctx, func(tx *Tx) error {
		if _, err := tx.Exec(sqlMigrations); err != nil {
			return fmt.Errorf("migrate %s: %w", name, err)
		}
		version := 0
		if _, err := tx.QueryRow([]any{&version}, sqlGetVersion, name); err != nil {
			return fmt.Errorf("migrate %s: %w", name, err)
		}
		if version > len(steps) {
			return fmt.Errorf("%w: %s is at version %d, this program knows %d: use the newer program", ErrNewer, name, version, len(steps))
		}
		if version == len(steps) {
			return nil
		}
		for i, step := range steps[version:] {
			if err := tx.conn.script(step); err != nil {
				return fmt.Errorf("migrate %s to version %d: %w", name, version+i+1, tx.note(err))
			}
		}
		_, err := tx.Exec(sqlSetVersion, name, len(steps))
		return err
	})
}
