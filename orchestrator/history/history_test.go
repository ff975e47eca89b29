package history_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) (*history.History, *store.Store, *journal.Journal) {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "h.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	jr, err := journal.Open(t.Context(), st, journal.SingleKey([32]byte{1}), journal.Options{})
	require.NoError(t, err)
	k, err := keys.LoadOrCreate(filepath.Join(t.TempDir(), "keys"))
	require.NoError(t, err)
	signer, err := ledger.NewSigner(k.Ledger())
	require.NoError(t, err)
	l, err := ledger.Open(t.Context(), st, signer, ledger.Options{})
	require.NoError(t, err)
	h, err := history.Open(t.Context(), st, jr, history.Options{Ledger: l})
	require.NoError(t, err)
	_, err = history.Open(t.Context(), st, jr, history.Options{})
	require.NoError(t, err, "the table is there")
	return h, st, jr
}

func text(kind, s string) history.Item { return history.Item{Kind: kind, Data: []byte(s)} }

// A request is under way from Begin to End; what is added counts as getting
// further; taint comes and stays; the owner is the first, for good.
func TestLife(t *testing.T) {
	h, _, _ := open(t)
	ctx := t.Context()
	turn := history.Turn{Conversation: "c", User: "ann", Turn: "t1"}
	_, ok, err := h.Get(ctx, "c")
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, h.Begin(ctx, turn, text("request", "go"), text("turn.open", "{}")))
	now := func() history.Conversation {
		c, ok, err := h.Get(ctx, "c")
		require.NoError(t, err)
		require.True(t, ok)
		require.WithinDuration(t, time.Now(), c.Updated, time.Minute)
		c.Updated = time.Time{}
		return c
	}
	require.Equal(t, history.Conversation{ID: "c", User: "ann", Turn: "t1"}, now())
	for _, row := range [][2]int{{1, 1}, {1, 2}, {0, 2}, {3, 5}} {
		n, err := h.Attempt(ctx, turn, row[0])
		require.NoError(t, err)
		require.Equal(t, row[1], n)
	}
	turn.Tainted = true
	require.NoError(t, h.Add(ctx, turn, text("turn.round", "1")))
	require.Equal(t, history.Conversation{ID: "c", User: "ann", Turn: "t1", Tainted: true}, now())
	turn.Tainted = false
	open, err := h.Unfinished(ctx)
	require.NoError(t, err)
	require.Len(t, open, 1)
	require.NoError(t, h.End(ctx, history.Turn{Conversation: "c", User: "ann", Turn: "of before"}))
	require.Equal(t, "t1", now().Turn, "the end of another request")
	for _, id := range []string{"t1", "t2"} {
		err = h.Begin(ctx, history.Turn{Conversation: "c", User: "ann", Turn: id}, text("request", "again"))
		require.ErrorIs(t, err, history.ErrUnderWay)
	}
	require.Equal(t, "t1", now().Turn, "it goes on as it was")
	require.NoError(t, h.End(ctx, turn, text("turn.end", "2")))
	require.Equal(t, history.Conversation{ID: "c", User: "ann", Tainted: true}, now())
	again := history.Turn{Conversation: "c", User: "ann", Turn: "t3"}
	require.NoError(t, h.Begin(ctx, again))
	require.Equal(t, history.Conversation{ID: "c", User: "ann", Turn: "t3", Tainted: true}, now(),
		"a request that doesn't know of the taint takes it from nobody")
	require.NoError(t, h.End(ctx, again))
	items, err := h.Items(ctx, history.Turn{Conversation: "c", User: "ann", Turn: "t1"})
	require.NoError(t, err)
	require.Equal(t, []history.Item{text("request", "go"), text("turn.open", "{}"), text("turn.round", "1"), text("turn.end", "2")}, items)
	err = h.Begin(ctx, history.Turn{Conversation: "c", User: "eve", Turn: "t2"}, text("request", "x"))
	require.ErrorIs(t, err, history.ErrOwner)
	items, err = h.Items(ctx, history.Turn{Conversation: "c", User: "eve", Turn: "t2"})
	require.NoError(t, err)
	require.Empty(t, items, "nothing of it is kept")
}

