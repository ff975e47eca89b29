package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/eval"
	"github.com/vedette-dev/vedette/orchestrator/policy"
	"github.com/vedette-dev/vedette/skills"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const skillFile = `skills:
  - name: mail.send
    effect: irreversible
    parameters:
      type: object
      required: [to]
      properties: {to: {type: string, x-target: true}, body: {type: string, x-content: true}, cc: {type: array, items: {type: string, ` +
	`x-target: true}}, key: {type: string, x-secret: true}}
    run: {template: x}
  - {name: mail.read, effect: read, parameters: {type: object, properties: {id: {type: string}}}, run: {template: x}}
`

// load reads a configuration of the rules, with a judge that lets all through.
func load(t *testing.T, rules string) (*config.Config, *assembly.Decider) {
	t.Helper()
	dir := t.TempDir()
	text := "version: 1\nskills: {include: [skills.yaml]}\nsentinel: {mode: \"off\"}\njudge: {threshold: 0, ask_below: 0}\n" + rules
	require.NoError(t, os.WriteFile(filepath.Join(dir, "skills.yaml"), []byte(skillFile), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "vedette.yaml"), []byte(text), 0o600))
	cfg, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{})
	require.NoError(t, err)
	d, err := assembly.NewDecider(cfg, assembly.DeciderOptions{NoReview: true})
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return cfg, d
}

const rewriting = `permissions:
  - {id: cut, skill: mail.send, then: modify, when: "has(args.cc)", modify: [{narrow: cc, keep: '@example\.com$'}, {append: body, text: ` +
	`"!"}]}
  - {id: secret, skill: mail.send, then: ask, when: "has(args.key) && args.key != ''"}
`

// What explain says is what check says of the same line, and its working is of
// the call that was judged.
func TestExplainAgreesWithCheck(t *testing.T) {
	cfg, d := load(t, rewriting)
	for _, line := range []string{
		`{"id":"1","granted_skills":["mail.*"],"proposed_action":{"skill_name":"mail.send","arguments":{"to":"a@b.c","cc":["x@example.com",` +
			`"y@evil.test"],"body":"hi"}}}`,
		`{"id":"2","granted_skills":["mail.*"],"proposed_action":{"skill_name":"mail.send","arguments":{"to":"a@b.c","cc":["y@evil.test"]}}}`,
		`{"id":"3","granted_skills":[],"proposed_action":{"skill_name":"mail.read","arguments":{}}}`,
		`{"id":"4","granted_skills":["mail.*"],"proposed_action":{"skill_name":"mail.send","arguments":{"to":1}}}`,
		`{"id":"5","granted_skills":["mail.*"],"proposed_action":{"skill_name":"no.such","arguments":{"to":1}}}`,
		`{"id":"6","granted_skills":["mail.*"],"proposed_action":{"skill_name":"mail.read","arguments":{"a":1,"a":2}}}`,
	} {
		res, err := eval.NewEvaluator(eval.Options{Decider: d}).Evaluate(t.Context(), []byte(line))
		require.NoError(t, err)
		want := res.Decision.Line(res.Case.ID)
		got, err := policy.Explain(t.Context(), cfg, d, []byte(line))
		require.NoError(t, err)
		require.Equal(t, want.Decision, got.Decision.Decision, line)
		require.Equal(t, want.Code, got.Decision.Code)
		require.Equal(t, want.Digest, got.Decision.Digest)
		require.Equal(t, want.Modified, got.Decision.Modified)
		require.Equal(t, want.BlockedBy == nil, len(got.Changes) == 0, "what is blocked has something that would change it")
		if want.BlockedBy != nil && *want.BlockedBy != "parse" {
			require.Len(t, got.Gates, 8)
			require.Len(t, got.Rules, 2)
		}
		b, err := json.Marshal(got)
		require.NoError(t, err)
		require.NotContains(t, string(b), `:null,"`+"gates", "lists are lists")
	}
	got, err := policy.Explain(t.Context(), cfg, d, []byte(
		`{"granted_skills":["mail.*"],"proposed_action":{"skill_name":"mail.send","arguments":{"to":"a@b.c","cc":["x@example.com",`+
			`"y@evil.test"],"body":"hi"}}}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"to":"a@b.c","cc":["x@example.com"],"body":"hi!"}`, string(got.Call.Arguments))
	require.JSONEq(t, `{"to":"a@b.c","cc":["x@example.com","y@evil.test"],"body":"hi"}`, string(got.Proposed))
	for _, r := range got.Touch.Recipients {
		require.NotEqual(t, "y@evil.test", r.Value)
	}
	got, err = policy.Explain(t.Context(), cfg, d, []byte(
		`{"granted_skills":["mail.*"],"proposed_action":{"skill_name":"mail.send","arguments":{"to":"a@b.c","body":"1 < 2 & 3 > 2"}}}`))
	require.NoError(t, err)
	require.Contains(t, string(got.Call.Arguments), "1 < 2 & 3 > 2", "signs stand as they were written")
	_, err = policy.Explain(t.Context(), cfg, d, []byte(`{}`))
	var bad *cases.Error
	require.ErrorAs(t, err, &bad)
}

// A secret argument shows in no part of an explanation.
func TestExplainHidesSecrets(t *testing.T) {
	cfg, d := load(t, rewriting+`  - {id: all, skill: mail.send, then: ask, when: "args.exists(k, args[k] == 'x')"}
  - {id: err, skill: mail.send, then: ask, when: "int(args.key) == 1"}
`)
	got, err := policy.Explain(t.Context(), cfg, d, []byte(
		`{"granted_skills":["mail.*"],"proposed_action":{"skill_name":"mail.send","arguments":{"to":"a@b.c","key":"CANARY"}}}`))
	require.NoError(t, err)
	require.Equal(t, "error", got.Rules[3].State)
	require.NotEmpty(t, got.Rules[1].Terms)
	got.Decision.Reason = "" // the language's own error stands there, as in check
	for i := range got.Gates {
		got.Gates[i].Detail = ""
	}
	b, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(b), "CANARY")
}

