package permission_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// Each variable holds what the call holds.
func TestVariables(t *testing.T) {
	args := `{"to":"Bob@Example.com","n":2.5,"list":[1,2,{"deep":true}],"opt":{"a":null}}`
	for _, when := range []string{
		"args.to == 'Bob@Example.com'", "args.to.lowerAscii().endsWith('@example.com')", "args['to'].size() == 15",
		"args.n > 2", "args.n == 2.5", "args.list[0] == 1", "args.list[1] + 1 == 3", "args.list[2].deep == true",
		"args.opt.a == null", "!has(args.cc)", "!('cc' in args)",
		"call.skill == 'email.send'", "call.effect == 'irreversible'", "call.reaches == 'others'", "call.agent == 'a1'",
		"call.conversation == 'c1'", "call.outward", "!call.tainted", "call.digest.startsWith('sha256:')",
		"grant.agent == 'a1'", "grant.mission_by == 'orchestrator'", "!grant.tainted", "'files.write' in grant.scope",
		"user == 'ada'", "time.getHours() == 12 && time.getDayOfWeek() == 3", "time < timestamp('2027-01-01T00:00:00Z')",
		"call.paths.all(p, p != '')", "size(call.commands) == 0",
	} {
		v := fits(t, when, call(t, proposal{skill: "email.send", args: args}))
		require.Equal(t, sentinel.Ask, v.Outcome, "%s: %s", when, v.Detail)
	}
}

func fits(t *testing.T, when string, c sentinel.Call) sentinel.Verdict {
	t.Helper()
	return check(t, gate(t, permission.DefaultAllow, permission.Rule{Skill: "*", Then: permission.Ask, When: when}), c)
}

// What a call would touch is the same list whichever argument it came
// through.
func TestTouchVariables(t *testing.T) {
	c := call(t, proposal{skill: "files.write",
		args: `{"path":"notes/a.txt","url":"https://Example.com/x","command":"ls -l /tmp","to":"eve@evil.example"}`})
	for _, when := range []string{
		"'/srv/desk/notes/a.txt' in call.paths", "'example.com' in call.hosts", "'ls' in call.commands", "'eve@evil.example' in call.recipients",
	} {
		v := fits(t, when, c)
		require.Equal(t, sentinel.Ask, v.Outcome, "%s: %s", when, v.Detail)
	}
	t.Run("what can't be parsed or known is an unknown command", func(t *testing.T) {
		c := call(t, proposal{skill: "files.write", args: `{"command":"ls | | x"}`})
		require.Equal(t, sentinel.Ask, fits(t, "'' in call.commands", c).Outcome)
		c = call(t, proposal{skill: "files.write", args: `{"command":"$X -l"}`})
		require.Equal(t, sentinel.Ask, fits(t, "'' in call.commands", c).Outcome)
	})
}

// A path through a symbolic link shows as it was named and as it is.
func TestPathsShowLinks(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(root, "real"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(root, "real"), filepath.Join(root, "link")))
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a"})
	require.NoError(t, err)
	c, err := sentinel.NewCall(registry(t), touch.Env{Root: root}, sentinel.Proposal{
		Skill: "files.write", Args: []byte(`{"path":"link/x"}`), Grant: g,
	})
	require.NoError(t, err)
	for _, folder := range []string{"real", "link"} {
		when := "'" + filepath.Join(root, folder, "x") + "' in call.paths"
		require.Equal(t, sentinel.Ask, fits(t, when, c).Outcome, when)
	}
}

// A tainted grant, or an untrusted result in the trace, shows in call.tainted.
func TestTaintVariables(t *testing.T) {
	require.Equal(t, sentinel.Ask, fits(t, "call.tainted && grant.tainted", call(t, proposal{skill: "email.read", tainted: true})).Outcome)
	tr := sentinel.NewTrace(sentinel.Step{Skill: "email.read", Result: "x", Trust: skills.Untrusted})
	require.Equal(t, sentinel.Ask, fits(t, "call.tainted && !grant.tainted", call(t, proposal{skill: "email.read", trace: tr})).Outcome)
}

