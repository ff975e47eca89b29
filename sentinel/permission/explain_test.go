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
		if m := regexp.MustCompile(`^//\t([a-z_.]+) +(?:map|string|bool|list|timestamp|flow) `).FindStringSubmatch(line); m != nil {
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

// Each name of the package comment has an example that is true of this call. Each
// name that conditions know is in the comment.
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
	require.Len(t, examples, 21)
	for name, when := range examples {
		gate, err := permission.New(permission.Options{Default: permission.DefaultAllow, Registry: reg, Now: noonClock, Rules: []permission.Rule{
			{Skill: "email.all", Then: permission.Ask, When: when}}})
		require.NoError(t, err, name)
		v := check(t, gate, c)
		require.Equal(t, sentinel.Ask, v.Outcome, "%s: %s: %s", name, when, v.Detail)
		require.Contains(t, when, name)
	}
	_, err = permission.New(permission.Options{Registry: reg,
		Rules: []permission.Rule{{Skill: "*", Then: permission.Ask, When: "call.x == 1 && grant.x == 1"}}})
	require.Error(t, err)
	for name := range examples {
		_, err := permission.New(permission.Options{Registry: reg,
			Rules: []permission.Rule{{Skill: "*", Then: permission.Ask, When: name + " == " + name}}})
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
	g, err := permission.New(permission.Options{Default: permission.DefaultAllow, Registry: registry(t), Now: noonClock,
		Rules: []permission.Rule{
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
	t.Run("no rule is about an unknown skill", func(t *testing.T) {
		for _, e := range g.Explain(t.Context(), call(t, proposal{skill: "no.such"})) {
			require.Equal(t, permission.OtherSkill, e.State)
		}
	})
}
