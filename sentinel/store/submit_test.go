package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A submission whose caller gave up before the writer came to it does not run. One
// that was picked up is awaited.
func TestSubmitContext(t *testing.T) {
	s := open(t, Options{})
	release := held(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error, 1)
	go func() { answer <- s.Submit(ctx, put("late")) }()
	require.Eventually(t, func() bool { return len(s.in) == 1 }, 4*time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-answer, context.Canceled)
	release()
	require.ErrorIs(t, s.Submit(ctx, put("late")), context.Canceled)

	ctx, cancel = context.WithCancel(t.Context())
	err := s.Submit(ctx, func(tx *Tx) error {
		cancel()
		return put("kept")(tx)
	})
	require.NoError(t, err)
	require.Equal(t, []string{"kept"}, items(t, s))
	require.Error(t, s.Submit(t.Context(), nil))
}

// Close answers every caller: with the result where the writer had begun, with
// ErrClosed otherwise. Nothing that was answered with ErrClosed is in the file.
func TestClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := Open(t.Context(), Options{Path: path})
	require.NoError(t, err)
	require.NoError(t, s.Migrate(t.Context(), "items", itemSchema))
	var kept atomic.Int64
	odd := make(chan error, 64)
	var wg sync.WaitGroup
	for c := range 64 {
		wg.Go(func() {
			for i := 0; ; i++ {
				err := s.Submit(context.Background(), func(tx *Tx) error {
					_, err := tx.Exec(`INSERT INTO items (id) VALUES (?)`, string(rune('A'+c))+"-"+time.Unix(int64(i), 0).UTC().Format("150405"))
					return err
				})
				if err == nil {
					kept.Add(1)
					continue
				}
				if !errors.Is(err, ErrClosed) {
					odd <- err
				}
				return
			}
		})
	}
	require.Eventually(t, func() bool { return kept.Load() > 200 }, 4*time.Minute, time.Millisecond)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	wg.Wait()
	require.Empty(t, odd)
	require.ErrorIs(t, s.Submit(t.Context(), put("x")), ErrClosed)
	s = open(t, Options{Path: path})
	require.Len(t, items(t, s), int(kept.Load()))
}

// A transaction is of no use after its submission, and rows are closed with it.
func TestTxEnds(t *testing.T) {
	s := open(t, Options{})
	var kept *Tx
	require.NoError(t, s.Submit(t.Context(), func(tx *Tx) error {
		kept = tx
		if err := put("a")(tx); err != nil {
			return err
		}
		rows, err := tx.Query(`SELECT id FROM items`) // never closed
		if err != nil || !rows.Next() {
			return errors.New("no row")
		}
		_, err = tx.Query(`SELECT id FROM items`) // the same statement again
		return err
	}))
	_, err := kept.Exec(`DELETE FROM items`)
	require.ErrorIs(t, err, ErrTx)
	require.Equal(t, []string{"a"}, items(t, s))
}

// Values come back as they went in; what does not fit is an error.
func TestTxValues(t *testing.T) {
	s := open(t, Options{})
	require.NoError(t, s.Migrate(t.Context(), "vals",
		[]string{`CREATE TABLE vals (s TEXT, b BLOB NOT NULL, i INTEGER, f REAL, o INTEGER) STRICT`}))
	require.NoError(t, s.Submit(t.Context(), func(tx *Tx) error {
		n, err := tx.Exec(`INSERT INTO vals VALUES (?, ?, ?, ?, ?)`, "text", []byte(nil), 7, 1.5, true)
		if err != nil || n != 1 {
			return errors.Join(err, errors.New("not one row"))
		}
		var str string
		var b []byte
		var i int64
		var f float64
		var o bool
		found, err := tx.QueryRow([]any{&str, &b, &i, &f, &o}, `SELECT * FROM vals`)
		if err != nil || !found || str != "text" || len(b) != 0 || i != 7 || f != 1.5 || !o {
			return errors.Join(err, errors.New("other values"))
		}
		found, err = tx.QueryRow([]any{&str}, `SELECT s FROM vals WHERE i = ?`, 8)
		if err != nil || found {
			return errors.New("found what is not there")
		}
		if _, err := tx.QueryRow([]any{&i}, `SELECT s FROM vals`); err == nil {
			return errors.New("text fits a number")
		}
		if _, err := tx.QueryRow([]any{&i, &i}, `SELECT i FROM vals`); err == nil {
			return errors.New("one column fits two")
		}
		if _, err := tx.Exec(`INSERT INTO vals (s) VALUES (?)`, time.Now()); err == nil {
			return errors.New("a time was taken")
		}
		return nil
	}))
}

