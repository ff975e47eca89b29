package config_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/skills"
)

const knownYAML = `version: 1
skills:
  known:
    - name: pay.invoice
      description: Pay an invoice.
      effect: costs_money
      reaches: others
      parameters: {type: object, required: [payee], properties: {payee: {type: string}}}
permissions:
  - {skill: pay.invoice, then: ask, when: "args.payee != 'acme'"}
`

type invoice struct {
	Payee string `json:"payee"`
}

func goSkill(t *testing.T, name string, e skills.Effect) *skills.GoSkill {
	t.Helper()
	g, err := skills.Func(skills.Spec{Name: name, Effect: e, Reaches: skills.Others},
		func(context.Context, invoice) (string, error) { return "paid", nil })
	require.NoError(t, err)
	return g
}

// A skill of the program that the configuration knows is a skill like others,
// without a way to run.
func TestSkillsOfTheProgram(t *testing.T) {
	c, err := config.Parse("vedette.yaml", []byte(knownYAML), config.Options{})
	require.NoError(t, err)
	require.Len(t, c.Skills, 1)
	require.True(t, c.Skills[0].Known)
	require.Equal(t, skills.CostsMoney, c.Skills[0].Skill.Effect())
	require.Equal(t, "go", c.Skills[0].Skill.Spec().Run.Kind)
	require.Equal(t, 4, c.Skills[0].Pos.Line)
	// The program registers it, and another that is known nowhere.
	c, err = config.Parse("vedette.yaml", []byte(knownYAML), config.Options{Program: []*skills.Skill{
		goSkill(t, "pay.invoice", skills.CostsMoney).Skill(), goSkill(t, "pay.list", skills.Read).Skill()}})
	require.NoError(t, err)
	require.Len(t, c.Skills, 2)
	require.True(t, c.Skills[0].Known && c.Skills[1].Known)
	require.Empty(t, c.Skills[0].Skill.Spec().Description, "what the program registers stands")
	// Rules may be about what only the program has.
	_, err = config.Parse("v.yaml", []byte("version: 1\npermissions: [{skill: pay.invoice, then: ask}]"),
		config.Options{Program: []*skills.Skill{goSkill(t, "pay.invoice", skills.CostsMoney).Skill()}})
	require.NoError(t, err)
}

// What a known skill can't be, and where the program says something else.
func TestSkillsOfTheProgramMistakes(t *testing.T) {
	for name, tt := range map[string]struct {
		yaml    string
		program []string
		want    []string
	}{
		"a way to run": {"skills: {known: [{name: a.b, effect: read, run: {template: x}}]}", nil,
			[]string{"v.yaml:2:44: a skill under skills.known is run by the program; remove run, or declare the skill in a file under " +
				"skills.include"}},
		"no effect": {"skills: {known: [{name: a.b}]}", nil,
			[]string{"v.yaml:2:18: skills[a.b].effect: is missing; say read, create, modify, irreversible or costs_money"}},
		"unknown key": {"skills: {known: [{name: a.b, effect: read, parameter: {}}]}", nil,
			[]string{`v.yaml:2:44: unknown key "parameter"; did you mean "parameters"?`}},
		"no list":  {"skills: {known: {name: a.b}}", nil, []string{"v.yaml:2:17: skills.known must be a list of skills, not a mapping"}},
		"no skill": {"skills: {known: [a.b]}", nil, []string{`v.yaml:2:18: skills.known[0] must be a mapping of keys to values, not "a.b"`}},
		"twice": {"skills: {known: [{name: a.b, effect: read}, {name: a.b, effect: read}]}", nil,
			[]string{`v.yaml:2:52: skill "a.b" is declared twice; the first is at v.yaml:2:25`}},
		"the domain of the orchestrator": {"skills: {known: [{name: agent.b, effect: read}]}", nil,
			[]string{`v.yaml:2:25: skill "agent.b" is in the domain agent.*, which holds the orchestrator's own calls; choose another domain`}},
		"another effect and schema": {"skills: {known: [{name: a.b, effect: read, reaches: others}]}", []string{"a.b"}, []string{
			"v.yaml:2:18: skills[a.b].parameters: is not what the program says: there is properties: {\"payee\":{\"type\":\"string\"}} besides",
			"v.yaml:2:38: skills[a.b].effect: is read, and the program says costs_money; write what the program says"}},
		"registered twice": {"", []string{"a.b", "a.b"}, []string{`v.yaml:1:1: the program registers skill "a.b" twice; remove one`}},
	} {
		t.Run(name, func(t *testing.T) {
			var program []*skills.Skill
			for _, n := range tt.program {
				program = append(program, goSkill(t, n, skills.CostsMoney).Skill())
			}
			_, err := config.Parse("v.yaml", []byte("version: 1\n"+tt.yaml), config.Options{Program: program})
			require.Equal(t, tt.want, mistakes(t, t.TempDir(), err))
		})
	}
	_, _, err := load(t, map[string]string{"vedette.yaml": "version: 1\nskills: {include: [email.yaml]}", "email.yaml": skillYAML},
		config.Options{Program: []*skills.Skill{goSkill(t, "email.send", skills.CostsMoney).Skill()}})
	require.ErrorContains(t, err, `email.yaml:1:7: skill "email.send" is part of the program already; choose another name`)
}

// A known skill takes every key of a skill file but run, now and later.
func TestSkillsOfTheProgramKeys(t *testing.T) {
	keys := func(at ...string) []string {
		var doc map[string]any
		raw := config.SkillSchema()
		if at[0] == "known" {
			raw = config.Schema()
		}
		require.NoError(t, json.Unmarshal(raw, &doc))
		if at[0] == "known" {
			for _, key := range []string{"properties", "skills", "properties", "known", "items"} {
				doc = doc[key].(map[string]any)
			}
		} else {
			doc = doc["anyOf"].([]any)[0].(map[string]any)
		}
		var out []string
		for k := range doc["properties"].(map[string]any) {
			out = append(out, k)
		}
		slices.Sort(out)
		return out
	}
	want := slices.DeleteFunc(keys("file"), func(k string) bool { return k == "run" })
	require.Equal(t, want, keys("known"))
	require.Contains(t, want, "effect")
}
