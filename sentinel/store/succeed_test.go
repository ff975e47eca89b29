package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// keeper is a Mover of two tables: kept stays, and big is copied ahead.
type keeper struct {
	moved []File
	fail  error
	ahead int

	abandoned int
}

const keeperTables = `CREATE TABLE kept (n INTEGER PRIMARY KEY NOT NULL) STRICT;
CREATE TABLE big (n INTEGER PRIMARY KEY NOT NULL, b TEXT NOT NULL) STRICT;
CREATE INDEX big_b ON big (b)`

func (k *keeper) Owns(table string) bool  { return table == "kept" || table == "big" }
func (k *keeper) Stays(table string) bool { return table == "kept" }

func (k *keeper) CopyAhead(_ context.Context, m *Move) error {
	return m.Do(func(tx *Tx) error {
		n, err := tx.Exec(`INSERT INTO main.big SELECT * FROM old.big`)
		k.ahead = int(n)
		return err
	})
}

func (k *keeper) Finish(m *Move) error {
	if k.fail != nil {
		return k.fail
	}
	if err := m.RunScript(`CREATE TABLE kept (n INTEGER PRIMARY KEY NOT NULL) STRICT`); err != nil {
		return err
	}
	for _, q := range []string{`INSERT INTO kept (n) VALUES (1000)`, `DELETE FROM big WHERE n NOT IN (SELECT n FROM old.big)`,
		`INSERT INTO main.big SELECT * FROM old.big WHERE n > (SELECT ifnull(max(n), 0) FROM main.big)`} {
		if _, err := m.Tx().Exec(q); err != nil {
			return err
		}
	}
	return nil
}

func (k *keeper) Abandoned() { k.abandoned++ }

func (k *keeper) Moved(from, to File) { k.moved = append(k.moved, from, to) }

// openKept opens a store with the tables of a keeper and some rows.
func openKept(t *testing.T, path string) (*Store, *keeper) {
	t.Helper()
	s := open(t, Options{Path: path})
	require.NoError(t, s.Migrate(t.Context(), "keeper", []string{keeperTables}))
	k := &keeper{}
	s.OnMove(k)
	return s, k
}

