package scope_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/scope"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func registry(t testing.TB) *skills.Registry {
	t.Helper()
	hand := json.RawMessage(`{"type":"object","additionalProperties":true,"properties":{"skills":{"type":"array"}}}`)
	var list []*skills.Skill
	for _, s := range []skills.Spec{
		{Name: "email.read", Effect: skills.Read},
		{Name: "email.send", Effect: skills.Irreversible},
		{Name: "shop.buy", Effect: skills.CostsMoney},
		{Name: "tasks.create", Effect: skills.Create},
		{Name: "agent.dispatch", Effect: skills.Create, Parameters: hand},
		{Name: "agent.extend", Effect: skills.Create, Parameters: hand},
		{Name: "agent.update", Effect: skills.Create, Parameters: hand},
	} {
		c, err := skills.Compile(s)
		require.NoError(t, err)
		list = append(list, c)
	}
	r, err := skills.NewRegistry(list...)
	require.NoError(t, err)
	return r
}

type proposal struct {
	skill, args string
	scope       []string
	before      []string
	tainted     bool
	trace       sentinel.Trace
	deadline    time.Time
}

func call(t testing.TB, p proposal) sentinel.Call {
	t.Helper()
	held, err := skills.NewScope(p.scope...)
	require.NoError(t, err)
	before, err := skills.NewScope(p.before...)
	require.NoError(t, err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "g", Conversation: "c", Agent: "a", Scope: held, Tainted: p.tainted, Deadline: p.deadline,
	})
	require.NoError(t, err)
	c, err := sentinel.NewCall(registry(t), touch.Env{NoFS: true}, sentinel.Proposal{
		Skill: p.skill, Args: []byte(p.args), Grant: g, Trace: p.trace, BeforeTaint: before,
	})
	require.NoError(t, err)
	return c
}

func check(t testing.TB, c sentinel.Call) sentinel.Verdict {
	t.Helper()
	g, err := scope.New(scope.Options{Registry: registry(t), Now: func() time.Time { return noon }})
	require.NoError(t, err)
	v, err := g.Check(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, sentinel.GateScope, v.Gate)
	return v
}

// A gate without a registry could not tell an effect.
func TestNewNeedsARegistry(t *testing.T) {
	_, err := scope.New(scope.Options{})
	require.Error(t, err)
	v, err := (&scope.Gate{}).Check(t.Context(), sentinel.Call{})
	require.NoError(t, err)
	require.Equal(t, sentinel.Deny, v.Outcome)
}

