// Package runtest helps the tests of the packages below skills/run and
// skills/builtin: it compiles a Spec, issues real warrants and runs orders. It
// is no way round a warrant, since it makes its own key: an Executor of a
// running system refuses what is issued here.
package runtest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// Kit issues warrants and redeems them. New makes one.
type Kit struct {
	Redeemer skills.Redeemer
	signer   *warrant.Signer
}

// New returns a Kit with a key of its own.
func New(t testing.TB) *Kit {
	t.Helper()
	s, v, err := warrant.NewPair(warrant.Options{})
	require.NoError(t, err)
	return &Kit{Redeemer: v, signer: s}
}

// Compile returns the Skill of a Spec that must be right. options take the place of those in
// its Run unless nil.
func Compile(t testing.TB, spec skills.Spec, options any) *skills.Skill {
	t.Helper()
	if options != nil {
		raw, err := json.Marshal(options)
		require.NoError(t, err)
		spec.Run.Options = raw
	}
	s, err := skills.Compile(spec)
	require.NoError(t, err)
	return s
}

// Order returns an order of the skill with args. They are canonical where the standard
// library's encoding of a map is.
func Order(t testing.TB, s *skills.Skill, args any) skills.Order {
	t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	return skills.Order{CallID: "call-1", GrantID: "grant-1", User: "u1", Conversation: "c1",
		Skill: s.Name(), SkillDigest: s.Digest(), Args: string(raw)}
}

// Run executes the skill once with a fresh warrant.
func (k *Kit) Run(t testing.TB, e skills.Executor, s *skills.Skill, args any) (skills.Result, error) {
	t.Helper()
	o := Order(t, s, args)
	w, err := k.signer.Issue(o.Digest())
	require.NoError(t, err)
	return e.Execute(t.Context(), w, o)
}

// Issue returns a warrant for the order.
func (k *Kit) Issue(t testing.TB, o skills.Order) warrant.Warrant {
	t.Helper()
	w, err := k.signer.Issue(o.Digest())
	require.NoError(t, err)
	return w
}

// Unwarranted requires that e does nothing without the right warrant: a zero one, one for
// another call, one from another process, one that was used. untouched is asked after each of
// the first three.
func (k *Kit) Unwarranted(t *testing.T, e skills.Executor, s *skills.Skill, args any, untouched func() bool) {
	t.Helper()
	o := Order(t, s, args)
	other := o
	other.User = "u2"
	for _, row := range []struct {
		name string
		w    warrant.Warrant
		want error
	}{
		{"zero", warrant.Warrant{}, warrant.ErrInvalid},
		{"another call's", k.Issue(t, other), warrant.ErrWrongCall},
		{"another key's", New(t).Issue(t, o), warrant.ErrInvalid},
	} {
		_, err := e.Execute(t.Context(), row.w, o)
		require.ErrorIs(t, err, row.want, row.name)
		require.True(t, untouched(), "%s warrant: something was done", row.name)
	}
	used := k.Issue(t, o)
	require.NoError(t, k.Redeemer.Redeem(used, o.Digest()))
	_, err := e.Execute(t.Context(), used, o)
	require.ErrorIs(t, err, warrant.ErrSpent)
	require.True(t, untouched(), "spent warrant: something was done")
}

// Paths returns the configuration paths of all *skills.PathError values that
// err joins.
func Paths(err error) []string {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []string
		for _, e := range many.Unwrap() {
			out = append(out, Paths(e)...)
		}
		return out
	}
	//nolint:errorlint // the tree is walked here: errors.As would give its first match alone
	if p, ok := err.(*skills.PathError); ok {
		return []string{p.Path}
	}
	return nil
}
