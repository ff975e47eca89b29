package pause_test

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/mod/sumdb/note"

	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/sentinel/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type rig struct {
	*pause.Switch
	st *store.Store
	lg *ledger.Ledger
}

func open(t *testing.T, path string, signer *ledger.Signer) *rig {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Path: path})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	lg, err := ledger.Open(t.Context(), st, signer, ledger.Options{})
	require.NoError(t, err)
	sw, err := pause.Open(t.Context(), st, lg, pause.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	return &rig{sw, st, lg}
}

func signer(t *testing.T) *ledger.Signer {
	t.Helper()
	skey, _, err := note.GenerateKey(rand.Reader, "vedette/ledger")
	require.NoError(t, err)
	s, err := ledger.NewSigner(skey)
	require.NoError(t, err)
	return s
}

// A pause stops what it names and nothing else. The widest one that stops a call
// is named. Lifting one leaves the others.
func TestTargets(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "v.db"), signer(t))
	stops := func(user, skill string) string {
		p, ok := r.Paused(user, skill)
		require.Equal(t, ok, p.Scope != "")
		return p.Scope
	}
	require.Empty(t, stops("ann", "email.send"))
	for _, target := range []pause.Target{{Skill: "email.send"}, {Skill: "files.*"}, {User: "ann"}} {
		p, err := r.Pause(t.Context(), target, "uid:1000")
		require.NoError(t, err)
		require.Equal(t, target, p.Target)
		require.Equal(t, now, p.Since)
	}
	require.Equal(t, "skill", stops("bob", "email.send"))
	require.Empty(t, stops("bob", "email.sender"))
	require.Empty(t, stops("bob", "email.read"))
	require.Equal(t, "skill", stops("bob", "files.write"))
	require.Equal(t, "user", stops("ann", "email.send"))
	require.Equal(t, "user", stops("ann", ""), "a proposal without a known skill is the user's too")
	require.Empty(t, stops("anna", "email.read"))

	_, err := r.Pause(t.Context(), pause.Target{All: true}, "uid:0")
	require.NoError(t, err)
	require.Equal(t, "all", stops("bob", ""))
	require.Len(t, r.List(), 4)
	lifted, err := r.Lift(t.Context(), pause.Target{All: true}, "uid:0")
	require.NoError(t, err)
	require.True(t, lifted)
	require.Equal(t, "user", stops("ann", "email.read"))
	lifted, err = r.Lift(t.Context(), pause.Target{All: true}, "uid:0")
	require.NoError(t, err)
	require.False(t, lifted, "there is none any more")
}

// What says nothing, or two things, or is no name, is refused and changes
// nothing.
func TestBadTargets(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "v.db"), signer(t))
	for _, target := range []pause.Target{
		{}, {All: true, User: "ann"}, {User: "ann", Skill: "email.send"}, {User: "a\nb"}, {User: strings.Repeat("u", 129)},
		{Skill: "*"}, {Skill: "Email Send"}, {User: "\xff"},
	} {
		_, err := r.Pause(t.Context(), target, "uid:0")
		require.ErrorIs(t, err, pause.ErrTarget, "%+v", target)
		_, err = r.Lift(t.Context(), target, "uid:0")
		require.ErrorIs(t, err, pause.ErrTarget, "%+v", target)
	}
	_, err := r.Pause(t.Context(), pause.Target{All: true}, "")
	require.ErrorIs(t, err, pause.ErrTarget)
	require.Empty(t, r.List())
}

// A pause outlives the process, and both its beginning and its end are on
// record, each once.
func TestPausesAreDurableAndRecorded(t *testing.T) {
	path, key := filepath.Join(t.TempDir(), "v.db"), signer(t)
	r := open(t, path, key)
	for range 2 {
		_, err := r.Pause(t.Context(), pause.Target{User: "ann"}, "uid:1000")
		require.NoError(t, err)
	}
	require.NoError(t, r.st.Close())

	r = open(t, path, key)
	require.Equal(t, "uid:1000", r.List()[0].By)
	p, ok := r.Paused("ann", "email.send")
	require.True(t, ok)
	require.True(t, now.Equal(p.Since))
	_, err := r.Lift(t.Context(), pause.Target{User: "ann"}, "uid:0")
	require.NoError(t, err)
	list, err := r.lg.List(t.Context(), ledger.Query{})
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, []string{pause.RecordPaused, pause.RecordLifted}, []string{list[0].Kind, list[1].Kind})
	require.Equal(t, "ann", list[0].User)
	require.JSONEq(t, `{"v":1,"by":"uid:1000","user":"ann"}`, string(list[0].Body))
	require.JSONEq(t, `{"v":1,"by":"uid:0","user":"ann"}`, string(list[1].Body))
	require.NoError(t, r.st.Close())

	require.Empty(t, open(t, path, key).List())
}

// Where the store is away, pausing works and says that it won't last; lifting
// does not.
func TestStoreAway(t *testing.T) {
	path, key := filepath.Join(t.TempDir(), "v.db"), signer(t)
	r := open(t, path, key)
	_, err := r.Pause(t.Context(), pause.Target{Skill: "email.send"}, "uid:0")
	require.NoError(t, err)
	require.NoError(t, r.st.Close())

	_, err = r.Pause(context.Background(), pause.Target{User: "ann"}, "uid:0")
	require.ErrorIs(t, err, pause.ErrNotWritten)
	_, ok := r.Paused("ann", "files.read")
	require.True(t, ok)
	_, err = r.Lift(context.Background(), pause.Target{Skill: "email.send"}, "uid:0")
	require.Error(t, err)
	_, ok = r.Paused("bob", "email.send")
	require.True(t, ok)
}