func putBig(n int) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO big (n, b) VALUES (?, ?)`, n, fmt.Sprintf("CANARY-%d-%s", n, strings.Repeat("x", 900)))
		return err
	}
}

func count(t *testing.T, r *Reader, table string) (n int) {
	t.Helper()
	require.NoError(t, r.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	return n
}

// Another file goes on in place of the first: what lives is there, what stays is in the first alone, and readers of
// this process and of others go on with the next. What has moved is then in no byte of the first.
func TestSucceed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd name?#%.db")
	s, k := openKept(t, path)
	other, err := OpenReader(t.Context(), path)
	require.NoError(t, err)
	for n := 1; n <= 20; n++ {
		require.NoError(t, s.Submit(t.Context(), putBig(n)))
	}
	require.NoError(t, s.Submit(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO kept (n) VALUES (1), (2)`)
		return errors.Join(err, put("one")(tx), Spend(tx, "w1", time.Unix(1, 0)))
	}))
	var steps []string
	to, err := s.Succeed(t.Context(), func(step string) {
		steps = append(steps, step)
		if step == StepFinish { // the writer waits, and nothing is lost that came before
			require.Equal(t, 21, k.ahead)
		}
		if step == StepCopy {
			require.NoError(t, s.Submit(t.Context(), putBig(21)), "the old file is written to meanwhile")
			require.NoError(t, s.Submit(t.Context(), func(tx *Tx) error { _, err := tx.Exec(`DELETE FROM big WHERE n = 3`); return err }))
			require.NoError(t, s.Submit(t.Context(), putBig(30)))
		}
	})
	require.NoError(t, err)
	require.Equal(t, []string{StepCreate, StepCopy, StepFinish, StepName, StepSwitch}, steps)
	require.Equal(t, File{2, filepath.Join(path+".d", "0002.db")}, to)
	require.Equal(t, []File{{1, path}, to}, k.moved)
	require.Equal(t, to, s.File())
	for _, r := range []*Reader{s.Reader(), other} {
		require.Equal(t, 21, count(t, r, "big"))
		require.Equal(t, 1, count(t, r, "kept"))
		require.Equal(t, to, r.File())
		files, err := r.Files(t.Context())
		require.NoError(t, err)
		require.Len(t, files, 2)
		require.Equal(t, 2, count(t, files[1], "kept"))
	}
	require.Equal(t, []string{"one"}, items(t, s))
	require.ErrorIs(t, s.Submit(t.Context(), func(tx *Tx) error { return Spend(tx, "w1", time.Unix(1, 0)) }), ErrSpent)
	require.NoError(t, s.Submit(t.Context(), put("two")))
	require.NoError(t, s.Migrate(t.Context(), "keeper", []string{keeperTables}), "versions of tables moved along")

	require.NoError(t, s.WriteOlder(t.Context(), File{1, path}, func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO kept (n) VALUES (3)`)
		return err
	}))
	require.Error(t, s.WriteOlder(t.Context(), to, func(*Tx) error { return nil }))
	require.NoError(t, s.CleanOlder(t.Context()))
	require.NoError(t, other.Close())
	require.NoError(t, s.Close())
	for _, suffix := range []string{"", "-wal"} { // a reader that was the last to close leaves an empty log
		raw, err := os.ReadFile(path + suffix)
		require.True(t, err == nil || suffix != "", "%v", err)
		require.False(t, bytes.Contains(raw, []byte("CANARY")))
	}
	first, err := OpenFile(t.Context(), File{1, path})
	require.NoError(t, err)
	require.Equal(t, 3, count(t, first, "kept"))
	require.NoError(t, first.Close())
	require.NoError(t, os.Rename(to.Path, to.Path+".away"))
	_, err = Open(t.Context(), Options{Path: path})
	require.ErrorIs(t, err, ErrArchived)
	require.ErrorContains(t, err, "file 2, which is not there")
	require.NoError(t, os.Rename(to.Path+".away", to.Path))
	again, _ := openKept(t, path)
	require.Equal(t, []string{"one", "two"}, items(t, again))
	require.Equal(t, to, again.File())
}

// What goes wrong before the next file has its name leaves the old one as it was, and nothing beside it.
func TestSucceedFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, k := openKept(t, path)
	require.NoError(t, s.Submit(t.Context(), put("a")))
	k.fail = errors.New("no")
	_, err := s.Succeed(t.Context(), nil)
	require.ErrorIs(t, err, k.fail)
	require.Equal(t, []int{1, 1}, []int{s.File().Number, k.abandoned})
	require.NoError(t, s.Submit(t.Context(), put("b")))
	left, err := os.ReadDir(Folder(path))
	require.NoError(t, err)
	require.Empty(t, left)
	k.fail = nil
	_, err = s.Succeed(t.Context(), func(step string) {
		if step == StepCopy {
			_, err := s.Succeed(t.Context(), nil)
			require.ErrorIs(t, err, ErrMoving)
		}
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, items(t, s))
}

const killedEnv = "VEDETTE_STORE_KILLED"

// A process that is killed at any step goes on with the one file or with the other, and with all that was
// acknowledged.
func TestKilledWhileSucceeding(t *testing.T) {
	if at := os.Getenv(killedEnv); at != "" {
		path, step, _ := strings.Cut(at, "|")
		s, _ := openKept(t, path)
		require.NoError(t, s.Submit(t.Context(), putBig(1)))
		require.NoError(t, s.Submit(t.Context(), put("acknowledged")))
		_, err := s.Succeed(t.Context(), func(now string) {
			if now == step {
				self, err := os.FindProcess(os.Getpid())
				require.NoError(t, errors.Join(err, self.Kill()))
				select {}
			}
		})
		t.Fatal(err)
	}
	for _, step := range []string{StepCreate, StepCopy, StepFinish, StepName, StepSwitch} {
		t.Run(step, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWhileSucceeding$")
			cmd.Env = append(os.Environ(), killedEnv+"="+path+"|"+step)
			out, err := cmd.CombinedOutput()
			var ended *exec.ExitError
			require.ErrorAs(t, err, &ended, string(out))
			require.Equal(t, -1, ended.ExitCode(), string(out))
			s, _ := openKept(t, path)
			require.Equal(t, step == StepSwitch, s.File().Number == 2)
			require.Equal(t, []string{"acknowledged"}, items(t, s))
			require.Equal(t, 1, count(t, s.Reader(), "big"))
			left, err := filepath.Glob(filepath.Join(Folder(path), "*"+nextSuffix+"*"))
			require.NoError(t, err)
			require.Empty(t, left)
			require.NoError(t, s.CleanOlder(t.Context()))
			_, err = s.Succeed(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, []string{"acknowledged"}, items(t, s))
		})
	}
}

// While a reader holds an older file, its cleaning isn't done, and is done later.
func TestCleanOlderWaitsForReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, _ := openKept(t, path)
	require.NoError(t, s.Submit(t.Context(), putBig(1)))
	reader, err := OpenFile(t.Context(), File{1, path})
	require.NoError(t, err)
	rows, err := reader.Query(t.Context(), "SELECT n FROM big")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	require.True(t, rows.Next())
	_, err = s.Succeed(t.Context(), nil)
	require.NoError(t, err)
	require.ErrorIs(t, s.CleanOlder(t.Context()), ErrBusy)
	require.NoError(t, rows.Close())
	require.NoError(t, rows.Err())
	require.NoError(t, reader.Close())
	require.NoError(t, s.CleanOlder(t.Context()))
	require.NoError(t, s.CleanOlder(t.Context()))
}
