package permission_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/skills"
)

// documented reads the table of names and examples of the package comment.
func documented(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	out := map[string]string{}
	name := ""
	for line := range strings.SplitSeq(string(text), "\n") {
		if m := regexp.MustCompile(`^//\t([a-z_.]+) +(?:map|string|bool|list|timestamp) `).FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		if _, example, ok := strings.Cut(line, "// e.g. "); ok {
			require.FailNow(t, "an example without its column", example)
		}
		if _, example, ok := strings.Cut(line, " e.g. "); ok && strings.HasPrefix(line, "//\t") {
			out[name] = example
		}
	}
	return out
}

// Each name of the package comment has an example that is true of this call,
// and each name that conditions know is in the comment.
func TestDocumentedConditions(t *testing.T) {
	reg := registry(t, skills.Spec{Name: "email.all", Effect: skills.Irreversible, Reaches: skills.Others, Parameters: []byte(
		`{"type":"object","properties":{"to":{"type":"string","x-target":true},"path":{"type":"string","x-path":true},
		"url":{"type":"string","x-url":true},"command":{"type":"string","x-shell":true}}}`)})
	scope, err := skills.NewScope("email.*")
	require.NoError(t, err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "g", Conversation: "c", Agent: "mailer", User: "ada", Scope: scope, MissionBy: sentinel.ByOrchestrator,
	})
	require.NoError(t, err)
	c, err := sentinel.NewCall(reg, touchEnv, sentinel.Proposal{Skill: "email.all", Grant: g, Args: []byte(
		`{"to":"Bob@example.com","path":"notes/a.txt","url":"https://Files.Example.com:8443/x","command":"ls -l | cat"}`)})
	require.NoError(t, err)
	examples := documented(t)
	require.Len(t, examples, 20)
	for name, when := range examples {
		gate, err := permission.New(permission.Options{Default: permission.DefaultAllow, Registry: reg, Now: noonClock, Rules: []permission.Rule{
			{Skill: "email.all", Then: permission.Ask, When: when}}})
		require.NoError(t, err, name)
		v := check(t, gate, c)
		require.Equal(t, sentinel.Ask, v.Outcome, "%s: %s: %s", name, when, v.Detail)
		require.Contains(t, when, name)
	}
	_, err = permission.New(permission.Options{Registry: reg, Rules: []permission.Rule{{Skill: "*", Then: permission.Ask, When: "call.x == 1 && grant.x == 1"}}})
	require.Error(t, err)
	for name := range examples {
		_, err := permission.New(permission.Options{Registry: reg, Rules: []permission.Rule{{Skill: "*", Then: permission.Ask, When: name + " == " + name}}})
		require.NoError(t, err, name)
	}
}

// Unseen characters show in call.flags.
func TestFlagsVariable(t *testing.T) {
	c := call(t, proposal{skill: "email.send", args: `{"to":"a\u202eb","body":"\u200b"}`})
	require.Equal(t, sentinel.Ask, fits(t, "call.flags == ['bidi', 'zero_width']", c).Outcome)
	require.Equal(t, sentinel.Allow, fits(t, "'control' in call.flags", c).Outcome)
}

