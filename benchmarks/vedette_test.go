package benchmarks

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/sentinel/schema"
	"github.com/vedette-dev/vedette/sentinel/scope"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// officeSkills are what the calls are about. The last one is in no rule.
var officeSkills = []struct {
	name   string
	effect skills.Effect
	schema string
}{
	{"email.send", skills.Irreversible,
		`{"type":"object","required":["to","body"],"additionalProperties":false,"properties":{"to":{"type":"string","x-target":true},` +
			`"body":{"type":"string","x-content":true}}}`},
	{"tasks.delete", skills.Irreversible,
		`{"type":"object","required":["id"],"additionalProperties":false,"properties":{"id":{"type":"string"}}}`},
	{"fs.write", skills.Modify,
		`{"type":"object","required":["path","text"],"additionalProperties":false,"properties":{"path":{"type":"string","x-path":true},` +
			`"text":{"type":"string","x-content":true}}}`},
	{"pay.send", skills.CostsMoney,
		`{"type":"object","required":["to","amount"],"additionalProperties":false,"properties":{"to":{"type":"string","x-target":true},` +
			`"amount":{"type":"integer"}}}`},
	{"calendar.read", skills.Read, `{"type":"object","required":["day"],"additionalProperties":false,"properties":{"day":{"type":"string"}}}`},
}

var officeRules = []permission.Rule{
	{Skill: "email.*", Then: permission.Allow},
	{Skill: "tasks.*", Then: permission.Allow},
	{Skill: "fs.*", Then: permission.Allow},
	{Skill: "pay.*", Then: permission.Allow},
	{Skill: "email.send", When: "!args.to.endsWith('@example.com')", Then: permission.Ask},
	{Skill: "tasks.delete", Users: []string{"guest-*"}, Then: permission.Deny},
	{Skill: "fs.*", When: "!args.path.startsWith('/workspace/')", Then: permission.Deny},
	{Skill: "pay.send", When: "args.amount > 100", Then: permission.Ask},
	{Skill: "pay.send", When: "args.amount > 1000", Then: permission.Deny},
}

// office is Vedette with the same rules: the permission gate alone, and a
// Checkpoint of all gates that work by rules.
type office struct {
	rules sentinel.Gate
	all   *sentinel.Checkpoint
}

func newOffice(tb testing.TB, others int) office {
	tb.Helper()
	var list []*skills.Skill
	add := func(name string, effect skills.Effect, schema string) {
		s, err := skills.Compile(skills.Spec{Name: name, Effect: effect, Parameters: json.RawMessage(schema)})
		require.NoError(tb, err)
		list = append(list, s)
	}
	for _, s := range officeSkills {
		add(s.name, s.effect, s.schema)
	}
	rules := append([]permission.Rule{}, officeRules...)
	for i := range others {
		name := fmt.Sprintf("other.s%d", i)
		add(name, skills.Read, `{"type":"object","properties":{"path":{"type":"string"}}}`)
		rules = append(rules, permission.Rule{Skill: name, When: "args.path == 'x'", Then: permission.Deny})
	}
	reg, err := skills.NewRegistry(list...)
	require.NoError(tb, err)
	env := touch.Env{Root: "/workspace", NoFS: true}
	perm, err := permission.New(permission.Options{Rules: rules, Default: permission.DefaultDeny, Registry: reg})
	require.NoError(tb, err)
	sc, err := scope.New(scope.Options{Registry: reg})
	require.NoError(tb, err)
	g, err := guard.New(guard.Options{Roots: []string{"/workspace"}, Env: env})
	require.NoError(tb, err)
	j, err := judge.New(judge.Options{})
	require.NoError(tb, err)
	all, err := sentinel.New(sentinel.Options{
		Registry: reg, Env: env,
		Gates: []sentinel.Gate{schema.New(), sc, perm, g, j, sentinel.Skip(sentinel.GateReview, "rules alone")},
	})
	require.NoError(tb, err)
	return office{perm, all}
}

// grantFor returns a user's grant of every skill.
func grantFor(tb testing.TB, user string) sentinel.Grant {
	tb.Helper()
	sc, err := skills.NewScope("email.*", "tasks.*", "fs.*", "pay.*", "calendar.*")
	require.NoError(tb, err)
	request := "send ada@example.com the notes of today, write them to /workspace/notes/today.md, pay 20 to ACC-7 and delete task T-9"
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "g", User: user, Conversation: "c", Turn: "t", Agent: "a", Scope: sc, Request: &request,
	})
	require.NoError(tb, err)
	return g
}