// What the grant holds passes; anything else is denied, each for its own
// reason.
func TestGrant(t *testing.T) {
	for name, tc := range map[string]struct {
		p    proposal
		code string
	}{
		"granted by name":       {proposal{skill: "email.read", scope: []string{"email.read"}}, ""},
		"granted by domain":     {proposal{skill: "email.send", scope: []string{"email.*"}}, ""},
		"before the deadline":   {proposal{skill: "email.read", scope: []string{"email.*"}, deadline: noon.Add(1)}, ""},
		"tainted, own skill":    {proposal{skill: "email.send", scope: []string{"email.*"}, tainted: true}, ""},
		"unknown":               {proposal{skill: "email.sned", scope: []string{"email.*"}}, scope.CodeUnknownSkill},
		"unknown, nothing held": {proposal{skill: "no.such"}, scope.CodeUnknownSkill},
		"empty":                 {proposal{skill: "email.read"}, scope.CodeEmpty},
		"at the deadline":       {proposal{skill: "email.read", scope: []string{"email.*"}, deadline: noon}, scope.CodeExpired},
		"past the deadline":     {proposal{skill: "email.read", scope: []string{"email.*"}, deadline: noon.Add(-time.Hour)}, scope.CodeExpired},
		"not granted":           {proposal{skill: "email.send", scope: []string{"email.read"}}, scope.CodeNotGranted},
		"dispatch, not granted": {proposal{skill: "agent.dispatch", args: `{"skills":["email.read"]}`, scope: []string{"email.*"}},
			scope.CodeNotGranted},
		"update isn't a handing": {proposal{skill: "agent.update", args: `{"skills":["shop.buy"]}`, scope: []string{"agent.*"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := check(t, call(t, tc.p))
			require.Equal(t, tc.code, v.Code)
			if tc.code == "" {
				require.Equal(t, sentinel.Allow, v.Outcome)
				return
			}
			require.Equal(t, sentinel.Deny, v.Outcome)
			require.NotEmpty(t, v.Reason)
			require.NotEmpty(t, v.WhatYouCanDo)
		})
	}
	t.Run("a call of nothing", func(t *testing.T) {
		require.Equal(t, scope.CodeUnknownSkill, check(t, sentinel.Call{}).Code)
	})
	t.Run("the agent is told what it holds", func(t *testing.T) {
		v := check(t, call(t, proposal{skill: "shop.buy", scope: []string{"email.*", "tasks.made-up"}}))
		require.Contains(t, v.WhatYouCanDo, "email.read, email.send")
		require.NotContains(t, v.WhatYouCanDo, "made-up")
	})
}

// What is handed on is never wider than what is held. In a tainted branch it is not wider than
// before the taint without a person.
func TestDelegation(t *testing.T) {
	held := []string{"agent.*", "email.*", "tasks.create", "shop.buy"}
	for name, tc := range map[string]struct {
		args    string
		before  []string
		tainted bool
		outcome sentinel.Outcome
		// the codes of dispatch and of extend
		dispatch, extend string
	}{
		"nothing": {`{}`, nil, false, sentinel.Allow, "", ""},
		"null":    {`{"skills":null}`, nil, true, sentinel.Allow, "", ""},
		"within":  {`{"skills":["email.read","email.*"]}`, nil, false, sentinel.Allow, "", ""},
		"wider": {`{"skills":["email.read","tasks.list"]}`, nil, false, sentinel.Deny, scope.CodeWiderThanParent,
			scope.CodeWiderThanParent},
		"wider by domain": {`{"skills":["tasks.*"]}`, nil, false, sentinel.Deny, scope.CodeWiderThanParent, scope.CodeWiderThanParent},
		"everything":      {`{"skills":["*"]}`, nil, false, sentinel.Deny, scope.CodeWiderThanParent, scope.CodeWiderThanParent},
		"no name at all": {`{"skills":["email.read\u0000"]}`, nil, false, sentinel.Deny, scope.CodeWiderThanParent,
			scope.CodeWiderThanParent},
		"a string": {`{"skills":"email.read"}`, nil, false, sentinel.Deny, scope.CodeInvalidSkills, scope.CodeInvalidSkills},
		"a list of others": {`{"skills":["email.read",{"name":"shop.buy"}]}`, nil, false, sentinel.Deny, scope.CodeInvalidSkills,
			scope.CodeInvalidSkills},
		"tainted, from before": {`{"skills":["email.read"]}`, []string{"email.*"}, true, sentinel.Allow, "", ""},
		"tainted, newer": {`{"skills":["email.read","tasks.create"]}`, []string{"email.*"}, true, sentinel.Ask, scope.CodeAfterTaint,
			scope.CodeAfterTaint},
		"tainted, nothing known": {`{"skills":["email.read"]}`, nil, true, sentinel.Ask, scope.CodeAfterTaint, scope.CodeAfterTaint},
		"tainted and wider": {`{"skills":["tasks.list","shop.buy"]}`, nil, true, sentinel.Deny, scope.CodeWiderThanParent,
			scope.CodeWiderThanParent},
		"untainted, grave": {`{"skills":["email.send","shop.buy"]}`, nil, false, sentinel.Allow, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for skill, code := range map[string]string{"agent.dispatch": tc.dispatch, "agent.extend": tc.extend} {
				v := check(t, call(t, proposal{skill: skill, args: tc.args, scope: held, before: tc.before, tainted: tc.tainted}))
				require.Equal(t, tc.outcome, v.Outcome, skill)
				require.Equal(t, code, v.Code, skill)
				if code != "" {
					require.Equal(t, []sentinel.Evidence{{Signal: strings.TrimPrefix(code, "scope."), Args: []string{"skills"}}}, v.Evidence)
				}
			}
		})
	}
	t.Run("an untrusted result taints the same way", func(t *testing.T) {
		tr := sentinel.NewTrace(sentinel.Step{Skill: "email.read", Trust: skills.Untrusted})
		v := check(t, call(t, proposal{skill: "agent.dispatch", args: `{"skills":["tasks.create"]}`, scope: held, trace: tr}))
		require.Equal(t, scope.CodeAfterTaint, v.Code)
	})
}

