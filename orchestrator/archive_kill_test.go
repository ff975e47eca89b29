package orchestrator

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

const archiveEnv = "VEDETTE_ARCHIVE_KILLED"

// archiveSteps are the steps at which a process may be killed while it archives.
var archiveSteps = []string{
	store.StepCreate, store.StepCopy, store.StepFinish, store.StepName, store.StepSwitch, ledger.StepClose, ledger.StepKey, ledger.StepClean,
}

// archiveUntil archives the ledger in a folder, and kills the process before a step.
func archiveUntil(t *testing.T, dir, step string) {
	src := sourceOf(dir)
	k, err := keys.LoadOrCreate(src.Keys)
	require.NoError(t, err)
	st, err := store.Open(context.Background(), store.Options{Path: src.Database})
	require.NoError(t, err)
	_, err = journal.Open(context.Background(), st, journal.SingleKey(k.Journal()), journal.Options{})
	require.NoError(t, err)
	l, err := ledger.OpenWith(context.Background(), st, k, ledger.Options{})
	require.NoError(t, err)
	_, err = ledger.NewArchiver(ledger.ArchiverOptions{Store: st, Ledger: l, Keys: k}).Archive(context.Background(), "ann", func(now string) {
		if now == step {
			self, err := os.FindProcess(os.Getpid())
			require.NoError(t, errors.Join(err, self.Kill()))
			select {}
		}
	})
	t.Fatal("it wasn't killed", err)
}

// killArchiving runs archiveUntil in a process of its own.
func killArchiving(t *testing.T, dir, step string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWhileArchiving$")
	cmd.Env = append(os.Environ(), archiveEnv+"="+step+"|"+dir)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	require.ErrorAs(t, err, &ended, string(out))
	require.Equal(t, -1, ended.ExitCode(), string(out))
}

// A process that is killed at any step of an archive loses nothing, and nothing runs twice: whatever was under way
// is gone on with, in the one file or in the other, and all of it verifies. What was left to do is done.
func TestKilledWhileArchiving(t *testing.T) {
	if at := os.Getenv(archiveEnv); at != "" {
		step, dir, _ := strings.Cut(at, "|")
		archiveUntil(t, dir, step)
		return
	}
	for i, step := range archiveSteps {
		t.Run(step, func(t *testing.T) {
			dir := copyEarlier(t, "b5cdb045")
			before := dumpLiving(t, filepath.Join(dir, "vedette.sqlite"))
			killArchiving(t, dir, step)
			moved := i > 3 // from StepSwitch on
			file, err := store.FindNewest(filepath.Join(dir, "vedette.sqlite"))
			require.NoError(t, err)
			require.Equal(t, moved, file.Number == 2)
			require.Equal(t, before, dumpLiving(t, file.Path))

			r, asked := startEarlier(t, dir)
			r.goOn(asked)
			list, err := records.ListArchives(t.Context(), sourceOf(dir))
			require.NoError(t, err)
			require.Len(t, list, map[bool]int{true: 1}[moved])
			_, err = os.Stat(filepath.Join(dir, "keys", "ledger.next.key"))
			require.Equal(t, moved, errors.Is(err, os.ErrNotExist), "the next key was taken, or waits for the next archive")
		})
	}
}

// dumpLiving is all that a database file holds beside its ledger: what must move.
func dumpLiving(t *testing.T, path string) map[string]string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	rows, err := db.Query(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'ledger\_%' ESCAPE '\'
AND name NOT IN ('store_kept', 'store_migrations')`)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	var names []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, rows.Err())
	out := map[string]string{}
	for _, name := range names {
		out[name] = dumpTable(t, db, name)
	}
	require.Greater(t, len(out), 8)
	return out
}

func dumpTable(t *testing.T, db *sql.DB, name string) string {
	t.Helper()
	rows, err := db.Query(`SELECT * FROM "` + name + `" ORDER BY 1, 2`)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	columns, err := rows.Columns()
	require.NoError(t, err)
	sum, n := sha256.New(), 0
	for ; rows.Next(); n++ {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(t, rows.Scan(into...))
		_, _ = fmt.Fprintln(sum, values...)
	}
	require.NoError(t, rows.Err())
	return fmt.Sprintf("%d rows, %x", n, sum.Sum(nil))
}
