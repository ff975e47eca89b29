package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var itemSchema = []string{`CREATE TABLE items (id TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0) STRICT`}

func open(t *testing.T, opts Options) *Store {
	t.Helper()
	if opts.Path == "" {
		opts.Path = filepath.Join(t.TempDir(), "test.db")
	}
	s, err := Open(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.Migrate(t.Context(), "items", itemSchema))
	return s
}

func put(id string) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO items (id) VALUES (?)`, id)
		return err
	}
}

func items(t *testing.T, s *Store) (ids []string) {
	t.Helper()
	rows, err := s.Reader().Query(t.Context(), `SELECT id FROM items ORDER BY id`)
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		ids = append(ids, id)
	}
	require.NoError(t, rows.Err())
	return ids
}

// held blocks the writer inside a submission. So a test can queue others behind it
// and knows that they become one group.
func held(t *testing.T, s *Store) (release func()) {
	t.Helper()
	started, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.Submit(context.Background(), func(*Tx) error {
			close(started)
			<-free
			return nil
		})
	}()
	<-started
	return func() {
		close(free)
		require.NoError(t, <-done)
	}
}

// queue submits functions that will be in one group, and returns where their
// answers come, in order.
func queue(t *testing.T, s *Store, fns ...func(*Tx) error) []chan error {
	t.Helper()
	out := make([]chan error, len(fns))
	for i, fn := range fns {
		out[i] = make(chan error, 1)
		before := len(s.in)
		go func() { out[i] <- s.Submit(context.Background(), fn) }()
		for len(s.in) == before { // queued before the next one, so in order
			runtime.Gosched()
		}
	}
	return out
}

// The connection that writes is as durable as the design says.
func TestPragmas(t *testing.T) {
	s := open(t, Options{})
	got := map[string]string{}
	err := s.submitRequest(t.Context(), &request{done: make(chan struct{}), maint: func(c *conn) error {
		for _, p := range []string{"synchronous", "journal_mode", "busy_timeout", "foreign_keys", "secure_delete", "temp_store",
			"trusted_schema"} {
			v, err := c.readFirstRow("PRAGMA " + p)
			if err != nil {
				return err
			}
			got[p] = fmt.Sprint(v[0])
		}
		return nil
	}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"synchronous": "2", "journal_mode": "wal", "busy_timeout": "5000", "foreign_keys": "1",
		"secure_delete": "1", "temp_store": "2", "trusted_schema": "0"}, got)
}

// No file of the database can be read by others, also one that could before.
func TestFileModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd name?#%.db")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	s := open(t, Options{Path: path})
	require.NoError(t, s.Submit(t.Context(), put("a")))
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		info, err := os.Stat(path + suffix)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), suffix)
	}
}

// Open narrows the files beside a database that was open to others. An older
// process or a copy may have left them so.
func TestFileModesOfWhatIsThere(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no permission bits on windows")
	}
	first := open(t, Options{})
	require.NoError(t, first.Submit(t.Context(), put("a")))
	path := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		b, err := os.ReadFile(first.Path() + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path+suffix, b, 0o600))
		require.NoError(t, os.Chmod(path+suffix, 0o644))
	}
	require.NoError(t, prepareFile(path))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), suffix)
	}
	s := open(t, Options{Path: path})
	require.Equal(t, []string{"a"}, items(t, s))
}

// The schema of a database can't be rewritten through its own connection. No text
// of a statement that reaches the writer can make rows lie.
func TestDefensive(t *testing.T) {
	s := open(t, Options{})
	require.NoError(t, s.Submit(t.Context(), put("a")))
	err := s.submitRequest(t.Context(), &request{done: make(chan struct{}), maint: func(c *conn) error {
		if err := c.runScript("PRAGMA writable_schema = ON"); err != nil {
			return err
		}
		return c.runScript("UPDATE sqlite_schema SET sql = replace(sql, 'items', 'other') WHERE name = 'items'")
	}})
	require.ErrorContains(t, err, "may not be modified")
	require.Equal(t, []string{"a"}, items(t, s))
}

// Wrong options are refused by name.
func TestOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	_, err := Open(t.Context(), Options{Path: path, Driver: "postgres"})
	require.ErrorIs(t, err, ErrDriver)
	_, err = Open(t.Context(), Options{})
	require.ErrorContains(t, err, "path is empty")
	_, err = Open(t.Context(), Options{Path: path, MaxBatch: -1})
	require.ErrorContains(t, err, "batch")
	_, err = Open(t.Context(), Options{Path: filepath.Join(path, "none", "x.db")})
	require.Error(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("not a database", 100)), 0o600))
	_, err = Open(t.Context(), Options{Path: path})
	require.ErrorContains(t, err, "not a database")
	_, err = OpenReader(t.Context(), path+"none")
	require.ErrorIs(t, err, ErrNoFile)
}

// openSecond is the other process of TestSecondWriter.
func openSecond(t *testing.T, path string) {
	_, err := Open(context.Background(), Options{Path: path})
	require.ErrorIs(t, err, ErrLocked)
	r, err := OpenReader(context.Background(), path)
	require.NoError(t, err)
	var n int
	require.NoError(t, r.QueryRow(context.Background(), `SELECT count(*) FROM items`).Scan(&n))
	require.Equal(t, 1, n)
	require.NoError(t, r.Close())
}

// A second writer is refused, in this process and in another; a reader is not,
// and cannot write.
func TestSecondWriter(t *testing.T) {
	if path := os.Getenv("STORE_LOCK_PATH"); path != "" {
		openSecond(t, path)
		return
	}
	s := open(t, Options{})
	require.NoError(t, s.Submit(t.Context(), put("a")))
	_, err := Open(t.Context(), Options{Path: s.Path()})
	require.ErrorIs(t, err, ErrLocked)

	cmd := exec.Command(os.Args[0], "-test.run=^TestSecondWriter$")
	cmd.Env = append(os.Environ(), "STORE_LOCK_PATH="+s.Path())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))

	r, err := OpenReader(t.Context(), s.Path())
	require.NoError(t, err)
	_, err = r.now.Load().db.Exec(`DELETE FROM items`)
	require.Error(t, err)
	require.NoError(t, r.Close())
	require.NoError(t, s.Submit(t.Context(), put("b")))
	require.Equal(t, []string{"a", "b"}, items(t, s))
}

// A file can be read while no process has it open.
func TestReaderAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := Open(t.Context(), Options{Path: path})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	r, err := OpenReader(t.Context(), path)
	require.NoError(t, err)
	var n int
	require.NoError(t, r.QueryRow(t.Context(), `SELECT count(*) FROM store_spent`).Scan(&n))
	require.NoError(t, r.Close())
}

// A member that fails takes nothing of its group with it. It may fail by an error,
// a constraint, a panic, or the end of its goroutine's function.
func TestMembersFailAlone(t *testing.T) {
	s := open(t, Options{})
	require.NoError(t, s.Submit(t.Context(), func(tx *Tx) error { return Spend(tx, "w1", time.Unix(1, 0)) }))
	own := errors.New("own")
	release := held(t, s)
	var undone []int
	answers := queue(t, s,
		put("a"),
		func(tx *Tx) error {
			tx.OnUndo(func() { undone = append(undone, 1) })
			tx.OnUndo(func() { undone = append(undone, 2) })
			return errors.Join(put("b")(tx), own)
		},
		func(tx *Tx) error { return errors.Join(put("c")(tx), Spend(tx, "w1", time.Unix(1, 0))) },
		func(tx *Tx) error {
			_ = put("d")(tx)
			panic("secret value")
		},
		func(tx *Tx) error { return put("a")(tx) }, // the id is taken, within the group
		put("e"),
	)
	release()
	require.NoError(t, <-answers[0])
	require.ErrorIs(t, <-answers[1], own)
	require.ErrorIs(t, <-answers[2], ErrSpent)
	err := <-answers[3]
	var pe *PanicError
	require.ErrorAs(t, err, &pe)
	require.Equal(t, "string", pe.Type)
	require.NotEmpty(t, pe.Stack)
	require.NotContains(t, err.Error(), "secret")
	require.ErrorContains(t, <-answers[4], "UNIQUE")
	require.NoError(t, <-answers[5])
	require.Equal(t, []string{"a", "e"}, items(t, s))
	require.Equal(t, []int{2, 1}, undone)
}

// A function that ends the writer's goroutine fails its group, and a new writer
// takes over.
func TestGoexit(t *testing.T) {
	s := open(t, Options{})
	err := s.Submit(t.Context(), func(tx *Tx) error {
		_ = put("a")(tx)
		runtime.Goexit()
		return nil
	})
	require.ErrorIs(t, err, ErrUnavailable)
	require.NoError(t, s.Submit(t.Context(), put("b")))
	require.Equal(t, []string{"b"}, items(t, s))
}

// One group is sealed once, after its members; a group without a success is not.
func TestSeal(t *testing.T) {
	s := open(t, Options{})
	var log []string
	s.OnSeal(func(tx *Tx) error {
		log = append(log, "seal")
		_, err := tx.Exec(`UPDATE items SET n = n + 1`)
		return err
	})
	s.OnCommit(func() { log = append(log, "commit") })
	release := held(t, s)
	answers := queue(t, s, put("a"), put("b"), put("c"))
	release()
	for _, a := range answers {
		require.NoError(t, <-a)
	}
	require.Error(t, s.Submit(t.Context(), func(*Tx) error { return errors.New("no") }))
	require.Equal(t, []string{"seal", "commit", "seal", "commit"}, log) // held's own group, and theirs
	var n int
	require.NoError(t, s.Reader().QueryRow(t.Context(), `SELECT sum(n) FROM items`).Scan(&n))
	require.Equal(t, 3, n)
}

// If the group cannot be sealed or committed, every member is told. State in
// memory is put back, and the next group works.
func TestGroupFailure(t *testing.T) {
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		seal   func(*Tx) error
		member func(*Tx) error
		cause  error
	}{
		"seal fails":  {seal: func(*Tx) error { return boom }, member: put("b"), cause: boom},
		"seal panics": {seal: func(*Tx) error { panic("x") }, member: put("b")},
		// A deferred foreign key is looked at by COMMIT alone.
		"commit fails": {member: func(tx *Tx) error {
			_, err := tx.Exec(`INSERT INTO child (id) VALUES (99)`)
			return err
		}},
		// What a full disk gives: SQLite undoes the whole transaction by itself,
		// and a member that goes on regardless must not write outside of it.
		"disk full": {member: func(tx *Tx) error {
			for i := range 2000 {
				_, _ = tx.Exec(`INSERT INTO items (id) VALUES (?)`, fmt.Sprintf("%d%s", i, strings.Repeat("x", 3000)))
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{})
			require.NoError(t, s.Migrate(t.Context(), "fk", []string{`CREATE TABLE parent (id INTEGER PRIMARY KEY) STRICT;