// In a tainted branch an extension adds nothing grave, nothing unknown and no pattern, also
// where it had been granted before. A dispatch of the same asks or passes by the grants alone.
func TestExtendAfterTaint(t *testing.T) {
	held := []string{"agent.*", "email.*", "tasks.create", "shop.buy"}
	for _, list := range []string{`["email.send"]`, `["shop.buy"]`, `["tasks.create","email.send"]`, `["email.*"]`, `["email.unknown"]`} {
		args := `{"skills":` + list + `}`
		v := check(t, call(t, proposal{skill: "agent.extend", args: args, scope: held, before: held, tainted: true}))
		require.Equal(t, sentinel.Deny, v.Outcome, list)
		require.Equal(t, scope.CodeExtendAfterTaint, v.Code, list)
		v = check(t, call(t, proposal{skill: "agent.dispatch", args: args, scope: held, before: held, tainted: true}))
		require.Equal(t, sentinel.Allow, v.Outcome, list)
	}
}

// Whatever list is handed on, an allow means that every entry is within the grant. Taint never
// makes an outcome milder.
func TestAllowedMeansWithin(t *testing.T) {
	names := []string{"email.read", "email.send", "email.*", "shop.buy", "shop.*", "tasks.create", "agent.dispatch", "*", "", "x"}
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(rt, "list")
		held := append([]string{"agent.*"}, rapid.SliceOfN(rapid.SampledFrom(names[:6]), 0, 3).Draw(rt, "held")...)
		before := rapid.SliceOfN(rapid.SampledFrom(names[:6]), 0, 3).Draw(rt, "before")
		args, err := json.Marshal(map[string]any{"skills": list})
		require.NoError(rt, err)
		p := proposal{skill: rapid.SampledFrom([]string{"agent.dispatch", "agent.extend"}).Draw(rt, "skill"), args: string(args), scope: held,
			before: before}
		clean := check(t, call(t, p))
		p.tainted = true
		tainted := check(t, call(t, p))
		require.LessOrEqual(rt, tainted.Outcome, clean.Outcome)
		if clean.Outcome == sentinel.Allow {
			child, err := skills.NewScope(list...)
			require.NoError(rt, err)
			parent, err := skills.NewScope(held...)
			require.NoError(rt, err)
			ok, _ := child.Within(parent)
			require.True(rt, ok)
		}
	})
}

// Names that a model wrote are in no part of the verdict that is recorded.
func TestNoValuesAreRecorded(t *testing.T) {
	const canary = "canary7f3a"
	for _, p := range []proposal{
		{skill: canary + ".x", scope: []string{"email.*"}},
		{skill: canary + ".x"},
		{skill: "shop.buy", scope: []string{"email." + canary}},
		{skill: "agent.dispatch", scope: []string{"agent.*"}, args: `{"skills":["email.` + canary + `"],"` + canary + `":1}`},
		{skill: "agent.dispatch", scope: []string{"agent.*"}, args: `{"skills":{"` + canary + `":1}}`},
		{skill: "agent.dispatch", scope: []string{"agent.*", "email.*"}, args: `{"skills":["email.` + canary + `"]}`, tainted: true},
		{skill: "agent.extend", scope: []string{"agent.*", "email.*"}, args: `{"skills":["email.` + canary + `"]}`, tainted: true},
	} {
		v := check(t, call(t, p))
		require.NotEqual(t, sentinel.Allow, v.Outcome)
		b, err := json.Marshal([]any{v.Code, v.Reason, v.Evidence, v.Meta, v.WhatYouCanDo})
		require.NoError(t, err)
		require.NotContains(t, string(b), canary, p.skill)
	}
}

// BenchmarkCheck has no library to stand beside: a look-up in a set is all.
func BenchmarkCheck(b *testing.B) {
	g, err := scope.New(scope.Options{Registry: registry(b), Now: func() time.Time { return noon }})
	require.NoError(b, err)
	for name, p := range map[string]proposal{
		"granted": {skill: "email.read", scope: []string{"email.*", "tasks.create"}, deadline: noon.Add(1)},
		"dispatch": {skill: "agent.dispatch", args: `{"skills":["email.read","tasks.create"]}`,
			scope: []string{"agent.*", "email.*", "tasks.create"}},
	} {
		c := call(b, p)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v, err := g.Check(b.Context(), c); err != nil || v.Outcome != sentinel.Allow {
					b.Fatal(v, err)
				}
			}
		})
	}
}