// The items of a kind come newest first, for as long as they are wanted, over
// pages.
func TestNewest(t *testing.T) {
	h, _, _ := open(t)
	for i := range 50 {
		turn := history.Turn{Conversation: fmt.Sprint("c", i%2), User: "ann", Turn: fmt.Sprint("t", i)}
		require.NoError(t, h.Begin(t.Context(), turn, text("request", "r")))
		require.NoError(t, h.End(t.Context(), turn, text("turn.end", fmt.Sprint(i))))
	}
	for _, most := range []int{1, 20, 21, 25, 100} {
		var got []string
		require.NoError(t, h.Newest(t.Context(), "ann", "c1", "turn.end", func(b []byte) bool {
			got = append(got, string(b))
			return len(got) < most
		}))
		require.Len(t, got, min(most, 25))
		require.Equal(t, "49", got[0])
		require.Equal(t, fmt.Sprint(51-2*len(got)), got[len(got)-1])
	}
}

// Another user finds nothing under a turn or a conversation of one's, and writes
// nothing to it; what has no row takes nothing in.
func TestItemsAreTheirUsers(t *testing.T) {
	h, st, _ := open(t)
	ctx := t.Context()
	turn := history.Turn{Conversation: "c", User: "ann", Turn: "t1"}
	require.ErrorIs(t, h.Add(ctx, turn, text("turn.round", "1")), history.ErrForgotten)
	require.ErrorIs(t, h.End(ctx, turn, text("turn.end", "1")), history.ErrForgotten)
	orphan, err := h.Orphaned(ctx, "c", "request", "turn.round", "turn.end")
	require.NoError(t, err)
	require.False(t, orphan, "nothing was kept")
	require.NoError(t, h.Begin(ctx, turn, text("request", "go")))
	require.NoError(t, h.End(ctx, turn, text("turn.end", "CANARY")))
	for _, other := range []history.Turn{{Conversation: "c", User: "eve", Turn: "t1"}, {Conversation: "d", User: "ann", Turn: "t1"},
		{Conversation: "c", Turn: "t1"}} {
		items, err := h.Items(ctx, other)
		require.NoError(t, err)
		require.Empty(t, items)
	}
	require.ErrorIs(t, h.Add(ctx, history.Turn{Conversation: "c", User: "eve", Turn: "t1"}, text("turn.round", "x")), history.ErrOwner)
	for user, want := range map[string]int{"ann": 1, "eve": 0, "": 0} {
		n := 0
		require.NoError(t, h.Newest(ctx, user, "c", "turn.end", func([]byte) bool { n++; return true }))
		require.Equal(t, want, n, user)
	}
	require.NoError(t, st.Submit(context.WithoutCancel(ctx), func(tx *store.Tx) error { // as purges of before did, when they were killed
		_, err := tx.Exec("DELETE FROM history_conversations")
		return err
	}))
	orphan, err = h.Orphaned(ctx, "c", "request")
	require.NoError(t, err)
	require.True(t, orphan)
}

// From the begin of a purge to its end its conversations are neither read nor
// written, and no other's are touched.
func TestPurgeKeepsEverybodyOut(t *testing.T) {
	for name, who := range map[string]history.Who{"a user": {User: "ann"}, "a conversation": {Conversation: "c"}} {
		t.Run(name, func(t *testing.T) {
			h, st, _ := open(t)
			ctx := t.Context()
			turn := history.Turn{Conversation: "c", User: "ann", Turn: "t1"}
			require.NoError(t, h.Begin(ctx, turn, text("request", "go")))
			require.NoError(t, h.Begin(ctx, history.Turn{Conversation: "d", User: "bob", Turn: "t2"}, text("request", "go")))
			require.NoError(t, st.Submit(context.WithoutCancel(ctx), func(tx *store.Tx) error {
				_, err := tx.Exec("INSERT INTO history_purges VALUES ('p', ?, ?, 'operator', 1, 0, 7, 0)", who.User, who.Conversation)
				return err
			}))
			_, _, err := h.Get(ctx, "c")
			require.ErrorIs(t, err, history.ErrPurging)
			require.ErrorIs(t, h.Add(ctx, turn, text("turn.round", "x")), history.ErrPurging)
			_, ok, err := h.Get(ctx, "d")
			require.NoError(t, err)
			require.True(t, ok)
			require.NoError(t, h.Add(ctx, history.Turn{Conversation: "d", User: "bob", Turn: "t2"}, text("turn.round", "x")))
			n, err := h.Purge(ctx, who, "another")
			require.NoError(t, err)
			require.Equal(t, history.Purged{Values: 7 + 1, Conversations: 1}, n, "it goes on with the one that had begun")
			_, ok, err = h.Get(ctx, "c")
			require.NoError(t, err)
			require.False(t, ok)
			require.NoError(t, h.Begin(ctx, turn), "and it may be begun again")
		})
	}
}

