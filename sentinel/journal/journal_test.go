package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/internal/testclock"
	"github.com/vedette-dev/vedette/sentinel/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	testKey = [32]byte(sha256.New().Sum(nil))
	epoch   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

func openStore(t *testing.T, path string) *store.Store {
	t.Helper()
	st, err := store.Open(context.Background(), store.Options{Path: path})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return st
}

func open(t *testing.T) (*store.Store, *Journal, *testclock.Clock) {
	t.Helper()
	c := testclock.New(epoch)
	st := openStore(t, filepath.Join(t.TempDir(), "journal.db"))
	j, err := Open(t.Context(), st, SingleKey(testKey), Options{Now: c.Now})
	require.NoError(t, err)
	return st, j, c
}

func put(t *testing.T, st *store.Store, j *Journal, items ...Item) (ids []int64) {
	t.Helper()
	require.NoError(t, st.Submit(context.Background(), func(tx *store.Tx) error {
		for _, it := range items {
			id, err := j.PutTx(tx, it)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return nil
	}))
	return ids
}

func item(i int) Item {
	return Item{
		Call: fmt.Sprintf("call-%d", i/2), Conversation: fmt.Sprintf("conv-%d", i%3), User: fmt.Sprintf("user-%d", i%2),
		Kind: "arguments", Name: "body", Data: fmt.Appendf(nil, "CANARY-%d-%s", i, strings.Repeat("v", i%7)),
	}
}

// files reads every byte that SQLite has written. The store must be closed or
// idle; reading drops POSIX locks, which only other processes would mind.
func files(t *testing.T, st *store.Store) []byte {
	t.Helper()
	var all []byte
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		b, err := os.ReadFile(st.Path() + suffix)
		if !errors.Is(err, os.ErrNotExist) {
			require.NoError(t, err)
		}
		all = append(all, b...)
	}
	require.NotEmpty(t, all)
	return all
}

// stored returns sealed bytes and wrapped key of a value as they are stored.
func stored(t *testing.T, j *Journal, id int64) (sealed, wrapped []byte) {
	t.Helper()
	found, err := j.querySealedRows(t.Context(), sqlSelect+" WHERE v.id = ?", id)
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0].sealed, found[0].wrapped
}

// What was put comes back, by number, call and conversation, in order.
func TestPutAndRead(t *testing.T) {
	st, j, _ := open(t)
	items := make([]Item, 9)
	for i := range items {
		items[i] = item(i)
	}
	items[4].Data = nil
	ids := put(t, st, j, items...)
	for i, id := range ids {
		v, err := j.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, string(items[i].Data), string(v.Data))
		require.Equal(t, epoch, v.Created)
		require.Equal(t, epoch.Add(7*24*time.Hour), v.Expires)
		require.Equal(t, []string{items[i].Call, items[i].Conversation, items[i].User, items[i].Kind, items[i].Name},
			[]string{v.Call, v.Conversation, v.User, v.Kind, v.Name})
	}
	got, err := j.ByCall(t.Context(), "call-1")
	require.NoError(t, err)
	require.Equal(t, []int64{ids[2], ids[3]}, idsOf(got))
	got, err = j.ByConversation(t.Context(), "conv-1", 0, 0)
	require.NoError(t, err)
	require.Equal(t, []int64{ids[1], ids[4], ids[7]}, idsOf(got))
	got, err = j.ByConversation(t.Context(), "conv-1", ids[1], 1)
	require.NoError(t, err)
	require.Equal(t, []int64{ids[4]}, idsOf(got))
	_, err = j.Get(t.Context(), 999)
	require.ErrorIs(t, err, ErrNotFound)
}

func idsOf(vs []Value) (out []int64) {
	for _, v := range vs {
		out = append(out, v.ID)
	}
	return out
}

