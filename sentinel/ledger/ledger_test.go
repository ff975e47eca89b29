package ledger

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/store"
)

func open(t *testing.T) (*store.Store, *Ledger, *Signer) {
	t.Helper()
	s := newSigner(t)
	st := openStore(t, filepath.Join(t.TempDir(), "ledger.db"))
	l, err := Open(t.Context(), st, s, Options{})
	require.NoError(t, err)
	return st, l, s
}

// Many callers at once get indexes without a gap, and the result verifies.
func TestConcurrentAppends(t *testing.T) {
	st, l, s := open(t)
	const callers, each = 32, 25
	var wg sync.WaitGroup
	indexes := make(chan int64, callers*each)
	failed := make(chan error, callers*each)
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				var at int64
				err := st.Submit(context.Background(), func(tx *store.Tx) (err error) {
					at, err = l.AppendTx(tx, entry(c*each+i))
					if err == nil && i%5 == 4 { // appended, then refused: leaves no trace
						_, err = l.AppendTx(tx, entry(c*each+i))
					}
					return err
				})
				switch {
				case i%5 != 4 && err == nil:
					indexes <- at
				case i%5 != 4 || !errors.Is(err, ErrDuplicate):
					failed <- err
				}
			}
		})
	}
	wg.Wait()
	close(indexes)
	require.Empty(t, failed)
	seen := map[int64]bool{}
	for i := range indexes {
		require.False(t, seen[i])
		seen[i] = true
	}
	require.Len(t, seen, callers*each*4/5)
	report, err := Verify(t.Context(), st.Path(), VerifyOptions{PublicKey: s.PublicKey()})
	require.NoError(t, err)
	require.EqualValues(t, len(seen), report.Proved)
	require.Zero(t, report.Unsigned)
}

// What was appended goes on after a reopening, and one store has one ledger.
func TestReopen(t *testing.T) {
	s := newSigner(t)
	path, before := written(t, s)
	st := openStore(t, path)
	l, err := Open(t.Context(), st, s, Options{})
	require.NoError(t, err)
	head, err := l.ExportHead(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, head)
	_, err = Open(t.Context(), st, s, Options{})
	require.ErrorIs(t, err, store.ErrClaimed)
	appendOne(t, st, l, 13, 4)
	after, err := l.ExportHead(t.Context())
	require.NoError(t, err)
	report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: s.PublicKey(), Heads: [][]byte{before, after}})
	require.NoError(t, err)
	require.Equal(t, []int64{17, 17, 2}, []int64{report.Records, report.RollbackExcluded, int64(report.External)})
}

// A ledger that does not fit its newest head is not opened for signing.
func TestOpenRefusesTampered(t *testing.T) {
	for name, sql := range map[string]string{
		"tail cut": `DELETE FROM ledger_records WHERE idx = 12`,
		"record added": `INSERT INTO ledger_records SELECT 13, 'n', time, kind, call, decision, conversation, user, agent, skill, outcome, ` +
			`gate, code, body FROM ledger_records WHERE idx = 1`,
		"heads gone":     `DELETE FROM ledger_heads`,
		"hashes gone":    `DELETE FROM ledger_hashes WHERE first > 10`,
		"hashes changed": `UPDATE ledger_hashes SET hashes = zeroblob(length(hashes))`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigner(t)
			path, _ := written(t, s)
			tamper(t, path, sql)
			_, err := Open(t.Context(), openStore(t, path), s, Options{})
			require.ErrorIs(t, err, ErrTampered)
		})
	}
}

