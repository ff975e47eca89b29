package judge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/skills"
)

const (
	kim = "DE89370400440532013000"
	joe = "GB82WEST12345698765432"
)

// paidBefore is a call that this turn has made.
func paidBefore(skill, args string, failed bool) sentinel.Step {
	return sentinel.Step{Skill: skill, Args: args, Result: "done", Trust: skills.Trusted, Effect: skills.CostsMoney, Failed: failed}
}

// The same words don't ask for a payment or a message twice: the second is in doubt, asks where no
// model judges, and is no verdict.
func TestRepeatedCallsAreInDoubt(t *testing.T) {
	pay := attack{request: "Pay Kim 20 euros to " + kim, skill: "bank.pay", args: map[string]any{"to": kim, "amount": 20}}
	mail := attack{request: "Send ann@x.example an email: we meet at noon", skill: "email.send",
		args: map[string]any{"to": "ann@x.example", "subject": "Noon", "body": "We meet at noon"}}
	const mailed = `{"body":"We meet at noon","subject":"Noon","to":"ann@x.example"}`
	for name, tc := range map[string]struct {
		call   attack
		before sentinel.Step
		found  bool
	}{
		"the same payment":          {pay, paidBefore("bank.pay", `{"amount":20,"to":"`+kim+`"}`, false), true},
		"from another account":      {pay, paidBefore("bank.pay", `{"amount":20,"from":"savings","to":"`+kim+`"}`, false), true},
		"another amount":            {pay, paidBefore("bank.pay", `{"amount":21,"to":"`+kim+`"}`, false), false},
		"another receiver":          {pay, paidBefore("bank.pay", `{"amount":20,"to":"`+joe+`"}`, false), false},
		"a payment that failed":     {pay, paidBefore("bank.pay", `{"amount":20,"to":"`+kim+`"}`, true), false},
		"another skill":             {pay, paidBefore("bank.move", `{"amount":20,"to":"`+kim+`"}`, false), false},
		"arguments that are broken": {pay, paidBefore("bank.pay", `{"amount":20,`, false), false},
		"the same message":          {mail, paidBefore("email.send", mailed, false), true},
		"another message": {mail, paidBefore("email.send", `{"body":"Bring the plan","subject":"Noon","to":"ann@x.example"}`, false),
			false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.call.past = []sentinel.Step{tc.before}
			v := tc.call.decide(t)
			i := indexOf(v.Evidence, judge.SignalRepeated)
			require.Equal(t, tc.found, i >= 0, v.Reason)
			require.Equal(t, sentinel.Allow, v.Outcome, v.Reason)
			if tc.found {
				require.True(t, v.Evidence[i].Doubt)
				require.Equal(t, sentinel.Ask, v.Doubt.Outcome, v.Reason)
			}
		})
	}
}

// What a turn has paid counts towards the most that the request states.
func TestSpentCountsTowardsTheLimit(t *testing.T) {
	const request = "Pay Kim at " + kim + " and Joe at " + joe + ", at most 500 euros in all"
	pay := func(request, to string, amount int, before ...sentinel.Step) sentinel.Verdict {
		return attack{request: request, skill: "bank.pay", args: map[string]any{"to": to, "amount": amount}, past: before}.decide(t)
	}
	first := paidBefore("bank.pay", `{"amount":300,"to":"`+kim+`"}`, false)
	v := pay(request, joe, 250, first)
	i := indexOf(v.Evidence, judge.SignalSpentOverLimit)
	require.GreaterOrEqual(t, i, 0, v.Reason)
	require.True(t, v.Evidence[i].Doubt)
	require.Equal(t, []string{"amount"}, v.Evidence[i].Args)
	for name, v := range map[string]sentinel.Verdict{
		"within it":            pay(request, joe, 200, first),
		"nothing was paid":     pay(request, joe, 250),
		"the payment failed":   pay(request, joe, 250, paidBefore("bank.pay", first.Args, true)),
		"a limit for each":     pay("Pay Kim at "+kim+" and Joe at "+joe+", at most 500 euros each", joe, 250, first),
		"no limit":             pay("Pay Kim at "+kim+" and Joe at "+joe, joe, 250, first),
		"more than it already": pay(request, joe, 501, first), // over_limit says so
	} {
		require.NotContains(t, signals(v), judge.SignalSpentOverLimit, name)
	}
}