// An item out of bounds is refused without its text.
func TestItemBounds(t *testing.T) {
	st, j, _ := open(t)
	for name, change := range map[string]func(*Item){
		"no kind":           func(it *Item) { it.Kind = "" },
		"free text kind":    func(it *Item) { it.Kind = "secret words" },
		"free text name":    func(it *Item) { it.Name = "secret words" },
		"name not ascii":    func(it *Item) { it.Name = "secrät" },
		"long name":         func(it *Item) { it.Name = strings.Repeat("a", MaxCode+1) },
		"long user":         func(it *Item) { it.User = strings.Repeat("a", MaxRef+1) },
		"control character": func(it *Item) { it.Conversation = "secret\x1b[2J" },
		"not utf-8":         func(it *Item) { it.Call = "secret\xff" },
		"large":             func(it *Item) { it.Data = make([]byte, defaultMaxData+1) },
	} {
		t.Run(name, func(t *testing.T) {
			it := item(1)
			change(&it)
			err := st.Submit(t.Context(), func(tx *store.Tx) error {
				_, err := j.PutTx(tx, it)
				return err
			})
			require.ErrorIs(t, err, ErrItem)
			require.NotContains(t, err.Error(), "secret")
		})
	}
	require.Len(t, put(t, st, j, Item{Kind: "a.B_c:d/e-9"}), 1)
}

// No byte of a value is in any file, neither while the store is open nor after.
func TestNothingInTheClear(t *testing.T) {
	st, j, _ := open(t)
	for i := range 50 {
		put(t, st, j, item(i))
	}
	put(t, st, j, Item{Kind: "large", Data: bytes.Repeat([]byte("CANARY"), 50_000)})
	require.NotContains(t, string(files(t, st)), "CANARY")
	require.Contains(t, string(files(t, st)), "conv-1", "the test reads the right files")
	require.NoError(t, st.Checkpoint(t.Context()))
	require.NotContains(t, string(files(t, st)), "CANARY")
	require.NotContains(t, string(files(t, st)), string(testKey[:]))
}

// A value opens only where it was put, as what it was put, under its own key.
func TestTamperedValues(t *testing.T) {
	for name, change := range map[string]string{
		"sealed swapped": `UPDATE journal_values SET sealed = (SELECT sealed FROM journal_values WHERE id = 2) WHERE id = 1`,
		"key swapped":    `UPDATE journal_keys SET wrapped = (SELECT wrapped FROM journal_keys WHERE id = 2) WHERE id = 1`,
		"both swapped": `UPDATE journal_values SET sealed = (SELECT sealed FROM journal_values WHERE id = 2) WHERE id = 1; UPDATE ` +
			`journal_keys SET wrapped = (SELECT wrapped FROM journal_keys WHERE id = 2) WHERE id = 1`,
		"call changed":         `UPDATE journal_values SET call = 'other' WHERE id = 1`,
		"conversation changed": `UPDATE journal_values SET conversation = 'other' WHERE id = 1`,
		"user changed":         `UPDATE journal_values SET user = 'other' WHERE id = 1`,
		"kind changed":         `UPDATE journal_values SET kind = 'other' WHERE id = 1`,
		"name changed":         `UPDATE journal_values SET name = 'other' WHERE id = 1`,
		"bytes moved":          `UPDATE journal_values SET kind = 'argument', name = 'sbody' WHERE id = 1`,
		"kept for longer":      `UPDATE journal_values SET expires = expires + 1 WHERE id = 1`,
		"made older":           `UPDATE journal_values SET created = created - 1 WHERE id = 1`,
		"cut":                  `UPDATE journal_values SET sealed = substr(sealed, 1, 20) WHERE id = 1`,
		"emptied":              `UPDATE journal_values SET sealed = zeroblob(0) WHERE id = 1`,
		"key emptied":          `UPDATE journal_keys SET wrapped = zeroblob(0) WHERE id = 1`,
	} {
		t.Run(name, func(t *testing.T) {
			st, j, _ := open(t)
			put(t, st, j, item(0), item(1))
			require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
				for _, s := range strings.Split(change, ";") {
					if _, err := tx.Exec(s); err != nil {
						return err
					}
				}
				return nil
			}))
			_, err := j.Get(t.Context(), 1)
			require.ErrorIs(t, err, ErrSealed)
			require.NotContains(t, err.Error(), "CANARY")
			_, err = j.Get(t.Context(), 2)
			require.NoError(t, err)
		})
	}
}

