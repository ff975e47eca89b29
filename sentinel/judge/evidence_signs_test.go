package judge_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// paying is a verdict on a transfer, or on a letter, after results.
func paying(t *testing.T, request, skill string, args map[string]any, steps ...sentinel.Step) sentinel.Verdict {
	t.Helper()
	var list []*skills.Skill
	for _, s := range []skills.Spec{
		{Name: "bank.transfer", Effect: skills.CostsMoney, Reaches: skills.Others, Parameters: json.RawMessage(`{"type":"object","properties":{
			"iban":{"type":"string","x-target":true},"amount":{"type":"number"}}}`)},
		{Name: "letters.send", Effect: skills.Irreversible, Reaches: skills.Others, Parameters: json.RawMessage(`{"type":"object","properties":{
			"to":{"type":"array","items":{"type":"string","x-target":true}},"body":{"type":"string","x-content":true}}}`)},
		{Name: "letters.search", Effect: skills.Read, Parameters: json.RawMessage(`{"type":"object","properties":{
			"to":{"type":"array","items":{"type":"string","x-target":true}}}}`)},
	} {
		s, err := skills.Compile(s)
		require.NoError(t, err)
		list = append(list, s)
	}
	reg, err := skills.NewRegistry(list...)
	require.NoError(t, err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", Request: &request})
	require.NoError(t, err)
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: skill, Args: raw, Grant: g,
		Trace: sentinel.NewTrace(steps...)})
	require.NoError(t, err)
	return decide(t, judge.Options{}, c)
}

const (
	rightIBAN   = "DE89370400440532013000"
	swappedIBAN = "DE89370400440532010300"
)

var payees = sentinel.Step{Skill: "bank.payees", Args: `{}`, Trust: skills.Trusted,
	Result: `{"payees":[{"name":"Kim","iban":"DE89 3704 0044 0532 0130 00"}]}`}

// A near miss is hard, costs no less than a value that nothing has, and is one sign with it.
func TestNearMissesAreHard(t *testing.T) {
	const request = "Transfer 20 euros to Kim, from my payees"
	v := paying(t, request, "bank.transfer", map[string]any{"iban": swappedIBAN, "amount": 20}, payees)
	s := signals(v)
	require.NotEqual(t, sentinel.Allow, v.Outcome, v.Reason)
	require.Contains(t, s, "near_miss_wrong_check_digits")
	require.Contains(t, s, "near_miss_swapped")
	total := 0
	for _, e := range v.Evidence {
		require.False(t, e.Doubt, e.Signal)
		if len(e.Args) > 0 && e.Args[0] == "iban" {
			total += e.Amount
		}
	}
	require.Equal(t, -35, total, v.Evidence)
	require.Contains(t, v.Detail, "the account in argument iban")
	require.NotContains(t, v.Detail, swappedIBAN[4:12])

	v = paying(t, request, "bank.transfer", map[string]any{"iban": rightIBAN, "amount": 20}, payees)
	require.NotContains(t, v.Detail, "iban")
	for s := range signals(v) {
		require.NotRegexp(t, "^near_miss_", s)
	}
}

// A record of somebody else that fits the request better is in doubt, and no verdict.
func TestARivalIsADoubt(t *testing.T) {
	book := sentinel.Step{Skill: "contacts.lookup", Args: `{}`, Trust: skills.Trusted,
		Result: `{"contacts":[{"name":"Eva Lund","email":"lund@quay.test"},{"name":"Eva Holm","email":"praxis@holm.test"}]}`}
	send := func(to string) sentinel.Verdict {
		return paying(t, "Write a letter to Eva Lund", "letters.send", map[string]any{"to": []string{to}, "body": "Hello"}, book)
	}
	v := send("praxis@holm.test")
	i := -1
	for n, e := range v.Evidence {
		if e.Signal == judge.SignalRival {
			i = n
		}
	}
	require.NotEqual(t, -1, i, v.Reason)
	require.True(t, v.Evidence[i].Doubt)
	require.NotNil(t, v.Doubt)
	require.NotContains(t, signals(send("lund@quay.test")), judge.SignalRival)
}

// A list that hides recipients from the reviewer asks. Of a read nothing does.
func TestLongListsHideNoRecipient(t *testing.T) {
	var to []string
	for i := range 80 {
		to = append(to, fmt.Sprintf("member%d@somewhere-far-away-%d.test", i, i))
	}
	args := map[string]any{"to": to}
	v := paying(t, "Write a letter to all members", "letters.send", args)
	require.Equal(t, -31, signals(v)[judge.SignalLeftOut], v.Reason)
	require.NotEqual(t, sentinel.Allow, v.Outcome)
	v = paying(t, "Search letters to all members", "letters.search", args)
	require.NotContains(t, signals(v), judge.SignalLeftOut)
}
