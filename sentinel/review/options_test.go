package review_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/touch"
)

// paths collects the configuration paths of joined errors.
func paths(err error) []string {
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		var out []string
		for _, e := range many.Unwrap() {
			out = append(out, paths(e)...)
		}
		return out
	}
	var one interface{ ConfigPath() string }
	if errors.As(err, &one) {
		return []string{one.ConfigPath()}
	}
	return nil
}

// Every fault is found at once, at its place in the configuration.
func TestOptionsAreChecked(t *testing.T) {
	m := client(t, llm.Config{BaseURL: "http://127.0.0.1:1/v1"})
	_, err := review.New(review.Options{
		Models: []*llm.Client{m, nil, m}, Mode: "warn", Timeout: -1,
		Unavailable: sentinel.OutageTable{"modify": 9, "write": sentinel.Ask}, Unjudgeable: sentinel.OutageTable{"Read": sentinel.Ask},
		Breaker: review.Breaker{Failures: -1, Window: -1, OpenFor: -1},
	})
	require.ElementsMatch(t, []string{
		"sentinel.unavailable.modify", "sentinel.unavailable.write", "sentinel.unjudgeable.Read", "roles.sentinel[1]", "roles.sentinel[2]",
		"sentinel.breaker.failures", "sentinel.breaker.window", "sentinel.breaker.open_for", "sentinel.timeout", "sentinel.mode",
	}, paths(err))
	for _, mode := range []review.Mode{"", review.Enforce, review.ShadowMode} {
		_, err = review.New(review.Options{Mode: mode})
		require.Equal(t, []string{"roles.sentinel"}, paths(err))
	}
	_, err = review.New(review.Options{Breaker: review.Breaker{Failures: 1_000_001}, Mode: review.Off})
	require.Equal(t, []string{"sentinel.breaker.failures"}, paths(err))
}

// A gate that is switched off judges nothing and asks no model.
func TestOff(t *testing.T) {
	srv := play(t, `rules: [{reply: {content: '`+approves+`'}}]`)
	v := check(t, gate(t, review.Options{Mode: review.Off}, srv.BaseURL()), call(t, proposal{skill: "self.irreversible"}))
	require.Equal(t, sentinel.Skipped, v.State)
	require.Equal(t, sentinel.Deny, v.Outcome)
	require.Empty(t, srv.Requests())
	_, err := review.New(review.Options{Mode: review.Off})
	require.NoError(t, err)
}

// In shadow mode the model is asked, and what it says is recorded and not
// applied: also a rejection, a failure and a degradation.
func TestShadow(t *testing.T) {
	for _, tc := range []struct{ reply, skill, would, code, failure, detail string }{
		{`{content: '` + approves + `'}`, "self.modify", "allow", "", "", "fits"},
		{`{content: '` + rejects + `'}`, "self.modify", "deny", review.CodeRejected, "", "does not fit"},
		{`{status: 500}`, "self.read", "allow", review.CodeDegraded, "server", ""},
		{`{refusal: no}`, "self.read", "ask", review.CodeUnjudgeable, "refusal", ""},
	} {
		g := gate(t, review.Options{Mode: review.ShadowMode}, play(t, "rules: [{reply: "+tc.reply+"}]").BaseURL())
		v := check(t, g, call(t, proposal{skill: tc.skill}))
		require.Equal(t, sentinel.Shadow, v.State)
		require.False(t, v.Counts())
		require.Equal(t, review.CodeShadow, v.Code)
		require.False(t, v.Degraded)
		require.Equal(t, tc.would, v.Meta["would"])
		require.Equal(t, tc.code, v.Meta["would_code"])
		require.Equal(t, tc.failure, v.Meta["failure"])
		require.Equal(t, tc.detail, v.Detail)
		require.Equal(t, "not applied: would "+tc.would, v.Reason)
		require.Zero(t, g.State().Stats.Degraded)
	}
}

// What can't be judged by construction is an error, which denies.
func TestWhatCannotJudge(t *testing.T) {
	g := gate(t, review.Options{}, "http://127.0.0.1:1/v1")
	for name, check := range map[string]func() (sentinel.Verdict, error){
		"zero gate": func() (sentinel.Verdict, error) {
			return new(review.Gate).Check(t.Context(), call(t, proposal{skill: "self.read"}))
		},
		"nil gate":      func() (sentinel.Verdict, error) { return (*review.Gate)(nil).Check(t.Context(), sentinel.Call{}) },
		"zero call":     func() (sentinel.Verdict, error) { return g.Check(t.Context(), sentinel.Call{}) },
		"unknown skill": func() (sentinel.Verdict, error) { return g.Check(t.Context(), call(t, proposal{skill: "no.such"})) },
	} {
		v, err := check()
		require.Error(t, err, name)
		require.Equal(t, sentinel.Verdict{}, v, name)
	}
}

// In a checkpoint the gate's rejection denies, its shadow does not, and a
// degradation is marked on the decision.
func TestInACheckpoint(t *testing.T) {
	for _, tc := range []struct {
		reply    string
		mode     review.Mode
		want     sentinel.Outcome
		degraded bool
	}{
		{`{content: '` + rejects + `'}`, review.Enforce, sentinel.Deny, false},
		{`{content: '` + rejects + `'}`, review.ShadowMode, sentinel.Allow, false},
		{`{content: '` + approves + `'}`, review.Enforce, sentinel.Allow, false},
		{`{status: 500}`, review.Enforce, sentinel.Allow, true},
		{`{refusal: no}`, review.Enforce, sentinel.Ask, false},
	} {
		g := gate(t, review.Options{Mode: tc.mode}, play(t, "rules: [{reply: "+tc.reply+"}]").BaseURL())
		gates := []sentinel.Gate{g, sentinel.Skip(sentinel.GateJudge, "")}
		for _, n := range []string{sentinel.GateSchema, sentinel.GateScope, sentinel.GatePermission, sentinel.GateGuard} {
			gates = append(gates, passGate(n))
		}
		p, err := sentinel.New(sentinel.Options{Registry: registry(t), Gates: gates, Env: touch.Env{NoFS: true}})
		require.NoError(t, err)
		d, err := p.Decide(t.Context(), call(t, proposal{skill: "self.create"}))
		require.NoError(t, err)
		require.Equal(t, tc.want, d.Outcome, tc.reply)
		require.Equal(t, tc.degraded, d.Degraded, tc.reply)
		if tc.want != sentinel.Allow {
			require.Equal(t, sentinel.GateReview, d.BlockedBy)
		}
	}
}
