package policies_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/policies"
	"github.com/vedette-dev/vedette/sentinel/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "v.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	require.NoError(t, policies.Prepare(t.Context(), st))
	return st
}

func text(threshold int) config.PolicyText {
	const form = `{"v":1,"configuration":{"judge":{"ask_below":50,"habits":"off","threshold":%d},"answers":{}},` +
		`"skills":[{"name":"a.b","digest":"x"}],"left_out":["skills[a.b].run"]}`
	return config.PolicyText{Text: fmt.Appendf(nil, form, threshold), Rest: [32]byte{7}}
}

func keep(t *testing.T, st *store.Store, p policies.InForce) {
	t.Helper()
	require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error { return policies.KeepTx(tx, p) }))
}

var noon = time.Unix(1_760_000_000, 0).UTC()

// A policy is kept when it comes in force, once, with the prompts that it had; it is found by the
// beginning of its digest.
func TestKeepAndFind(t *testing.T) {
	st := open(t)
	in := policies.InForce{Text: text(30), At: noon, Program: "v1", Prompts: []policies.Prompt{{Model: "m", Version: "v5", Text: "be strict"}}}
	keep(t, st, in)
	in.At, in.Program = noon.Add(time.Hour), "v2"
	keep(t, st, in)
	in.Prompts[0].Text = "be kind"
	keep(t, st, in)
	digest := text(30).Digest()
	for _, begin := range []string{digest, digest[:15], digest[7:19], strings.ToUpper(digest[7:19])} {
		p, err := policies.Find(t.Context(), st.Reader(), begin)
		require.NoError(t, err)
		require.NoError(t, p.Verify())
		require.Equal(t, string(text(30).Text), string(p.Text))
		require.Equal(t, policies.Item{Digest: digest, First: noon, Last: noon.Add(time.Hour), Bytes: len(p.Text)}, p.Item)
		require.Len(t, p.Prompts, 2)
		require.Equal(t, []string{"v1", "be strict", "be kind"}, []string{p.Prompts[0].Program, p.Prompts[0].Text, p.Prompts[1].Text})
	}
	_, err := policies.Find(t.Context(), st.Reader(), digest[:12]+"zz")
	require.ErrorIs(t, err, policies.ErrUnknown)
	require.ErrorContains(t, err, "did you mean "+digest[:19])
	_, err = policies.Find(t.Context(), st.Reader(), "")
	require.ErrorIs(t, err, policies.ErrUnknown)
}

// What was changed in the database is not what the digest stands for.
func TestChangedPolicyIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.db")
	for column, value := range map[string]any{"text": []byte("x"), "rest": make([]byte, 32), "prompts": []byte{}} {
		st, err := store.Open(t.Context(), store.Options{Path: path})
		require.NoError(t, err)
		require.NoError(t, policies.Prepare(t.Context(), st))
		keep(t, st, policies.InForce{Text: text(30), At: noon})
		require.NoError(t, st.Close())
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = db.Exec(`UPDATE policies SET `+column+` = ?`, value)
		require.NoError(t, err)
		require.NoError(t, db.Close())
		r, err := store.OpenReader(t.Context(), path)
		require.NoError(t, err)
		p, err := policies.Find(t.Context(), r, text(30).Digest())
		if err == nil {
			err = p.Verify()
		}
		require.ErrorIs(t, err, policies.ErrChanged, column)
		require.NoError(t, r.Close())
	}
}

// The store of policies is bounded in number and size: the oldest go, and of a huge one the digest stays.
func TestBounds(t *testing.T) {
	st := open(t)
	require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
INSERT INTO policies SELECT printf('sha256:%064d', i), i, i, x'00', 0, x'00', x'00' FROM n`, int64(policies.MaxPolicies+5))
		return err
	}))
	keep(t, st, policies.InForce{Text: text(30), At: noon})
	list, err := policies.List(t.Context(), st.Reader())
	require.NoError(t, err)
	require.Len(t, list, policies.MaxPolicies)
	require.Equal(t, text(30).Digest(), list[0].Digest)
	require.Equal(t, "7", strings.TrimLeft(list[len(list)-1].Digest, "sha256:0"), "the oldest go")
	huge := config.PolicyText{Text: []byte(`"` + strings.Repeat("x", policies.MaxText) + `"`)}
	keep(t, st, policies.InForce{Text: huge, At: noon.AddDate(1, 0, 0)})
	p, err := policies.Find(t.Context(), st.Reader(), huge.Digest())
	require.NoError(t, err)
	require.ErrorIs(t, p.Verify(), policies.ErrTooLarge)
}

// A database of an earlier version has no policies, which is no error.
func TestEarlierDatabase(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "v.db")})
	require.NoError(t, err)
	defer func() { require.NoError(t, st.Close()) }()
	list, err := policies.List(context.Background(), st.Reader())
	require.NoError(t, err)
	require.Empty(t, list)
}

// Two policies are compared section by section, with the lines around what differs.
func TestDiff(t *testing.T) {
	one, two := policies.Policy{Text: text(30).Text}, policies.Policy{Text: text(40).Text}
	require.Empty(t, policies.Diff(one, one))
	require.Equal(t, []policies.Change{{Name: "judge", Lines: []string{
		`    "ask_below": 50,`, `    "habits": "off",`, `-   "threshold": 30`, `+   "threshold": 40`, `  }`,
	}}}, policies.Diff(one, two))
	two.Text = []byte(`{"configuration":{},"skills":[{"name":"c.d"}]}`)
	var names []string
	for _, c := range policies.Diff(one, two) {
		names = append(names, c.Name)
	}
	require.Equal(t, []string{"answers", "judge", "skill a.b", "left out", "skill c.d"}, names)
	require.Len(t, policies.Policy{Text: []byte("{")}.Sections(), 1)
}