// A warrant is spent once, also after a restart, until it is pruned.
func TestSpend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	spend := func(s *Store, id string, at int64) error {
		return s.Submit(context.Background(), func(tx *Tx) error { return Spend(tx, id, time.Unix(at, 0)) })
	}
	s, err := Open(t.Context(), Options{Path: path})
	require.NoError(t, err)
	require.NoError(t, spend(s, "a", 100))
	require.NoError(t, spend(s, "b", 200))
	require.Error(t, spend(s, "", 200))
	require.NoError(t, s.Close())
	s = open(t, Options{Path: path})
	require.ErrorIs(t, spend(s, "a", 100), ErrSpent)
	n, err := s.PruneSpent(t.Context(), time.Unix(150, 0))
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.ErrorIs(t, spend(s, "b", 200), ErrSpent)
	require.NoError(t, spend(s, "a", 300))

	// Of many at the same time exactly one wins.
	var wg sync.WaitGroup
	var won, lost atomic.Int64
	for range 32 {
		wg.Go(func() {
			switch err := spend(s, "race", 300); {
			case err == nil:
				won.Add(1)
			case errors.Is(err, ErrSpent):
				lost.Add(1)
			}
		})
	}
	wg.Wait()
	require.Equal(t, []int64{1, 31}, []int64{won.Load(), lost.Load()})
}

// Steps run once and in order; a failed one leaves nothing; a newer file is
// refused.
func TestMigrate(t *testing.T) {
	s := open(t, Options{})
	one := `CREATE TABLE m (a TEXT) STRICT; INSERT INTO m VALUES ('1')`
	two := `ALTER TABLE m ADD COLUMN b TEXT; INSERT INTO m VALUES ('2', 'x')`
	require.NoError(t, s.Migrate(t.Context(), "m", []string{one}))
	require.Error(t, s.Migrate(t.Context(), "m", []string{one, two, `CREATE TABLE m (x TEXT)`}))
	require.NoError(t, s.Migrate(t.Context(), "m", []string{one, two}))
	require.NoError(t, s.Migrate(t.Context(), "m", []string{one, two}))
	var n int
	require.NoError(t, s.Reader().QueryRow(t.Context(), `SELECT count(*) FROM m`).Scan(&n))
	require.Equal(t, 2, n)
	require.ErrorIs(t, s.Migrate(t.Context(), "m", []string{one}), ErrNewer)
	require.Error(t, s.Migrate(t.Context(), "", nil))
	require.NoError(t, s.Claim("m"))
	require.ErrorIs(t, s.Claim("m"), ErrClaimed)
}

// A checkpoint empties the log; a reader in the way is waited for, and writing
// goes on meanwhile.
func TestCheckpoint(t *testing.T) {
	s := open(t, Options{})
	require.NoError(t, s.Submit(t.Context(), put("a")))
	require.NoError(t, s.Checkpoint(t.Context()))
	require.Zero(t, walSize(t, s))

	rows, err := s.Reader().Query(t.Context(), `SELECT id FROM items`) // holds a snapshot
	require.NoError(t, err)
	require.True(t, rows.Next())
	require.NoError(t, s.Submit(t.Context(), put("b")))
	for patience, busy := 100*time.Millisecond, false; !busy; patience *= 2 { // time for one attempt, on any machine
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := s.Checkpoint(ctx)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		busy = errors.Is(err, ErrBusy)
	}
	done := make(chan error, 1)
	go func() { done <- s.Checkpoint(context.Background()) }()
	require.NoError(t, s.Submit(t.Context(), put("c")))
	require.NoError(t, rows.Close()) //nolint:sqlclosecheck // the reader ends here, in the midst of the test
	require.NoError(t, <-done)
	require.Zero(t, walSize(t, s))
	require.Equal(t, []string{"a", "b", "c"}, items(t, s))
}

func walSize(t *testing.T, s *Store) int64 {
	t.Helper()
	info, err := os.Stat(s.Path() + "-wal")
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	require.NoError(t, err)
	return info.Size()
}