// Every mistake in a rule is reported with its place, and with what was
// probably meant.
func TestMistakes(t *testing.T) {
	for name, tc := range map[string]struct {
		rule      permission.Rule
		path, msg string
	}{
		"no skill":       {permission.Rule{Then: "deny"}, "permissions[0].skill", "missing"},
		"unknown skill":  {permission.Rule{Skill: "email.sned", Then: "deny"}, "permissions[0].skill", `did you mean "email.send"?`},
		"unknown domain": {permission.Rule{Skill: "mail.*", Then: "deny"}, "permissions[0].skill", "can't match"},
		"bad pattern":    {permission.Rule{Skill: "email*", Then: "deny"}, "permissions[0].skill", "no domain such as email.*"},
		"bad glob": {permission.Rule{Skill: "*", Users: []string{"ok", "[a"}, Then: "deny"}, "permissions[0].users[1]",
			"without a ]"},
		"list in a glob": {permission.Rule{Skill: "*", Users: []string{"{guest,anon}-*"}, Then: "deny"}, "permissions[0].users[0]",
			"brace"},
		"two stars in a glob": {permission.Rule{Skill: "*", Users: []string{"guest-**"}, Then: "deny"}, "permissions[0].users[0]", "**"},
		"no then":             {permission.Rule{Skill: "*"}, "permissions[0].then", "missing"},
		"unknown then":        {permission.Rule{Skill: "*", Then: "denny"}, "permissions[0].then", `did you mean "deny"?`},
		"defer is no rule":    {permission.Rule{Skill: "*", Then: "defer"}, "permissions[0].then", "not one of"},
		"syntax":              {permission.Rule{Skill: "*", Then: "ask", When: "args.to =="}, "permissions[0].when", "1:11"},
		"not a condition":     {permission.Rule{Skill: "email.send", Then: "ask", When: "size(args.to)"}, "permissions[0].when", "int"},
		"dyn is no condition": {permission.Rule{Skill: "email.send", Then: "ask", When: "args.to"}, "permissions[0].when", "dyn"},
		"undeclared variable": {permission.Rule{Skill: "*", Then: "ask", When: "usr == 'x'"}, "permissions[0].when",
			"undeclared reference to 'usr'"},
		"undeclared field": {permission.Rule{Skill: "*", Then: "ask", When: "call.skil == 'x'"}, "permissions[0].when",
			`did you mean "call.skill"?`},
		"undeclared argument": {permission.Rule{Skill: "email.send", Then: "ask", When: "args.too == 'x'"}, "permissions[0].when",
			`did you mean "to"?`},
		"undeclared, by index": {permission.Rule{Skill: "email.*", Then: "ask", When: "args['boddy'] == 'x'"}, "permissions[0].when",
			`did you mean "body"?`},
		"undeclared, by has": {permission.Rule{Skill: "email.send", Then: "ask", When: "has(args.bccc)"}, "permissions[0].when",
			`has an argument "bccc"`},
		"false": {permission.Rule{Skill: "*", Then: "ask", When: "false"}, "permissions[0].when", "can't match"},
		"false after folding": {permission.Rule{Skill: "email.send", Then: "ask", When: "1 > 2 && args.to == 'x'"},
			"permissions[0].when", "can't match"},
		"too long": {permission.Rule{Skill: "*", Then: "ask",
			When: "user == '" + strings.Repeat("x", permission.MaxWhen) + "'"}, "permissions[0].when", "size"},
		"wrong type at compiling": {permission.Rule{Skill: "*", Then: "ask", When: "call.outward == 'yes'"}, "permissions[0].when",
			"no matching overload"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := permission.New(permission.Options{Rules: []permission.Rule{tc.rule}, Registry: registry(t)})
			var pe *skills.PathError
			require.ErrorAs(t, err, &pe)
			require.Equal(t, tc.path, pe.Path)
			require.Contains(t, pe.Msg, tc.msg)
			require.NotContains(t, pe.Msg, "\n")
		})
	}
}

