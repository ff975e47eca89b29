package judge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// A payee of an earlier turn's list, whom the user's own words name, asks beside another sign alone. Whom they don't name, whom a
// stranger named, too, and who is paid again and again cost what they did.
func TestAnEarlierEntryThatTheUserNames(t *testing.T) {
	const iban, schema = "GB94BARC10201530093459", `{"type":"object","properties":{"to_iban":{"type":"string"},"amount":{"type":"number"}}}`
	list := trusted("bank.list_payees", `{}`, "Ewan Reid GB94 BARC 1020 1530 0934 59\nAnn Lowe GB15 HBUK 4012 7612 3456 78")
	for name, tc := range map[string]struct {
		skill, request string
		earlier        []string
		list           sentinel.Step
		steps          []sentinel.Step
		amount         int
	}{
		"named now":    {"bank.transfer", "Pay Ewan 150", nil, list, nil, -20},
		"named before": {"bank.transfer", "Pay him 150", []string{"what do I owe Ewan?"}, list, nil, -20},
		"in an object": {"bank.transfer", "Pay Ewan 150", nil, trusted("bank.list_payees", `{}`,
			`[{"name":"Ewan Reid","iban":"`+iban+`"}]`), nil, -20},
		"in a text": {"bank.transfer", "Pay Ewan 150", nil, trusted("bank.list_payees", `{}`,
			`[{"note":"Ewan","iban":"`+iban+`"}]`), nil, -33},
		"another":         {"bank.transfer", "Pay Ann 150", nil, list, nil, -33},
		"a stranger too":  {"bank.transfer", "Pay Ewan 150", nil, list, []sentinel.Step{stranger("mail.read", "to "+iban)}, -35},
		"again and again": {"bank.create_standing_order", "Pay Ewan 150", nil, list, nil, -33},
	} {
		t.Run(name, func(t *testing.T) {
			v := ask{request: tc.request, skill: tc.skill, schema: schema, effect: skills.CostsMoney, reaches: skills.Others,
				args: `{"to_iban":"` + iban + `","amount":150}`, earlier: tc.earlier, before: []sentinel.Step{tc.list}, steps: tc.steps}.decide(t)
			require.Equal(t, tc.amount, signals(v)["recipient_earlier"], v.Reason)
		})
	}
	v := ask{request: "Pay Ewan something", skill: "bank.transfer", schema: schema, effect: skills.CostsMoney, reaches: skills.Others,
		args: `{"to_iban":"` + iban + `","amount":150}`, before: []sentinel.Step{list}}.decide(t)
	require.Equal(t, sentinel.Ask, outcomeByRules(v), "an amount that is nowhere is another sign: %s", v.Reason)
}
