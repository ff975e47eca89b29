package scope_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/scope"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// A workflow runs no skill that the agent doesn't hold, wherever in its arguments the skill
// is named.
func TestWorkflowOutsideScope(t *testing.T) {
	var list []*skills.Skill
	for _, s := range []skills.Spec{
		{Name: "email.read", Effect: skills.Read}, {Name: "bank.pay", Effect: skills.CostsMoney},
		{Name: "workflow.run", Effect: skills.Modify, Parameters: json.RawMessage(`{"type":"object","additionalProperties":true,
			"properties":{"name":{"type":"string"},"steps":{"type":"array"},"note":{"type":"string"},"nextStep":{"type":"object"}}}`)},
		{Name: "batch.do", Effect: skills.Modify, Parameters: json.RawMessage(`{"type":"object","additionalProperties":true}`)},
	} {
		c, err := skills.Compile(s)
		require.NoError(t, err)
		list = append(list, c)
	}
	reg, err := skills.NewRegistry(list...)
	require.NoError(t, err)
	g, err := scope.New(scope.Options{Registry: reg})
	require.NoError(t, err)
	skill := "workflow.run"
	decide := func(args string, held ...string) sentinel.Verdict {
		s, err := skills.NewScope(held...)
		require.NoError(t, err)
		grant, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", Scope: s})
		require.NoError(t, err)
		c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: skill, Args: []byte(args), Grant: grant})
		require.NoError(t, err)
		v, err := g.Check(t.Context(), c)
		require.NoError(t, err)
		return v
	}
	for _, args := range []string{
		`{"steps":["email.read","bank.pay"]}`, `{"steps":[{"name":"bank.pay","with":{"amount":5}}]}`, `{"steps":[{"skill_name":"BANK.PAY "}]}`,
		`{"steps":["bank.pay(amount=500)"]}`, `{"steps":["bank.*"]}`, `{"nextStep":{"run":"bank.pay"}}`, `{"then":[{"uses":"bank.pay"}]}`,
		`{"steps":"[{\"skill\":\"bank.pay\"}]"}`, `{"steps":"[{\"skill\":\"b\\u0061nk.pay\"}]"}`, `{"steps":"- skill: bank.pay\n  amount: 5"}`,
		`{"steps":{"bank.pay":{}}}`, `{"steps":[{"bank.pay":{"amount":5}}]}`, `{"steps":["- bank.pay"]}`, `{"steps":["1. bank.pay"]}`,
		`{"steps":["run bank.pay"]}`, `{"steps":["ask for bank.pay"]}`, `{"steps":["bank_pay"]}`, `{"steps":["bank__pay"]}`,
		`{"steps":["bank/pay"]}`,
		`{"steps":["functions.bank.pay"]}`, `{"steps":["email.read, bank.pay"]}`, `{"steps":"email.read,bank.pay"}`,
		`{"steps":["email.read; bank.pay"]}`,
		`{"steps":["@bank.pay"]}`, `{"steps":["email.read > bank.pay"]}`, `{"STEPS":["bank.pay"]}`, `{"run":"bank.pay"}`, `{"method":"bank.pay"}`,
		`{"steps":["bank\u200b.pay"]}`, `{"steps":["bank．pay"]}`, `{"skill_name_1":"bank.pay"}`, `{"skill2":"bank.pay"}`, `{"name":"bank.pay"}`,
		`{"nodes":[{"type":"bank.pay"}]}`, `{"whatever":[{"x":"bank.pay"}]}`, `{"whatever":{"bank.pay":{}}}`,
	} {
		v := decide(args, "workflow.run", "email.read")
		require.Equal(t, scope.CodeNamedSkills, v.Code, args)
		require.Equal(t, sentinel.Deny, v.Outcome, args)
		require.Contains(t, v.Detail, "bank.")
		require.NotContains(t, v.Reason, "bank")
		require.Equal(t, sentinel.Allow, decide(args, "workflow.run", "email.read", "bank.*").Outcome, args)
	}
	require.Equal(t, []string{"steps"}, decide(`{"steps":["bank.pay"]}`, "workflow.run").Evidence[0].Args)
	for _, args := range []string{
		`{"steps":["email.read"]}`, `{"note":"bank.pay"}`, `{"note":"ask for bank.pay"}`, `{"steps":["bank.payments"]}`, `{"name":"monthly"}`,
	} {
		require.Equal(t, sentinel.Allow, decide(args, "workflow.run", "email.read").Outcome, args)
	}
	skill = "batch.do"
	for _, name := range []string{
		"plan", "workflow", "tasks", "calls", "jobs", "operations", "commands", "pipeline", "nodes", "capabilities", "run", "method", "nextSteps",
		"TOOLS",
	} {
		args := `{"` + name + `":[{"x":"bank.pay"}]}`
		require.Equal(t, scope.CodeNamedSkills, decide(args, skill, "email.read").Code, args)
		args = `{"` + name + `":{"bank.pay":{}}}`
		require.Equal(t, scope.CodeNamedSkills, decide(args, skill, "email.read").Code, args)
	}
	for _, args := range []string{`{"name":"bank.pay"}`, `{"text":"bank.pay"}`, `{"plan":"go to the bank and pay"}`, `{"prune":"bank.pay"}`} {
		require.Equal(t, sentinel.Allow, decide(args, skill, "email.read").Outcome, args)
	}
}