// No mistake hides another.
func TestMistakesTogether(t *testing.T) {
	t.Run("all at once", func(t *testing.T) {
		_, err := permission.New(permission.Options{Default: "maybe", Registry: registry(t), Rules: []permission.Rule{
			{Skill: "x", Then: "y", When: "z"}, {ID: "a", Skill: "*", Then: "deny"}, {ID: "a", Skill: "*", Then: "ask", When: "nope"},
		}})
		var paths []string
		for _, e := range flatten(err) {
			var pe *skills.PathError
			require.ErrorAs(t, e, &pe)
			paths = append(paths, pe.Path)
		}
		require.ElementsMatch(t, []string{"permissions_default", "permissions[0].skill", "permissions[0].then", "permissions[0].when",
			"permissions[2].when", "permissions[2].id"}, paths)
	})
	t.Run("each argument that isn't there", func(t *testing.T) {
		_, err := permission.New(permission.Options{Registry: registry(t),
			Rules: []permission.Rule{{Skill: "email.send", Then: "ask", When: "args.too == args.bdy"}}})
		require.Len(t, flatten(err), 2)
	})
	t.Run("an open schema takes any argument, and without a registry nothing is looked up", func(t *testing.T) {
		_, err := permission.New(permission.Options{Registry: registry(t),
			Rules: []permission.Rule{{Skill: "open.any", Then: "ask", When: "args.what == 1"}}})
		require.NoError(t, err)
		_, err = permission.New(permission.Options{Rules: []permission.Rule{{Skill: "not.there", Then: "ask", When: "args.what == 1"}}})
		require.NoError(t, err)
	})
}

func flatten(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range j.Unwrap() {
			out = append(out, flatten(e)...)
		}
		return out
	}
	return []error{err}
}

// While the default is allow, one more rule never raises an outcome.
func TestAddingARuleNeverRaises(t *testing.T) {
	whens := []string{"", "true", "args.to == 'a'", "args.cc == 'a'", "user == 'ada'", "args.n > 1", "1 / int(args.n) == 1",
		"call.outward", "args.list.exists(x, x == 'q')"}
	calls := []sentinel.Call{
		call(t, proposal{skill: "email.send", args: `{"to":"a","n":0}`}),
		call(t, proposal{skill: "email.send", args: `{"to":"b","n":2,"cc":"a","list":["q"]}`}),
		call(t, proposal{skill: "email.read"}),
	}
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.Custom(func(t *rapid.T) permission.Rule {
			return permission.Rule{
				Skill: rapid.SampledFrom([]string{"*", "email.*", "email.send", "files.write"}).Draw(t, "skill"),
				Users: rapid.SampledFrom([][]string{nil, {"ad*"}, {"x"}}).Draw(t, "users"),
				When:  rapid.SampledFrom(whens).Draw(t, "when"),
				Then:  rapid.SampledFrom([]string{permission.Allow, permission.Ask, permission.Deny}).Draw(t, "then"),
			}
		})
		rules := append([]permission.Rule{}, rapid.SliceOfN(rule, 0, 4).Draw(t, "rules")...)
		before, err := permission.New(permission.Options{Rules: rules, Default: permission.DefaultAllow})
		require.NoError(t, err)
		at := rapid.IntRange(0, len(rules)).Draw(t, "at")
		more := append(append(append([]permission.Rule{}, rules[:at]...), rule.Draw(t, "more")), rules[at:]...)
		after, err := permission.New(permission.Options{Rules: more, Default: permission.DefaultAllow})
		require.NoError(t, err)
		for _, c := range calls {
			a, err := before.Check(context.Background(), c)
			require.NoError(t, err)
			b, err := after.Check(context.Background(), c)
			require.NoError(t, err)
			require.LessOrEqual(t, b.Outcome, a.Outcome)
		}
	})
}

