package permission_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/skills"
)

func signals(v sentinel.Verdict) []string {
	var out []string
	for _, e := range v.Evidence {
		out = append(out, e.Signal)
	}
	return out
}

// Absent rules deny; an empty list is an operator's decision and leaves it to
// the default.
func TestAbsentRulesDeny(t *testing.T) {
	c := call(t, proposal{skill: "email.read"})
	for name, o := range map[string]permission.Options{
		"zero options":              {},
		"nil rules, default allow":  {Default: permission.DefaultAllow},
		"nil rules with a registry": {Default: permission.DefaultAllow, Registry: registry(t)},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := permission.New(o)
			require.NoError(t, err)
			v := check(t, g, c)
			require.Equal(t, sentinel.Deny, v.Outcome)
			require.Equal(t, permission.CodeNoRules, v.Code)
		})
	}
	t.Run("zero gate", func(t *testing.T) {
		require.Equal(t, permission.CodeNoRules, check(t, &permission.Gate{}, c).Code)
	})
	t.Run("empty rules, default allow", func(t *testing.T) {
		v := check(t, gate(t, permission.DefaultAllow), c)
		require.Equal(t, sentinel.Allow, v.Outcome)
		require.Empty(t, v.Code)
	})
	t.Run("empty rules, default deny or none", func(t *testing.T) {
		for _, def := range []string{permission.DefaultDeny, ""} {
			v := check(t, gate(t, def), c)
			require.Equal(t, sentinel.Deny, v.Outcome)
			require.Equal(t, permission.CodeNoMatch, v.Code)
		}
	})
}

// No rule allows an unknown skill.
func TestUnknownSkill(t *testing.T) {
	g := gate(t, permission.DefaultAllow, permission.Rule{Skill: "*", Then: permission.Allow})
	require.Equal(t, permission.CodeUnknownSkill, check(t, g, call(t, proposal{skill: "no.such"})).Code)
	require.Equal(t, permission.CodeUnknownSkill, check(t, g, sentinel.Call{}).Code)
}

// One gate serves every agent at once.
func TestConcurrentUse(t *testing.T) {
	g := gate(t, permission.DefaultAllow,
		permission.Rule{Skill: "*", Then: permission.Allow, When: "time < timestamp('2027-01-01T00:00:00Z') && call.agent == 'a1'"},
		permission.Rule{Skill: "email.send", Then: permission.Ask, When: "args.list.exists(x, x == args.to)"})
	c := call(t, proposal{skill: "email.send", args: `{"to":"a","list":["b","a"]}`})
	got := make(chan sentinel.Verdict, 64)
	for range cap(got) {
		go func() {
			v, _ := g.Check(context.Background(), c)
			got <- v
		}()
	}
	for range cap(got) {
		v := <-got
		require.Equal(t, sentinel.Ask, v.Outcome, v.Detail)
		require.Len(t, v.Evidence, 2)
	}
}

// The most restrictive rule that fits decides, and every one that fits is
// listed.
func TestMostRestrictiveWins(t *testing.T) {
	g := gate(t, permission.DefaultAllow,
		permission.Rule{Skill: "email.send", Then: permission.Allow},
		permission.Rule{ID: "mail", Skill: "email.*", Then: permission.Ask, Reason: "mail is\n asked about"},
		permission.Rule{Skill: "*", Then: permission.Deny, When: "args.to == 'x@y.z'", Reason: "not to x"},
		permission.Rule{Skill: "files.write", Then: permission.Deny},
	)
	v := check(t, g, call(t, proposal{skill: "email.send", args: `{"to":"x@y.z"}`}))
	require.Equal(t, sentinel.Deny, v.Outcome)
	require.Equal(t, permission.CodeDenied, v.Code)
	require.Equal(t, "not to x", v.Reason)
	require.Equal(t, []sentinel.Evidence{
		{Signal: "rule permissions[0]"}, {Signal: "rule mail"}, {Signal: "rule permissions[2]", Args: []string{"to"}},
	}, v.Evidence)

	v = check(t, g, call(t, proposal{skill: "email.send", args: `{"to":"a@b.c"}`}))
	require.Equal(t, sentinel.Ask, v.Outcome)
	require.Equal(t, permission.CodeAsk, v.Code)
	require.Equal(t, "mail is asked about", v.Reason)
	require.Equal(t, []string{"rule permissions[0]", "rule mail"}, signals(v))
}

// With the default deny an allow rule opens what it names, and lifts nothing
// that another rule lowered.
func TestDefaultDeny(t *testing.T) {
	g := gate(t, permission.DefaultDeny,
		permission.Rule{Skill: "email.read", Then: permission.Allow},
		permission.Rule{Skill: "email.send", Then: permission.Allow, When: "args.to.endsWith('@example.com')"},
		permission.Rule{Skill: "files.*", Then: permission.Allow},
		permission.Rule{Skill: "files.write", Then: permission.Ask},
	)
	for _, tc := range []struct {
		skill, args string
		want        sentinel.Outcome
		code        string
	}{
		{"email.read", `{}`, sentinel.Allow, ""},
		{"email.send", `{"to":"a@example.com"}`, sentinel.Allow, ""},
		{"email.send", `{"to":"a@evil.com"}`, sentinel.Deny, permission.CodeNoMatch},
		{"files.write", `{}`, sentinel.Ask, permission.CodeAsk},
		{"open.any", `{}`, sentinel.Deny, permission.CodeNoMatch},
	} {
		v := check(t, g, call(t, proposal{skill: tc.skill, args: tc.args}))
		require.Equal(t, tc.want, v.Outcome, "%s %s", tc.skill, tc.args)
		require.Equal(t, tc.code, v.Code)
	}
}

