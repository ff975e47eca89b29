package access_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/mod/sumdb/note"
	_ "modernc.org/sqlite"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type rig struct {
	*access.Tokens
	st  *store.Store
	lg  *ledger.Ledger
	log *bytes.Buffer
	now time.Time
}

func newSigner(t *testing.T) *ledger.Signer {
	t.Helper()
	skey, _, err := note.GenerateKey(rand.Reader, "vedette/ledger")
	require.NoError(t, err)
	s, err := ledger.NewSigner(skey)
	require.NoError(t, err)
	return s
}

func openRig(t *testing.T, path string, signer *ledger.Signer) *rig {
	t.Helper()
	r := &rig{now: start, log: &bytes.Buffer{}}
	var err error
	r.st, err = store.Open(t.Context(), store.Options{Path: path})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.st.Close()) })
	r.lg, err = ledger.Open(t.Context(), r.st, signer, ledger.Options{})
	require.NoError(t, err)
	r.Tokens, err = access.OpenTokens(t.Context(), access.TokenOptions{
		Store: r.st, Ledger: r.lg, Key: [32]byte{7}, Now: func() time.Time { return r.now }, Log: slog.New(slog.NewTextHandler(r.log, nil)),
	})
	require.NoError(t, err)
	return r
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return openRig(t, filepath.Join(t.TempDir(), "v.db"), newSigner(t))
}

func wanted() access.Wanted {
	return access.Wanted{Name: "backend", User: "ann", Scopes: []access.Scope{access.Chat, access.Approve}, Skills: []string{"email.*"},
		Limits: access.Limits{PerMinute: 60}, UserTurns: access.UserTurnsHuman, Group: "gold", Expires: start.Add(time.Hour)}
}

// A token is who the server says, until it is revoked: at once, and on record.
func TestTokenLife(t *testing.T) {
	path, signer := filepath.Join(t.TempDir(), "v.db"), newSigner(t)
	r := openRig(t, path, signer)
	made, err := r.Create(t.Context(), wanted(), "local:bob")
	require.NoError(t, err)
	require.True(t, access.IsSecret(made.Secret))

	p, err := r.Authenticate(made.Secret)
	require.NoError(t, err)
	require.Equal(t, "token:"+made.ID, p.ID)
	require.Equal(t, "ann", p.Name, "a rule that keeps requesters from approving compares it")
	require.True(t, p.May(access.Chat))
	require.False(t, p.May(access.Admin))
	require.True(t, p.Skills.Allows("email.send"))
	require.False(t, p.Skills.Allows("files.read"))
	require.True(t, p.IsHuman())
	require.Equal(t, "gold", p.Group)

	require.NoError(t, r.st.Close())
	r = openRig(t, path, signer)
	again, err := r.Authenticate(made.Secret)
	require.NoError(t, err)
	require.Equal(t, p, again, "after a restart")
	require.True(t, r.Alive(p.ID))

	gone, err := r.Revoke(t.Context(), made.ID[:30], "local:eve")
	require.NoError(t, err)
	require.Equal(t, "local:eve", gone.RevokedBy)
	_, err = r.Authenticate(made.Secret)
	require.ErrorIs(t, err, access.ErrUnauthenticated)
	require.False(t, r.Alive(p.ID))
	_, err = r.Revoke(t.Context(), made.ID, "local:eve")
	require.ErrorIs(t, err, access.ErrRevoked)

	list, err := r.lg.List(t.Context(), ledger.Query{})
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, []string{"token_created", "token_revoked"}, []string{list[0].Kind, list[1].Kind})
	require.Contains(t, string(list[0].Body), `"by":"local:bob"`)
	require.Contains(t, string(list[1].Body), `"by":"local:eve"`)

	require.NoError(t, r.st.Close())
	r = openRig(t, path, signer)
	_, err = r.Authenticate(made.Secret)
	require.ErrorIs(t, err, access.ErrUnauthenticated, "revoked over a restart too")
	_, err = r.Create(t.Context(), wanted(), "local:bob")
	require.NoError(t, err, "its name is free again")
}

