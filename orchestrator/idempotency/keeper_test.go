package idempotency_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/idempotency"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// shelf is a store with a keeper whose clock the test sets.
type shelf struct {
	*idempotency.Keeper
	t   *testing.T
	st  *store.Store
	jr  *journal.Journal
	now time.Time
}

func openShelf(t *testing.T, path string) *shelf {
	t.Helper()
	s := &shelf{t: t, now: time.Unix(1_800_000_000, 0)}
	var err error
	s.st, err = store.Open(t.Context(), store.Options{Path: path})
	require.NoError(t, err)
	clock := func() time.Time { return s.now }
	s.jr, err = journal.Open(t.Context(), s.st, journal.SingleKey([32]byte{1}), journal.Options{Now: clock})
	require.NoError(t, err)
	s.Keeper, err = idempotency.Open(t.Context(), idempotency.Options{Store: s.st, Journal: s.jr, Key: [32]byte{2}, Now: clock})
	require.NoError(t, err)
	return s
}

func (s *shelf) close() { require.NoError(s.t, s.st.Close()) }

func ask(key string) idempotency.Request {
	return idempotency.Request{Principal: "token:1", Key: key, Method: "POST", Target: "/v1/x", Body: []byte(`{"a":1}`), User: "ann"}
}

var answer = idempotency.Answer{Status: 201, Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(`{"id":"CANARY"}`)}

// A request that is sent again gets the answer of the first, also after a restart, for a day.
func TestAnswersAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.db")
	s := openShelf(t, path)
	turn, err := s.Begin(t.Context(), ask("k1"))
	require.NoError(t, err)
	require.Nil(t, turn.Kept)
	_, err = s.Begin(t.Context(), ask("k1"))
	require.ErrorIs(t, err, idempotency.ErrInFlight)
	require.NoError(t, turn.Keep(t.Context(), answer))
	turn.End()
	turn.End()

	s.close()
	s = openShelf(t, path)
	defer func() { s.close() }()
	again, err := s.Begin(t.Context(), ask("k1"))
	require.NoError(t, err)
	require.Equal(t, answer, *again.Kept)
	again.End()

	s.now = s.now.Add(idempotency.Lifetime - time.Second)
	late, err := s.Begin(t.Context(), ask("k1"))
	require.NoError(t, err)
	require.NotNil(t, late.Kept)
	late.End()
	s.now = s.now.Add(time.Second)
	later, err := s.Begin(t.Context(), ask("k1"))
	require.NoError(t, err)
	require.Nil(t, later.Kept, "a day later the key is new")
	later.End()
}

// A key stands for one request of one principal.
func TestKeysStandForOneRequest(t *testing.T) {
	s := openShelf(t, filepath.Join(t.TempDir(), "v.db"))
	defer s.close()
	turn, err := s.Begin(t.Context(), ask("k1"))
	require.NoError(t, err)
	require.NoError(t, turn.Keep(t.Context(), answer))
	turn.End()
	for name, change := range map[string]func(*idempotency.Request){
		"method": func(r *idempotency.Request) { r.Method = "DELETE" },
		"target": func(r *idempotency.Request) { r.Target = "/v1/x?y" },
		"body":   func(r *idempotency.Request) { r.Body = []byte(`{"a":2}`) },
		"parts":  func(r *idempotency.Request) { r.Target, r.Body = r.Target+"{", []byte(`"a":1}`) },
	} {
		r := ask("k1")
		change(&r)
		_, err := s.Begin(t.Context(), r)
		require.ErrorIs(t, err, idempotency.ErrOther, name)
	}
	for name, change := range map[string]func(*idempotency.Request){
		"another principal":            func(r *idempotency.Request) { r.Principal = "token:2" },
		"a principal that ends as one": func(r *idempotency.Request) { r.Principal, r.Key = "token:", "1k1" },
		"another key":                  func(r *idempotency.Request) { r.Key = "k2" },
	} {
		r := ask("k1")
		change(&r)
		other, err := s.Begin(t.Context(), r)
		require.NoError(t, err, name)
		require.Nil(t, other.Kept, name)
		other.End()
	}
	for _, key := range []string{"", "a b", "ä", "a\n", "\x00", strings.Repeat("k", 256)} {
		_, err := s.Begin(t.Context(), ask(key))
		require.ErrorIs(t, err, idempotency.ErrForm, "%q", key)
	}
	longest, err := s.Begin(t.Context(), ask(strings.Repeat("k", 255)))
	require.NoError(t, err)
	longest.End()
}

// A purge of the user erases answers, and nothing of them is in the database's tables.
func TestPurgedAnswersAreGone(t *testing.T) {
	s := openShelf(t, filepath.Join(t.TempDir(), "v.db"))
	defer s.close()
	turn, err := s.Begin(t.Context(), ask("secret-key-text"))
	require.NoError(t, err)
	require.NoError(t, turn.Keep(t.Context(), answer))
	turn.End()
	var id, print string
	require.NoError(t, s.st.Reader().QueryRow(t.Context(), `SELECT id, print FROM idempotency_answers`).Scan(&id, &print))
	require.NotContains(t, id+print, "secret-key-text")
	n, err := s.jr.EraseUser(t.Context(), "ann")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = s.Begin(t.Context(), ask("secret-key-text"))
	require.ErrorIs(t, err, idempotency.ErrGone)
}

// A row that was changed in the database answers nothing.
func TestChangedRowsAnswerNothing(t *testing.T) {
	s := openShelf(t, filepath.Join(t.TempDir(), "v.db"))
	defer s.close()
	for _, key := range []string{"k1", "k2"} {
		turn, err := s.Begin(t.Context(), ask(key))
		require.NoError(t, err)
		require.NoError(t, turn.Keep(t.Context(), answer))
		turn.End()
	}
	require.NoError(t, s.st.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE idempotency_answers SET sealed = (SELECT max(sealed) FROM idempotency_answers)`)
		return err
	}))
	failed := 0
	for _, key := range []string{"k1", "k2"} {
		turn, err := s.Begin(t.Context(), ask(key))
		if err != nil {
			require.ErrorContains(t, err, "something else")
			failed++
			continue
		}
		turn.End()
	}
	require.Equal(t, 1, failed)
	_, err := idempotency.Open(t.Context(), idempotency.Options{Store: s.st, Journal: s.jr})
	require.ErrorIs(t, err, store.ErrClaimed)
	s.Close()
	next, err := idempotency.Open(t.Context(), idempotency.Options{Store: s.st, Journal: s.jr})
	require.NoError(t, err)
	next.Close()
	_, err = idempotency.Open(t.Context(), idempotency.Options{})
	require.ErrorContains(t, err, "needs a store")
}