// Purging a user takes every value and conversation of theirs and no other's,
// however many; a request under way is not found again.
func TestPurge(t *testing.T) {
	h, st, jr := open(t)
	ctx := t.Context()
	for i := range 40 {
		turn := history.Turn{Conversation: fmt.Sprint("c", i), User: fmt.Sprint("u", i%2), Turn: fmt.Sprint("t", i)}
		require.NoError(t, h.Begin(ctx, turn, text("request", "CANARY"), text("turn.open", "CANARY")))
	}
	require.NoError(t, st.Submit(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		_, err := jr.PutTx(tx, journal.Item{Call: "k", Conversation: "c0", User: "u0", Kind: "args", Data: []byte("CANARY")})
		return err
	}))
	for _, w := range []history.Who{{}, {User: "u0", Conversation: "c0"}} {
		_, err := h.Purge(ctx, w, "operator")
		require.ErrorIs(t, err, history.ErrWho)
	}
	n, err := h.Purge(ctx, history.Who{Conversation: "c1"}, "operator")
	require.NoError(t, err)
	require.Equal(t, history.Purged{Values: 2, Conversations: 1}, n)
	n, err = h.Purge(ctx, history.Who{User: "u0"}, "operator")
	require.NoError(t, err)
	require.Equal(t, history.Purged{Values: 41, Conversations: 20}, n)
	left, err := h.Unfinished(ctx)
	require.NoError(t, err)
	require.Len(t, left, 19)
	for _, c := range left {
		require.Equal(t, "u1", c.User)
		items, err := h.Items(ctx, history.Turn{Conversation: c.ID, User: c.User, Turn: c.Turn})
		require.NoError(t, err)
		require.Len(t, items, 2)
	}
	items, err := h.Items(ctx, history.Turn{Conversation: "c0", User: "u0", Turn: "t0"})
	require.NoError(t, err)
	require.Empty(t, items)
}

// What is added while another program holds the database is kept once that has ended. The
// caller is told of the wait once, and a wait that its time ends is an error.
func TestAddWaitsForTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	st, err := store.Open(t.Context(), store.Options{Path: path, BusyTimeout: time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	jr, err := journal.Open(t.Context(), st, journal.SingleKey([32]byte{1}), journal.Options{})
	require.NoError(t, err)
	h, err := history.Open(t.Context(), st, jr, history.Options{})
	require.NoError(t, err)
	turn := history.Turn{Conversation: "c", User: "ann", Turn: "t1"}
	require.NoError(t, h.Begin(t.Context(), turn, text("request", "go")))

	other, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	other.SetMaxOpenConns(1)
	run := func(statement string) {
		_, err := other.ExecContext(context.WithoutCancel(t.Context()), statement)
		require.NoError(t, err)
	}
	run("BEGIN IMMEDIATE")
	ctx, cancel := context.WithCancel(t.Context())
	err = h.AddOnceUp(ctx, turn, cancel, text("round", "1"))
	require.True(t, history.Down(err), err)

	told := 0
	require.NoError(t, h.AddOnceUp(t.Context(), turn, func() { told++; run("ROLLBACK") }, text("round", "2")))
	require.Equal(t, 1, told)
	require.NoError(t, h.AddOnceUp(t.Context(), turn, func() { told++ }, text("round", "3")))
	require.Equal(t, 1, told)
	items, err := h.Items(t.Context(), turn)
	require.NoError(t, err)
	var kept []string
	for _, it := range items {
		kept = append(kept, string(it.Data))
	}
	require.Equal(t, []string{"go", "2", "3"}, kept)
	foreign := turn
	foreign.User = "eve"
	require.ErrorIs(t, h.AddOnceUp(t.Context(), foreign, func() { told++ }, text("round", "4")), history.ErrOwner)
}