// When a commit fails, nothing of the group stays, in the file or in memory. The
// next group goes on as if the group had not been.
func TestCommitFailure(t *testing.T) {
	st, l, s := open(t)
	require.NoError(t, st.Migrate(t.Context(), "fk", []string{
		`CREATE TABLE parent (id INTEGER PRIMARY KEY) STRICT;
CREATE TABLE child (id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED) STRICT`}))
	appendGroups(t, st, l, 0, 3)
	before, err := l.ExportHead(t.Context())
	require.NoError(t, err)
	err = st.Submit(t.Context(), func(tx *store.Tx) error {
		if _, err := l.AppendTx(tx, entry(3)); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO child (id) VALUES (99)`) // checked by COMMIT alone
		return err
	})
	require.ErrorIs(t, err, store.ErrUnavailable)
	after, err := l.ExportHead(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after)

	appendGroups(t, st, l, 3, 2) // the same id again
	got, err := l.List(t.Context(), Query{})
	require.NoError(t, err)
	require.Len(t, got, 5)
	report, err := Verify(t.Context(), st.Path(), VerifyOptions{PublicKey: s.PublicKey()})
	require.NoError(t, err)
	require.EqualValues(t, 5, report.Proved)
}

// A group that was reported lost may be in the file after all. The next append
// then goes on behind it: what counts is what the database holds.
func TestLostGroupReturns(t *testing.T) {
	st, l, s := open(t)
	appendGroups(t, st, l, 0, 3)
	// The state in memory is put back behind the group, as if its commit had
	// failed, while the group is in the file.
	before := edge{}
	l.durable.copyTo(&before)
	appendGroups(t, st, l, 3, 1)
	require.NoError(t, st.Submit(t.Context(), func(*store.Tx) error {
		before.copyTo(&l.durable)
		l.onRollback()
		return nil
	}))
	appendGroups(t, st, l, 4, 2)
	report, err := Verify(t.Context(), st.Path(), VerifyOptions{PublicKey: s.PublicKey()})
	require.NoError(t, err)
	require.EqualValues(t, 6, report.Proved)
}

// An Open that failed can be tried again on the same store.
func TestOpenAgain(t *testing.T) {
	s := newSigner(t)
	path, _ := written(t, s)
	st := openStore(t, path)
	_, err := Open(t.Context(), st, newSigner(t), Options{})
	require.ErrorIs(t, err, ErrHead)
	_, err = Open(t.Context(), st, s, Options{})
	require.NoError(t, err)
}

// runAppender is the process that TestCrash kills: it appends with many
// callers and prints each id once it was acknowledged.
func runAppender(t *testing.T, path string) {
	s, err := NewSigner(os.Getenv("LEDGER_CRASH_KEY"))
	require.NoError(t, err)
	st, err := store.Open(context.Background(), store.Options{Path: path})
	require.NoError(t, err)
	l, err := Open(context.Background(), st, s, Options{})
	require.NoError(t, err)
	round, err := strconv.Atoi(os.Getenv("LEDGER_CRASH_ROUND"))
	require.NoError(t, err)
	var mu sync.Mutex
	for c := range 16 {
		go func() {
			for i := 0; ; i++ {
				e := entry(round*10_000_000 + c*100_000 + i)
				err := st.Submit(context.Background(), func(tx *store.Tx) error {
					if _, err := l.AppendTx(tx, e); err != nil {
						return err
					}
					return store.Spend(tx, e.ID, time.Now())
				})
				if err != nil {
					continue
				}
				mu.Lock()
				fmt.Println("ack " + e.ID)
				mu.Unlock()
			}
		}()
	}
	select {} // until killed
}

// Killed while groups are being written, the ledger has everything that was
// acknowledged, verifies, and can be appended to.
func TestCrash(t *testing.T) {
	if path := os.Getenv("LEDGER_CRASH_PATH"); path != "" {
		runAppender(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "crash.db")
	skey, s := rawSigner(t)
	acked := map[string]bool{}
	rounds := 3
	if os.Getenv("VEDETTE_LONG") != "" { // ./test -long
		rounds = 300
	}
	for round := range rounds {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCrash$")
		cmd.Env = append(os.Environ(), "LEDGER_CRASH_PATH="+path, "LEDGER_CRASH_KEY="+skey, "LEDGER_CRASH_ROUND="+strconv.Itoa(round))
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines, n := bufio.NewScanner(out), 0
		for lines.Scan() {
			var id string
			if c, _ := fmt.Sscanf(lines.Text(), "ack %s", &id); c == 1 {
				acked[id] = true
				if n++; n == 200+round*37%900 {
					require.NoError(t, cmd.Process.Kill()) // SIGKILL; what is in the pipe still counts
				}
			}
		}
		require.Error(t, cmd.Wait())
		report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: s.PublicKey()})
		require.NoError(t, err)
		require.Equal(t, report.Records, report.Proved)
		require.GreaterOrEqual(t, report.Records, int64(len(acked)))
	}
	require.GreaterOrEqual(t, len(acked), 600)
	st := openStore(t, path)
	l, err := Open(t.Context(), st, s, Options{})
	require.NoError(t, err)
	for id := range acked {
		_, err := l.Get(t.Context(), id)
		require.NoError(t, err)
	}
	for id := range acked {
		err := st.Submit(t.Context(), func(tx *store.Tx) error { return store.Spend(tx, id, time.Now()) })
		require.ErrorIs(t, err, store.ErrSpent)
		break
	}
	appendGroups(t, st, l, 99_000_000, 2)
	_, err = Verify(t.Context(), path, VerifyOptions{PublicKey: s.PublicKey()})
	require.NoError(t, err)
}

// Records are found by each key, by time and by page, also by another process's
// read-only handle.
func TestQueries(t *testing.T) {
	st, l, _ := open(t)
	appendOne(t, st, l, 0, 30)
	r, err := OpenReader(t.Context(), st.Path())
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	at := func(i int64) *int64 { return &i }
	for _, tc := range []struct {
		name  string
		q     Query
		first int64
		count int
	}{
		{"all", Query{}, 0, 30},
		{"user", Query{User: "user-1"}, 1, 15},
		{"conversation", Query{Conversation: "conv-2"}, 2, 10},
		{"call", Query{Call: "call-17"}, 17, 1},
		{"decision", Query{Decision: "dec-18"}, 18, 1},
		{"several keys", Query{User: "user-0", Conversation: "conv-0", Agent: "email_agent", Skill: "email.send", Outcome: "deny",
			Gate: "guard", Kind: "decision", Code: "guard.core"}, 0, 5},
		{"no match", Query{Skill: "none"}, 0, 0},
		{"since and until", Query{Since: entry(5).Time, Until: entry(9).Time}, 5, 4},
		{"page", Query{AfterIndex: at(9), Limit: 7}, 10, 7},
		{"first page from before the start", Query{AfterIndex: at(-1), Limit: 7}, 0, 7},
		{"newest", Query{Newest: true, Limit: 3}, 29, 3},
		{"before", Query{Newest: true, AfterIndex: at(10), Limit: 3}, 9, 3},
		{"hostile value", Query{User: "' OR 1=1 --"}, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, from := range []*Reader{&l.Reader, r} {
				got, err := from.List(t.Context(), tc.q)
				require.NoError(t, err)
				require.Len(t, got, tc.count)
				if tc.count > 0 {
					require.Equal(t, Record{Index: tc.first, Entry: entry(int(tc.first))}, got[0])
				}
			}
		})
	}
	_, err = l.List(t.Context(), Query{Limit: 1001})
	require.Error(t, err)
}

// Get takes a whole id or an unambiguous beginning, and nothing clever.
func TestGet(t *testing.T) {
	st, l, _ := open(t)
	appendOne(t, st, l, 0, 12)
	for _, tc := range []struct {
		id   string
		want error
	}{
		{"rec-000003", nil}, {"rec-000011", nil}, {"rec-00001", ErrAmbiguous}, {"rec-", ErrAmbiguous},
		{"rec", ErrNotFound}, {"", ErrNotFound}, {"%", ErrNotFound}, {"rec-9", ErrNotFound},
	} {
		_, err := l.Get(t.Context(), tc.id)
		require.ErrorIs(t, err, tc.want, tc.id)
	}
	appendOne(t, st, l, 1_000, 1)
	got, err := l.Get(t.Context(), "rec-001")
	require.NoError(t, err)
	require.EqualValues(t, 12, got.Index)
}

// Stats count what the same query lists.
func TestStats(t *testing.T) {
	st, l, _ := open(t)
	s, err := l.Stats(t.Context(), Query{})
	require.NoError(t, err)
	require.Zero(t, s.Records)
	appendOne(t, st, l, 0, 10)
	s, err = l.Stats(t.Context(), Query{User: "user-1"})
	require.NoError(t, err)
	require.Equal(t, Stats{Records: 5, First: entry(1).Time, Last: entry(9).Time, Kinds: map[string]int64{"decision": 5},
		Outcomes: map[string]int64{"deny": 5}, Gates: map[string]int64{"guard": 5}}, s)
	_, err = l.Get(t.Context(), "none")
	require.ErrorIs(t, err, ErrNotFound)
	require.NotErrorIs(t, err, sql.ErrNoRows)
}

// A clock that goes back, at a restart too, loses nothing: heads and records keep their order, times find the records by
// what is written in them, and it all verifies.
func TestClockGoesBack(t *testing.T) {
	skey, signer := rawSigner(t)
	path := filepath.Join(t.TempDir(), "v.db")
	now := epoch.Add(24 * time.Hour)
	var kept [][]byte
	for n, at := range []time.Time{now, now.Add(-time.Hour), now.Add(-23 * time.Hour), now.Add(time.Hour)} {
		s, err := NewSigner(skey)
		require.NoError(t, err)
		st := openStore(t, path)
		l, err := Open(t.Context(), st, s, Options{Now: func() time.Time { return at }})
		require.NoError(t, err)
		require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
			e := entry(n)
			e.Time = at
			_, err := l.AppendTx(tx, e)
			return err
		}))
		head, err := l.ExportHead(t.Context())
		require.NoError(t, err)
		kept = append(kept, head)
		c, err := l.CompareHeads(t.Context(), kept) // a head of a later time is no head of more records
		require.NoError(t, err)
		require.EqualValues(t, n+1, c.Largest.Size)
		require.NoError(t, st.Close())
	}
	report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey(), Heads: kept})
	require.NoError(t, err)
	require.Equal(t, []int64{4, 4}, []int64{report.Records, report.Proved})
	r, err := OpenReader(t.Context(), path)
	require.NoError(t, err)
	list, err := r.List(t.Context(), Query{Since: now.Add(-2 * time.Hour), Until: now.Add(time.Minute)})
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, []int64{0, 1}, []int64{list[0].Index, list[1].Index})
	require.NoError(t, r.Close())
}