// What would change the outcome does: a call decided with that change has the
// outcome that was told.
func TestChangesAreTrue(t *testing.T) {
	cfg, d := load(t,
		"permissions:\n  - {id: t, skill: mail.read, then: ask, when: call.tainted}\n  - {id: n, skill: mail.send, then: deny}\n")
	tell := func(line string) map[string]string {
		e, err := policy.Explain(t.Context(), cfg, d, []byte(line))
		require.NoError(t, err)
		out := map[string]string{}
		for _, c := range e.Changes {
			out[c.If] = c.Outcome
		}
		return out
	}
	require.Equal(t, map[string]string{
		"these rules did not fit: t": "allow", "everything that came back before could be trusted": "allow",
		"nothing had come back before": "allow",
	}, tell(`{"granted_skills":["mail.*"],"proposed_action":{"skill_name":"mail.read","arguments":{}},"history":[{"skill_name":"mail.read",`+
		`"result":"x"}]}`))
	require.Equal(t, map[string]string{"these rules did not fit: n": "deny", "scope.not_granted were gone": "deny"},
		tell(`{"granted_skills":["mail.read"],"proposed_action":{"skill_name":"mail.send","arguments":{"to":"a@b.c"}}}`),
		"one of two alone is not enough")
	require.Equal(t, map[string]string{"scope.not_granted were gone": "allow", "the agent held the skill": "allow"},
		tell(`{"granted_skills":["mail.send"],"proposed_action":{"skill_name":"mail.read","arguments":{}}}`))
	require.Empty(t, tell(`{"granted_skills":["mail.read"],"proposed_action":{"skill_name":"mail.read","arguments":{}}}`))
}

// A report names what failed and which rules nobody tried, and holds no value.
func TestReport(t *testing.T) {
	cfg, _ := load(t, rewriting+`  - {id: idle, skill: mail.read, then: deny, when: "has(args.id) && args.id == 'zz'"}
  - {id: broken, skill: mail.read, then: ask, when: "int(args.id) == 1"}
tests:
  - {name: narrowed, call: {skill: mail.send, args: {to: a@b.c, cc: [x@example.com, CANARY@evil.test]}}, expect: modify, args: {to: `+
		`a@b.c, cc: [x@example.com]}}
  - {name: none left, call: {skill: mail.send, args: {to: a@b.c, cc: [CANARY@evil.test]}}, expect: deny, code: modify.error, gate: `+
		`permission}
  - {name: wrong, call: {skill: mail.send, args: {to: a@b.c, cc: [CANARY@evil.test]}}, expect: modify}
  - {name: error denies, call: {skill: mail.read, args: {id: CANARY}}, expect: deny, code: permission.rule_error}
  - {name: unread, call: {skill: mail.read, args: {id: CANARY}}, expect: allow}
  - {name: unknown, call: {skill: no.such}, expect: deny, gate: scope}
  - {name: no object, call: {skill: mail.read, args: {id: "1"}}, expect: ask, args: {id: "2"}}
`)
	r, err := policy.Test(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, 7, r.Tests)
	require.Equal(t, 4, r.Passed)
	var failed []string
	for _, f := range r.Failed {
		failed = append(failed, f.Name)
		require.NotZero(t, f.Line)
	}
	require.Equal(t, []string{"wrong", "unread", "no object"}, failed)
	require.Equal(t,
		[]string{"expected modify: no rule rewrote the call, and it is deny by permission (modify.error): rule cut cc: nothing of the " +
			"argument is left"}, r.Failed[0].Why)
	var idle []string
	for _, u := range r.Unexercised {
		idle = append(idle, u.Rule)
	}
	require.Equal(t, []string{"secret", "idle"}, idle, "a rule that failed has had its say")
	b, err := json.Marshal(r)
	require.NoError(t, err)
	require.NotContains(t, string(b), "CANARY")
}