// Values and undeclared keys are in no part of the verdict that is recorded,
// whatever went wrong.
func TestNoValuesAreRecorded(t *testing.T) {
	const canary = "CANARY-7f3a"
	rules := []permission.Rule{
		{Skill: "open.any", Then: permission.Ask, When: "int(args.x) == 1"},
		{Skill: "open.any", Then: permission.Ask, When: "args.obj[args.x] == 1"},
		{Skill: "*", Then: permission.Ask, When: "timestamp(user) > time"},
		{Skill: "open.any", Then: permission.Deny, When: "args['x'].contains('C')"},
	}
	args, err := json.Marshal(map[string]any{"x": canary, canary: canary, "obj": map[string]any{canary + "2": canary}})
	require.NoError(t, err)
	recorded := func(v sentinel.Verdict) string {
		b, err := json.Marshal([]any{v.Code, v.Reason, v.Evidence, v.Meta})
		require.NoError(t, err)
		return string(b)
	}
	c := call(t, proposal{skill: "open.any", args: string(args), user: canary})
	quoted := 0
	for _, r := range rules {
		v := check(t, gate(t, permission.DefaultAllow, r), c) // each alone, so that it is the one whose reason stands
		require.Equal(t, sentinel.Deny, v.Outcome)
		if strings.Contains(v.Detail, canary) {
			quoted++
		}
		require.NotContains(t, recorded(v), canary)
	}
	require.Positive(t, quoted, "some error must quote the value, or this test shows nothing")
	g := gate(t, permission.DefaultAllow, rules...)
	v := check(t, g, c)
	require.Len(t, v.Evidence, 4)
	for _, e := range v.Evidence {
		require.Empty(t, e.Args, "the skill declares no argument")
	}
	require.NotContains(t, recorded(v), canary)
	v = check(t, g, call(t, proposal{skill: "canary-7f3a.skill"}))
	require.NotContains(t, strings.ToLower(recorded(v)), strings.ToLower(canary))
}

// Whatever the arguments hold, conditions evaluate or deny; nothing panics and
// the answer is the same each time.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"to":"a@example.com","cc":"","n":1}`, `{"to":1e300}`, `{"to":["a"],"list":[1,"2",null,{"a":[]}]}`, `{"n":-0.5,"opt":{"":null}}`,
		`{"to":"(((","body":"\u0000\ud83d\ude00","list":[[[[]]]]}`, `{"n":9007199254740992}`, `{"to":"2026-01-01T00:00:00Z","opt":{"a":{"b":1}}}`,
	} {
		f.Add(s)
	}
	reg := registry(f)
	g := gate(f, permission.DefaultAllow,
		permission.Rule{Skill: "email.send", Then: permission.Ask,
			When: "args.to.matches('^[a-z]+@') && args.to.lowerAscii().split('@').size() == 2"},
		permission.Rule{Skill: "email.send", Then: permission.Ask, When: "args.n * 3 > 7 || args.n / 2 == args.n"},
		permission.Rule{Skill: "email.send", Then: permission.Ask,
			When: "args.list.exists(x, x == args.to) || args.list.map(x, string(x)).size() > 3"},
		permission.Rule{Skill: "email.send", Then: permission.Ask,
			When: "args.opt.a.b == 1 || timestamp(args.to) < time || args.to.matches(args.body)"},
		permission.Rule{Skill: "email.send", Then: permission.Ask,
			When: "args.exists(k, args[k] == null) || call.outward || args.body.substring(int(args.n)) == ''"},
	)
	grant, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", User: "ada"})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, args string) {
		c, err := sentinel.NewCall(reg, touchEnv, sentinel.Proposal{Skill: "email.send", Args: []byte(args), Grant: grant})
		if err != nil {
			return
		}
		a, err := g.Check(t.Context(), c)
		require.NoError(t, err)
		require.NotContains(t, a.Detail, "internal error", "the library recovered a panic")
		b, err := g.Check(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, a.Outcome, b.Outcome)
		require.Equal(t, a.Code, b.Code)
	})
}