// The secret is nowhere but in the answer: not in the database, not in the log.
func TestSecretIsKeptNowhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.db")
	r := openRig(t, path, newSigner(t))
	made, err := r.Create(t.Context(), wanted(), "local:bob")
	require.NoError(t, err)
	require.NoError(t, r.st.Close())
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		require.NotContains(t, string(b), made.Secret[len(access.SecretPrefix):], f)
	}
	require.NotContains(t, r.log.String(), made.Secret)
}

// An expired token lets no caller in, from the moment on.
func TestTokenExpires(t *testing.T) {
	r := newRig(t)
	made, err := r.Create(t.Context(), wanted(), "local:bob")
	require.NoError(t, err)
	r.now = start.Add(time.Hour - time.Millisecond)
	_, err = r.Authenticate(made.Secret)
	require.NoError(t, err)
	r.now = start.Add(time.Hour)
	_, err = r.Authenticate(made.Secret)
	require.ErrorIs(t, err, access.ErrUnauthenticated)
	require.Equal(t, "expired", r.List()[0].State(r.now))
}

// A row that somebody without the key changed, or wrote, lets no caller in, and the log says so.
func TestTamperedRows(t *testing.T) {
	path, signer := filepath.Join(t.TempDir(), "v.db"), newSigner(t)
	for name, change := range map[string]string{
		"more scopes":    `UPDATE access_tokens SET row = replace(row, '"chat"', '"admin"')`,
		"another's hash": `UPDATE access_tokens SET hash = zeroblob(32)`,
		"another id":     `UPDATE access_tokens SET id = 'x'`,
		"no expiry":      `UPDATE access_tokens SET row = replace(row, '"expires"', '"expired"')`,
	} {
		t.Run(name, func(t *testing.T) {
			path := path + strings.ReplaceAll(name, " ", "")
			r := openRig(t, path, signer)
			made, err := r.Create(t.Context(), wanted(), "local:bob")
			require.NoError(t, err)
			require.NoError(t, r.st.Close())
			db, err := sql.Open("sqlite", path)
			require.NoError(t, err)
			res, err := db.ExecContext(t.Context(), change)
			require.NoError(t, err)
			n, err := res.RowsAffected()
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
			require.NoError(t, db.Close())

			r = openRig(t, path, signer)
			_, err = r.Authenticate(made.Secret)
			require.ErrorIs(t, err, access.ErrUnauthenticated)
			require.Empty(t, r.List())
			require.Contains(t, r.log.String(), "is not what its seal says")
		})
	}
}