// Users are patterns; an empty list is everyone and so is "*". A slash in an id
// takes no user out of a rule.
func TestUsers(t *testing.T) {
	for _, tc := range []struct {
		users []string
		user  string
		fits  bool
	}{
		{nil, "ada", true},
		{[]string{"guest-*"}, "guest-7", true},
		{[]string{"guest-*"}, "ada", false},
		{[]string{"guest-*", "ad?"}, "ada", true},
		{[]string{"*"}, "team/ada", true},
		{[]string{"team/*"}, "team/ada", true},
		{[]string{"guest-*"}, "guest-1/x", true},
		{[]string{"[a-c]da"}, "ada", true},
		{[]string{"ADA"}, "ada", false},
	} {
		g := gate(t, permission.DefaultAllow, permission.Rule{Skill: "*", Users: tc.users, Then: permission.Deny})
		v := check(t, g, call(t, proposal{skill: "email.read", user: tc.user}))
		require.Equal(t, tc.fits, v.Outcome == sentinel.Deny, "%v %s", tc.users, tc.user)
	}
}

// A skill's own switches hold whatever the rules say, and `never` lifts
// nothing.
func TestSkillSwitches(t *testing.T) {
	reg := registry(t,
		skills.Spec{Name: "off.skill", Effect: skills.Read, Disabled: true, Approval: skills.ApproveAlways},
		skills.Spec{Name: "always.ask", Effect: skills.Read, Approval: skills.ApproveAlways},
		skills.Spec{Name: "never.ask", Effect: skills.Read, Approval: skills.ApproveNever},
	)
	g, err := permission.New(permission.Options{Registry: reg, Default: permission.DefaultAllow, Rules: []permission.Rule{
		{Skill: "*", Then: permission.Allow}, {Skill: "never.*", Then: permission.Ask},
	}})
	require.NoError(t, err)
	for _, tc := range []struct {
		skill string
		want  sentinel.Outcome
		code  string
	}{
		{"off.skill", sentinel.Deny, permission.CodeDisabled},
		{"always.ask", sentinel.Ask, permission.CodeApprovalAlways},
		{"never.ask", sentinel.Ask, permission.CodeAsk},
	} {
		v := check(t, g, call(t, proposal{skill: tc.skill, reg: reg}))
		require.Equal(t, tc.want, v.Outcome, tc.skill)
		require.Equal(t, tc.code, v.Code)
		require.NotEmpty(t, v.WhatYouCanDo)
	}
}

// A condition that can't be evaluated denies: for every kind of rule, and also
// where another rule allows.
func TestRuleErrorDenies(t *testing.T) {
	for _, then := range []string{permission.Allow, permission.Ask, permission.Deny} {
		for name, when := range map[string]string{
			"absent argument": "args.cc == 'x'",
			"wrong type":      "args.to > 5",
			"no boolean":      "args.to || args.to",
			"division":        "1 / int(args.n) == 1",
		} {
			t.Run(then+" "+name, func(t *testing.T) {
				g := gate(t, permission.DefaultAllow,
					permission.Rule{Skill: "*", Then: permission.Allow},
					permission.Rule{Skill: "email.send", Then: then, When: when})
				v := check(t, g, call(t, proposal{skill: "email.send", args: `{"to":"a","n":0}`}))
				require.Equal(t, sentinel.Deny, v.Outcome)
				require.Equal(t, permission.CodeRuleError, v.Code)
				require.Equal(t, []string{"rule permissions[0]", "rule permissions[1] error"}, signals(v))
				require.Contains(t, v.Detail, "rule permissions[1]: ")
			})
		}
	}
}

// A condition that costs too much denies, and so does one that the context
// cuts short.
func TestCostAndContext(t *testing.T) {
	args := `{"list":[` + strings.Repeat("1,", 3000) + `1]}`
	quadratic := permission.Rule{Skill: "email.send", Then: permission.Allow,
		When: "args.list.all(a, args.list.exists(b, b == a + 1) || true)"}
	c := call(t, proposal{skill: "email.send", args: args})
	t.Run("cost", func(t *testing.T) {
		v := check(t, gate(t, permission.DefaultAllow, quadratic), c)
		require.Equal(t, permission.CodeRuleError, v.Code)
		require.Contains(t, v.Detail, "cost limit")
	})
	t.Run("own limit", func(t *testing.T) {
		g, err := permission.New(permission.Options{CostLimit: 3,
			Rules: []permission.Rule{{Skill: "*", Then: permission.Allow, When: "args.to == 'a' || args.to == 'b' || args.to == 'c'"}}})
		require.NoError(t, err)
		require.Equal(t, permission.CodeRuleError, check(t, g, call(t, proposal{skill: "email.send", args: `{"to":"d"}`})).Code)
	})
	t.Run("context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		g, err := permission.New(permission.Options{CostLimit: 1 << 40, Rules: []permission.Rule{quadratic}})
		require.NoError(t, err)
		v, err := g.Check(ctx, c)
		require.NoError(t, err)
		require.Equal(t, permission.CodeRuleError, v.Code)
		require.Contains(t, v.Detail, context.Canceled.Error())
	})
	t.Run("large plain text is within it", func(t *testing.T) {
		g := gate(t, permission.DefaultAllow, permission.Rule{Skill: "email.send", Then: permission.Ask,
			When: "args.body.contains('needle in hay')"})
		v := check(t, g, call(t, proposal{skill: "email.send", args: `{"body":"` + strings.Repeat("hay ", 200_000) + `"}`}))
		require.Equal(t, sentinel.Allow, v.Outcome, v.Detail)
	})
}