// The effect that is believed follows from the name's verb, the way it runs and
// what it takes; what is declared stricter is nobody's business.
func TestLintEffects(t *testing.T) {
	for _, tc := range []struct {
		skill string
		found bool
	}{
		{"{name: a.list, effect: read, run: {template: x}}", false},
		{"{name: a.delete, effect: read, run: {template: x}}", true},
		{"{name: a.delete, effect: modify, run: {template: x}}", false},
		{"{name: a.create_thing, effect: read, run: {template: x}}", true},
		{"{name: a.send, effect: create, run: {template: x}}", true},
		{"{name: a.send, effect: costs_money, run: {template: x}}", false},
		{"{name: a.sender, effect: read, run: {template: x}}", false},
		{"{name: a.buy-now, effect: irreversible, run: {template: x}}", true},
		{"{name: a.fetch, effect: read, run: {http: {method: GET, url: \"https://x.test/\"}}}", false},
		{"{name: a.fetch, effect: read, run: {http: {method: POST, url: \"https://x.test/\"}}}", false},
		{"{name: a.fetch, effect: read, run: {http: {method: delete, url: \"https://x.test/\"}}}", true},
		{"{name: a.fetch, effect: modify, run: {http: {method: DELETE, url: \"https://x.test/\"}}}", false},
		{"{name: a.run, effect: read, parameters: {type: object, properties: {c: {type: string, x-shell: true}}}, run: {template: x}}", true},
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("skills:\n  - "+tc.skill+"\n"), 0o600))
		cfg, err := config.Parse("v.yaml", []byte("version: 1\nskills: {include: [s.yaml]}\nsentinel: {mode: \"off\"}\n"),
			config.Options{FS: os.DirFS(dir), Dir: dir})
		require.NoError(t, err)
		found, err := policy.Lint(cfg)
		require.NoError(t, err)
		require.Equal(t, tc.found, len(found) == 1, "%s: %v", tc.skill, found)
		if tc.found {
			require.Equal(t, policy.LintMild, found[0].Code)
			require.Equal(t, "s.yaml", found[0].File)
			require.Equal(t, 2, found[0].Line)
		}
	}
	require.Equal(t, skills.CostsMoney, skills.Effects()[len(skills.Effects())-1], "the list runs from mild to grave")
}

// The examples of the page about rules are a configuration whose tests pass.
func TestThePageAboutRules(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "rules.md"))
	require.NoError(t, err)
	text := "version: 1\nsentinel: {mode: \"off\"}\njudge: {threshold: 0, ask_below: 0}\n"
	blocks := 0
	var flow string
	for i, part := range strings.Split(string(page), "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		if i == 0 { // a rule of its own, which joins the list of the others
			_, flow, _ = strings.Cut(block, "permissions:\n")
			blocks++
			continue
		}
		block = strings.Replace(block, "permissions:\n", "permissions:\n"+flow, 1)
		text += strings.Replace(block, "skills:\n", "skills:\n  include: [s.yaml]\n", 1) // the page shows the skills of a program
		blocks++
	}
	require.Equal(t, 4, blocks)
	const skill = `name: email.send
effect: irreversible
parameters:
  type: object
  required: [to]
  properties:
    to: {type: string, x-target: true}
    cc: {type: array, items: {type: string, x-target: true}}
    bcc: {type: array, items: {type: string, x-target: true}}
    body: {type: string, x-content: true}
    priority: {type: string}
    copies: {type: integer}
run: {template: x}
`
	cfg, err := config.Parse("v.yaml", []byte(text), config.Options{FS: fstest.MapFS{"s.yaml": {Data: []byte(skill)}}, Dir: t.TempDir()})
	require.NoError(t, err)
	r, err := policy.Test(t.Context(), cfg)
	require.NoError(t, err)
	require.Empty(t, r.Failed)
	require.Equal(t, 2, r.Tests)
	require.Len(t, r.Unexercised, 1, "the rule about flows, whose tests need a history")
	require.Equal(t, "rule-1", r.Unexercised[0].Rule)
	found, err := policy.Lint(cfg)
	require.NoError(t, err)
	require.Empty(t, found)
}