// The wrong key is found at the start; a ring reads what older keys wrapped.
func TestKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	with := func(ring KeyRing, use func(*store.Store, *Journal)) error {
		st, err := store.Open(t.Context(), store.Options{Path: path})
		require.NoError(t, err)
		defer func() { require.NoError(t, st.Close()) }()
		j, err := Open(t.Context(), st, ring, Options{Now: func() time.Time { return epoch }})
		if err == nil && use != nil {
			use(st, j)
			_, err := Open(t.Context(), st, ring, Options{})
			require.ErrorIs(t, err, store.ErrClaimed)
		}
		return err
	}
	other := [32]byte{9}
	require.NoError(t, with(SingleKey(testKey), func(st *store.Store, j *Journal) { put(t, st, j, item(0)) }))
	require.ErrorIs(t, with(SingleKey(other), nil), ErrKey)
	require.ErrorIs(t, with(KeyRing{Current: 2, Keys: map[uint32][32]byte{2: testKey}}, nil), ErrKey)
	ring := KeyRing{Current: 2, Keys: map[uint32][32]byte{1: testKey, 2: other}}
	require.NoError(t, with(ring, func(st *store.Store, j *Journal) {
		require.Equal(t, []int64{2}, put(t, st, j, item(1)))
		for id := range int64(2) {
			_, err := j.Get(t.Context(), id+1)
			require.NoError(t, err)
		}
	}))
	require.ErrorIs(t, with(SingleKey(testKey), nil), ErrKey)
	require.Error(t, with(KeyRing{}, nil))
	require.Error(t, with(SingleKey([32]byte{}), nil))
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %x", ring, ring, ring, ring), "9")
}

// A number is given out once, also when what was put was undone or erased.
func TestNumbersAreNotReused(t *testing.T) {
	st, j, _ := open(t)
	first := put(t, st, j, item(0))
	no := errors.New("no")
	require.ErrorIs(t, st.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := j.PutTx(tx, item(1))
		return errors.Join(err, no)
	}), no)
	second := put(t, st, j, item(2))
	require.Greater(t, second[0], first[0]+1)
	_, err := j.Get(t.Context(), first[0]+1)
	require.ErrorIs(t, err, ErrNotFound)
	_, err = j.Erase(t.Context(), second...)
	require.NoError(t, err)
	require.NotErrorIs(t, err, sql.ErrNoRows)
	require.Greater(t, put(t, st, j, item(3))[0], second[0])
}

// Find opens what matches and nothing else, from either end, in pages.
func TestFind(t *testing.T) {
	st, j, _ := open(t)
	items := make([]Item, 12)
	for i := range items {
		items[i] = item(i)
		items[i].Call, items[i].Kind = fmt.Sprint("call-", i%2), []string{"request", "turn.end"}[i%3/2]
	}
	ids := put(t, st, j, items...)
	find := func(q Query) (got []int64) {
		list, err := j.Find(t.Context(), q)
		require.NoError(t, err)
		for _, v := range list {
			got = append(got, v.ID-ids[0])
		}
		return got
	}
	require.Len(t, find(Query{}), 12)
	require.Equal(t, []int64{2, 5, 8, 11}, find(Query{Kind: "turn.end"}))
	require.Equal(t, []int64{11, 8}, find(Query{Kind: "turn.end", Newest: true, Limit: 2}))
	require.Equal(t, []int64{5, 2}, find(Query{Kind: "turn.end", Newest: true, Before: ids[8]}))
	require.Equal(t, []int64{5, 11}, find(Query{Kind: "turn.end", Call: "call-1"}))
	require.Empty(t, find(Query{Conversation: "' OR 1=1 --"}))
}