CREATE TABLE child (id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED) STRICT`}))
			if name == "disk full" {
				limit := func(c *conn) error { return c.runScript("PRAGMA max_page_count=40") }
				require.NoError(t, s.submitRequest(t.Context(), &request{done: make(chan struct{}), maint: limit}))
			}
			rollbacks, undone, groups := 0, 0, 0
			release := held(t, s)
			s.OnSeal(func(tx *Tx) error { // of the queued group, and those after it
				if groups++; groups == 1 && tc.seal != nil {
					return tc.seal(tx)
				}
				return nil
			})
			s.OnRollback(func() { rollbacks++ })
			answers := queue(t, s, func(tx *Tx) error {
				tx.OnUndo(func() { undone++ })
				return put("a")(tx)
			}, tc.member, put("c"))
			release()
			for _, a := range answers {
				err := <-a
				require.ErrorIs(t, err, ErrUnavailable)
				if tc.cause != nil {
					require.ErrorIs(t, err, tc.cause)
				}
			}
			require.Equal(t, []int{1, 1}, []int{rollbacks, undone})
			require.Empty(t, items(t, s))
			require.NoError(t, s.Submit(t.Context(), put("z")))
			require.Equal(t, []string{"z"}, items(t, s))
		})
	}
}

// A database in a folder that isn't there is refused with the folder's name, and no folder is made.
func TestOpenNeedsTheFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "missing")
	_, err := Open(t.Context(), Options{Path: filepath.Join(folder, "v.db")})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "the folder "+folder+" of the database is not there: make it")
	require.NoDirExists(t, folder)
	require.NoError(t, os.WriteFile(folder, nil, 0o600))
	_, err = Open(t.Context(), Options{Path: filepath.Join(folder, "v.db")})
	require.ErrorContains(t, err, folder+", where the database is to be, is no folder")
}