// What can't be made changes nothing, and the error says why.
func TestTokenMistakes(t *testing.T) {
	r := newRig(t)
	for name, c := range map[string]struct {
		change func(*access.Wanted)
		want   string
	}{
		"no name":           {func(w *access.Wanted) { w.Name = "" }, "its name needs"},
		"log line":          {func(w *access.Wanted) { w.Name = "a\nb" }, "its name needs"},
		"user of a machine": {func(w *access.Wanted) { w.User = "local:root" }, "can't begin with local:"},
		"user of a token":   {func(w *access.Wanted) { w.User = "Token:x" }, "can't begin with token:"},
		"no scope":          {func(w *access.Wanted) { w.Scopes = nil }, "it has no scope"},
		"scope":             {func(w *access.Wanted) { w.Scopes = []access.Scope{"chats"} }, "did you mean chat?"},
		"twice":             {func(w *access.Wanted) { w.Scopes = []access.Scope{"chat", "chat"} }, "twice"},
		"chat for no user":  {func(w *access.Wanted) { w.User = "" }, "name one, or add the scope act_as"},
		"skill":             {func(w *access.Wanted) { w.Skills = []string{"*"} }, "its skills"},
		"empty skill":       {func(w *access.Wanted) { w.Skills = []string{""} }, "its skills"},
		"limit":             {func(w *access.Wanted) { w.Limits.PerMinute = -1 }, "its limits"},
		"turns":             {func(w *access.Wanted) { w.UserTurns = "robot" }, "user_turns"},
		"expired":           {func(w *access.Wanted) { w.Expires = start }, "later than now"},
		"for ever":          {func(w *access.Wanted) { w.Expires = start.Add(access.MaxLife + time.Hour) }, "within ten years"},
		"group":             {func(w *access.Wanted) { w.Group = "a b" }, "group's name"},
	} {
		t.Run(name, func(t *testing.T) {
			w := wanted()
			c.change(&w)
			_, err := r.Create(t.Context(), w, "local:bob")
			require.ErrorIs(t, err, access.ErrToken)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := r.Create(t.Context(), wanted(), "a\nb")
	require.ErrorIs(t, err, access.ErrToken)
	require.Empty(t, r.List())
	_, err = r.Create(t.Context(), wanted(), "local:bob")
	require.NoError(t, err)
	_, err = r.Create(t.Context(), wanted(), "local:bob")
	require.ErrorContains(t, err, "a valid token has the name backend")
	for _, begin := range []string{"", "zzz"} {
		_, err = r.Revoke(t.Context(), begin, "local:bob")
		require.ErrorIs(t, err, access.ErrNotFound)
	}
}

// Where the store can't write there is no token, and a revocation is not claimed.
func TestTokensWithoutStore(t *testing.T) {
	r := newRig(t)
	made, err := r.Create(t.Context(), wanted(), "local:bob")
	require.NoError(t, err)
	require.NoError(t, r.st.Close())
	_, err = r.Create(context.Background(), access.Wanted{Name: "b", Scopes: []access.Scope{access.Admin}}, "local:bob")
	require.Error(t, err)
	_, err = r.Revoke(context.Background(), made.ID, "local:bob")
	require.Error(t, err)
	_, err = r.Authenticate(made.Secret)
	require.NoError(t, err)
	require.Len(t, r.List(), 1)
}

// Tokens are made, listed and revoked while no process runs, also before there is a database.
func TestOffline(t *testing.T) {
	dir := t.TempDir()
	o := access.Offline{Database: filepath.Join(dir, "v.db"), Keys: filepath.Join(dir, "keys")}
	list, err := o.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
	_, err = o.Revoke(t.Context(), "x", "local:bob")
	require.ErrorIs(t, err, access.ErrNotFound)
	require.NoFileExists(t, o.Database)
	w := wanted()
	w.Expires = time.Now().Add(time.Hour)
	made, err := o.Create(t.Context(), w, "local:bob")
	require.NoError(t, err)
	list, err = o.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []access.Token{made.Token}, list)

	st, err := store.Open(t.Context(), store.Options{Path: o.Database})
	require.NoError(t, err)
	_, err = o.Revoke(t.Context(), made.ID, "local:bob")
	require.ErrorIs(t, err, store.ErrLocked, "a process has it open")
	require.NoError(t, st.Close())
	gone, err := o.Revoke(t.Context(), made.ID, "local:bob")
	require.NoError(t, err)
	require.False(t, gone.Revoked.IsZero())
}

// A request's user is the token's, and another only with the scope for that.
func TestActFor(t *testing.T) {
	ann := access.Principal{User: "ann"}
	anyone := access.Principal{Scopes: []access.Scope{access.ActAs}}
	for _, c := range []struct {
		p           access.Principal
		named, want string
		ok          bool
	}{
		{ann, "", "ann", true}, {ann, "ann", "ann", true}, {ann, "bob", "", false}, {anyone, "", "", false},
		{anyone, "bob", "bob", true}, {anyone, "local:bob", "", false}, {anyone, "b\nb", "", false}, {access.Principal{}, "bob", "", false},
	} {
		got, err := c.p.ActFor(c.named)
		if c.ok {
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			continue
		}
		require.ErrorIs(t, err, access.ErrActAs, "%+v %q", c.p, c.named)
	}
}

// Only the one form of a secret is one: no second text opens the same token.
func FuzzIsSecret(f *testing.F) {
	for _, s := range []string{"", "vdt_", "vdt_" + strings.Repeat("A", 43), "vdt_" + strings.Repeat("A", 42) + "B", "VDT_x", "vdt_\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !access.IsSecret(text) {
			return
		}
		require.Len(t, text, 47)
		for _, r := range text {
			require.True(t, r > ' ' && r < 0x7f)
		}
		last := text[len(text)-1]
		require.Contains(t, "AEIMQUYcgkosw048", string(last), "bits that say nothing are zero")
	})
}