// Every rule is explained: why it fits or doesn't, with the values of what its
// condition asks.
func TestExplain(t *testing.T) {
	g, err := permission.New(permission.Options{Default: permission.DefaultAllow, Registry: registry(t), Now: noonClock, Rules: []permission.Rule{
		{ID: "a", Skill: "email.read", Then: permission.Ask},
		{ID: "b", Skill: "*", Users: []string{"bob"}, Then: permission.Ask},
		{ID: "c", Skill: "email.*", Then: permission.Deny},
		{ID: "d", Skill: "email.send", Then: permission.Ask, When: "!args.to.endsWith('@example.com') && args.n > 5"},
		{ID: "e", Skill: "email.send", Then: permission.Ask, When: "args.cc == 'x'"},
		{ID: "f", Skill: "email.send", Then: permission.Modify, Modify: []permission.Op{{Append: "body", Text: "!"}}},
		{ID: "g", Skill: "email.send", Then: permission.Modify, When: "args.n == 2", Modify: []permission.Op{{Clamp: "n", Max: "1"}}},
		{ID: "h", Skill: "email.send", Then: permission.Ask, When: "args.list.exists(x, x == args.to)"},
	}})
	require.NoError(t, err)
	c := call(t, proposal{skill: "email.send", args: `{"to":"eve@evil.test","n":2,"list":["q"]}`})
	got := g.Explain(t.Context(), c)
	states := map[string]permission.State{}
	for i, e := range got {
		require.Equal(t, i, e.Index)
		states[e.ID] = e.State
	}
	require.Equal(t, map[string]permission.State{
		"a": permission.OtherSkill, "b": permission.OtherUser, "c": permission.Match, "d": permission.NoMatch, "e": permission.Errored,
		"f": permission.Match, "g": permission.Match, "h": permission.NoMatch,
	}, states)
	require.Contains(t, got[4].Err, "cc")
	require.Equal(t, []permission.Term{
		{Text: `args.to.endsWith("@example.com")`, Value: "false"}, {Text: "args.to", Value: `"eve@evil.test"`},
		{Text: "args.n > 5", Value: "false"}, {Text: "args.n", Value: "2"},
	}, got[3].Terms)
	require.Equal(t, []permission.Term{{Text: "args.list.exists(x, x == args.to)", Value: "false"}}, got[7].Terms)
	require.Empty(t, got[2].Terms)
	require.Equal(t, permission.Modify, got[5].Then)

	t.Run("values are cut", func(t *testing.T) {
		long := call(t, proposal{skill: "email.send", args: `{"to":"` + strings.Repeat("ä", 5000) + `","n":1}`})
		for _, term := range g.Explain(t.Context(), long)[3].Terms {
			require.Less(t, len([]rune(term.Value)), 300)
		}
	})
	t.Run("an unknown skill is nobody's", func(t *testing.T) {
		for _, e := range g.Explain(t.Context(), call(t, proposal{skill: "no.such"})) {
			require.Equal(t, permission.OtherSkill, e.State)
		}
	})
}

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
		{"never, by the skill", "allow", []permission.Rule{{Skill: "email.*", Then: "ask", When: "call.effect == 'costs_money'"}}, "rule.never permissions[0].when"},
		{"never, by name", "allow", []permission.Rule{{Skill: "email.send", Then: "deny", When: "call.skill == 'email.read' && args.to == 'x'"}}, "rule.never permissions[0].when"},
		{"of one of its skills", "allow", []permission.Rule{{Skill: "email.*", Then: "ask", When: "call.effect == 'read'"}}, ""},
		{"behind a wider rule", "allow", []permission.Rule{any, {Skill: "email.send", Then: "ask", When: "args.to == 'x'"}}, "rule.shadowed permissions[1]"},
		{"before a wider rule", "allow", []permission.Rule{{Skill: "email.send", Then: "ask", When: "args.to == 'x'"}, any}, "rule.shadowed permissions[0]"},
		{"behind a stricter rule", "allow", []permission.Rule{{Skill: "email.*", Then: "deny"}, {Skill: "email.send", Then: "ask"}}, "rule.shadowed permissions[1]"},
		{"behind a milder rule", "allow", []permission.Rule{any, {Skill: "email.send", Then: "deny"}}, ""},
		{"a stricter rule with the same condition", "allow", []permission.Rule{
			{Skill: "email.send", Then: "ask", When: "args.to=='x'"}, {Skill: "email.send", Then: "deny", When: "args.to == \"x\""}}, "rule.shadowed permissions[0]"},
		{"another condition", "allow", []permission.Rule{
			{Skill: "email.send", Then: "ask", When: "args.to=='x'"}, {Skill: "email.send", Then: "deny", When: "args.to=='y'"}}, ""},
		{"other users", "allow", []permission.Rule{{Skill: "*", Users: []string{"guest-*"}, Then: "deny"}, {Skill: "*", Users: []string{"bob"}, Then: "ask"}}, ""},
		{"some users", "allow", []permission.Rule{{Skill: "*", Users: []string{"guest-*"}, Then: "deny"}, {Skill: "*", Users: []string{"guest-7"}, Then: "ask"}}, "rule.shadowed permissions[1]"},
		{"all users behind some", "allow", []permission.Rule{{Skill: "*", Users: []string{"bob"}, Then: "deny"}, any}, ""},
		{"twice", "allow", []permission.Rule{{Skill: "email.send", Then: "ask", When: "args.to=='x'"}, {Skill: "email.send", Then: "ask", When: "args.to == 'x'"}}, "rule.duplicate permissions[1]"},
		{"twice in other words", "allow", []permission.Rule{{Skill: "files.*", Then: "ask"}, {Skill: "files.write", Users: []string{"*"}, Then: "ask"}}, "rule.duplicate permissions[1]"},
		{"allow where allow is the default", "allow", []permission.Rule{{Skill: "email.send", Then: "allow"}}, "rule.no_effect permissions[0]"},
		{"a rewrite twice", "allow", []permission.Rule{
			{Skill: "email.send", Then: "modify", Modify: []permission.Op{{Remove: "cc"}}}, {Skill: "email.send", Then: "modify", Modify: []permission.Op{{Remove: "cc"}}}}, "rule.duplicate permissions[1]"},
		{"other rewrites", "allow", []permission.Rule{
			{Skill: "email.send", Then: "modify", Modify: []permission.Op{{Remove: "cc"}}}, {Skill: "email.send", Then: "modify", Modify: []permission.Op{{Remove: "opt"}}}, any}, ""},
		{"a rewrite of what is denied", "allow", []permission.Rule{{Skill: "email.*", Then: "deny"}, {Skill: "email.send", Then: "modify", Modify: []permission.Op{{Remove: "cc"}}}}, "rule.shadowed permissions[1]"},
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
		found, err := permission.Lint(permission.Options{Registry: registry(t), Known: []string{"agent.dispatch"}, Default: "allow", Rules: []permission.Rule{
			{Skill: "agent.dispatch", Then: "ask", When: "args.model == 'x' && call.effect == 'modify'"}, {Skill: "agent.*", Then: "modify", Modify: []permission.Op{{Remove: "context"}}},
			{Skill: "email.send", Then: "ask"}, {Skill: "agent.dispatch", Then: "ask"},
		}})
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, "permissions[0]", found[0].Path)
		_, err = permission.New(permission.Options{Registry: registry(t), Known: []string{"agent.dispatch"}, Rules: []permission.Rule{{Skill: "agent.dispach", Then: "ask"}}})
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
		{Skill: "email.*", Then: "ask", When: "call.effect == 'costs_money'"}, {Skill: "*", Then: "ask"}, {Skill: "email.send", Then: "ask", When: "args.to == 'x'"},
		{Skill: "*", Users: []string{"guest-*"}, Then: "deny"}, {Skill: "*", Users: []string{"guest-7"}, Then: "ask"}, {Skill: "email.read", Then: "allow"},
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
		for skill, args := range map[string]string{"email.send": `{"to":"x"}`, "email.read": `{}`, "files.write": `{}`, "open.any": `{"to":"x"}`} {
			c := call(t, proposal{skill: skill, args: args, user: user})
			require.Equal(t, check(t, all, c).Outcome, check(t, less, c).Outcome, "%s %s", user, skill)
		}
	}
}
