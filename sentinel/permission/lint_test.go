package permission_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/skills"
)

// Lint finds what does nothing, each once and with its place, and is silent
// about rules that do something.
func TestLint(t *testing.T) {
	any := permission.Rule{Skill: "*", Then: permission.Ask}
	for _, tc := range []struct {
		name  string
		def   string
		rules []permission.Rule
		want  string
	}{
		{"nothing", "allow", nil, ""},
		{"never, by the skill", "allow", []permission.Rule{{Skill: "email.*", Then: "ask", When: "call.effect == 'costs_money'"}},
			"rule.never permissions[0].when"},
		{"never, by name", "allow", []permission.Rule{{Skill: "email.send", Then: "deny",
			When: "call.skill == 'email.read' && args.to == 'x'"}}, "rule.never permissions[0].when"},
		{"of one of its skills", "allow", []permission.Rule{{Skill: "email.*", Then: "ask", When: "call.effect == 'read'"}}, ""},
		{"behind a wider rule", "allow", []permission.Rule{any, {Skill: "email.send", Then: "ask", When: "args.to == 'x'"}},
			"rule.shadowed permissions[1]"},
		{"before a wider rule", "allow", []permission.Rule{{Skill: "email.send", Then: "ask", When: "args.to == 'x'"}, any},
			"rule.shadowed permissions[0]"},
		{"behind a stricter rule", "allow", []permission.Rule{{Skill: "email.*", Then: "deny"}, {Skill: "email.send", Then: "ask"}},
			"rule.shadowed permissions[1]"},
		{"behind a milder rule", "allow", []permission.Rule{any, {Skill: "email.send", Then: "deny"}}, ""},
		{"a stricter rule with the same condition", "allow", []permission.Rule{
			{Skill: "email.send", Then: "ask", When: "args.to=='x'"}, {Skill: "email.send", Then: "deny", When: "args.to == \"x\""}},
			"rule.shadowed permissions[0]"},
		{"another condition", "allow", []permission.Rule{
			{Skill: "email.send", Then: "ask", When: "args.to=='x'"}, {Skill: "email.send", Then: "deny", When: "args.to=='y'"}}, ""},
		{"other users", "allow", []permission.Rule{{Skill: "*", Users: []string{"guest-*"}, Then: "deny"},
			{Skill: "*", Users: []string{"bob"}, Then: "ask"}}, ""},
		{"some users", "allow", []permission.Rule{{Skill: "*", Users: []string{"guest-*"}, Then: "deny"},
			{Skill: "*", Users: []string{"guest-7"}, Then: "ask"}}, "rule.shadowed permissions[1]"},
		{"all users behind some", "allow", []permission.Rule{{Skill: "*", Users: []string{"bob"}, Then: "deny"}, any}, ""},
		{"twice", "allow", []permission.Rule{{Skill: "email.send", Then: "ask", When: "args.to=='x'"},
			{Skill: "email.send", Then: "ask", When: "args.to == 'x'"}}, "rule.duplicate permissions[1]"},
		{"twice in other words", "allow", []permission.Rule{{Skill: "files.*", Then: "ask"},
			{Skill: "files.write", Users: []string{"*"}, Then: "ask"}}, "rule.duplicate permissions[1]"},
		{"allow where allow is the default", "allow", []permission.Rule{{Skill: "email.send", Then: "allow"}}, "rule.no_effect permissions[0]"},
		{"a rewrite twice", "allow", []permission.Rule{
			{Skill: "email.send", Then: "modify", Modify: []permission.Op{{Remove: "cc"}}},
			{Skill: "email.send", Then: "modify", Modify: []permission.Op{{Remove: "cc"}}}}, "rule.duplicate permissions[1]"},
		{"other rewrites", "allow", []permission.Rule{
			{Skill: "email.send", Then: "modify", Modify: []permission.Op{{Remove: "cc"}}},
			{Skill: "email.send", Then: "modify", Modify: []permission.Op{{Remove: "opt"}}}, any}, ""},
		{"a rewrite of what is denied", "allow", []permission.Rule{{Skill: "email.*", Then: "deny"},
			{Skill: "email.send", Then: "modify", Modify: []permission.Op{{Remove: "cc"}}}}, "rule.shadowed permissions[1]"},
		{"skills that nothing opens", "deny", []permission.Rule{{Skill: "email.*", Then: "allow"}, {Skill: "files.write", Then: "deny"}},
			"skill.never_open skills[files.write] skill.never_open skills[open.any]"},
		{"everything open", "deny", []permission.Rule{{Skill: "*", Then: "allow"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rules := append([]permission.Rule{}, tc.rules...)
			o := permission.Options{Rules: rules, Default: tc.def, Registry: registry(t)}
			found, err := permission.Lint(o)
			require.NoError(t, err)
			var got []string
			for _, f := range found {
				got = append(got, f.Code+" "+f.Path)
				require.NotEmpty(t, f.Msg)
			}
			require.Equal(t, tc.want, strings.Join(got, " "))
		})
	}
	t.Run("skills that are elsewhere", func(t *testing.T) {
		found, err := permission.Lint(permission.Options{Registry: registry(t), Known: []string{"agent.dispatch"}, Default: "allow",
			Rules: []permission.Rule{
				{Skill: "agent.dispatch", Then: "ask", When: "args.model == 'x' && call.effect == 'modify'"},
				{Skill: "agent.*", Then: "modify", Modify: []permission.Op{{Remove: "context"}}},
				{Skill: "email.send", Then: "ask"}, {Skill: "agent.dispatch", Then: "ask"},
			}})
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, "permissions[0]", found[0].Path)
		_, err = permission.New(permission.Options{Registry: registry(t), Known: []string{"agent.dispatch"},
			Rules: []permission.Rule{{Skill: "agent.dispach", Then: "ask"}}})
		require.ErrorContains(t, err, `did you mean "agent.dispatch"?`)
	})
	_, err := permission.Lint(permission.Options{Rules: []permission.Rule{{Skill: "*", Then: "x"}}, Registry: registry(t)})
	var pe *skills.PathError
	require.ErrorAs(t, err, &pe)
	_, err = permission.Lint(permission.Options{Rules: []permission.Rule{}})
	require.Error(t, err)
}

// A rule that lint calls without effect can go: no call is decided otherwise.
func TestWhatLintFindsHasNoEffect(t *testing.T) {
	rules := []permission.Rule{
		{Skill: "email.*", Then: "ask", When: "call.effect == 'costs_money'"}, {Skill: "*", Then: "ask"},
		{Skill: "email.send", Then: "ask", When: "args.to == 'x'"},
		{Skill: "*", Users: []string{"guest-*"}, Then: "deny"}, {Skill: "*", Users: []string{"guest-7"}, Then: "ask"},
		{Skill: "email.read", Then: "allow"},
	}
	found, err := permission.Lint(permission.Options{Rules: rules, Default: "allow", Registry: registry(t)})
	require.NoError(t, err)
	require.Len(t, found, 4)
	var kept []permission.Rule
	for i, r := range rules {
		gone := false
		for _, f := range found {
			gone = gone || strings.HasPrefix(f.Path, "permissions["+string(rune('0'+i))+"]")
		}
		if !gone {
			kept = append(kept, r)
		}
	}
	require.Len(t, kept, 2)
	all, less := gate(t, "allow", rules...), gate(t, "allow", kept...)
	for _, user := range []string{"ada", "guest-7", "guest-8"} {
		for skill, args := range map[string]string{"email.send": `{"to":"x"}`, "email.read": `{}`, "files.write": `{}`,
			"open.any": `{"to":"x"}`} {
			c := call(t, proposal{skill: skill, args: args, user: user})
			require.Equal(t, check(t, all, c).Outcome, check(t, less, c).Outcome, "%s %s", user, skill)
		}
	}
}
