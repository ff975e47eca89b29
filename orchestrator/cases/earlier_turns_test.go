package cases_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

func parser(t *testing.T) cases.Parser {
	t.Helper()
	s, err := skills.Compile(skills.Spec{Name: "email.read", Effect: skills.Read})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	return cases.Parser{Calls: callMaker{reg}}
}

// A line's earlier requests and the turns of its history are the turns of a conversation.
func TestEarlierTurnsOfALine(t *testing.T) {
	const action = `"proposed_action":{"skill_name":"email.read","arguments":{}}`
	step := func(result, trust, turn string) string {
		return `{"skill_name":"email.read","arguments":{},"result":"` + result + `","trust":"` + trust + `"` + turn + `}`
	}
	for name, tc := range map[string]struct {
		line            string
		earlier         []sentinel.EarlierTurn
		tainted, before bool
		steps, strange  int
	}{
		"none":      {line: `{` + action + `}`, before: false},
		"null":      {line: `{"earlier_requests":null,` + action + `}`},
		"words":     {line: `{"earlier_requests":["one","two"],` + action + `}`, earlier: []sentinel.EarlierTurn{{Words: "one"}, {Words: "two"}}},
		"this turn": {line: `{"history":[` + step("x", "untrusted", `,"turn":0`) + `],` + action + `}`, tainted: true, steps: 1},
		"null turn": {line: `{"history":[` + step("x", "trusted", `,"turn":null`) + `],` + action + `}`, steps: 1},
		"the turn before": {line: `{"earlier_requests":["one","two"],"history":[` + step("x", "untrusted", `,"turn":-1`) + `,` +
			step("y", "trusted", "") + `],` + action + `}`, earlier: []sentinel.EarlierTurn{{Words: "one"}, {Words: "two", Tainted: true}},
			tainted: true, before: true, steps: 1, strange: 1},
		"both": {line: `{"history":[` + step("x", "untrusted", `,"turn":-1`) + `,` + step("y", "untrusted", "") + `],` + action + `}`,
			earlier: []sentinel.EarlierTurn{{Tainted: true}}, tainted: true, steps: 1, strange: 1},
		"older than the words": {line: `{"earlier_requests":["two"],"history":[` + step("x", "untrusted", `,"turn":-2`) + `],` + action + `}`,
			earlier: []sentinel.EarlierTurn{{Tainted: true}, {Words: "two"}}, tainted: true, before: true, strange: 1},
		"what earlier turns brought in trust": {line: `{"earlier_requests":["one"],"history":[` + step("x", "trusted",
			`,"turn":-1`) + `],` + action + `}`,
			earlier: []sentinel.EarlierTurn{{Words: "one"}}},
	} {
		t.Run(name, func(t *testing.T) {
			c, bad := parser(t).Parse([]byte(tc.line))
			require.Nil(t, bad)
			g, trace := c.Proposal.Grant, c.Proposal.Trace
			require.Equal(t, tc.earlier, g.EarlierTurns())
			require.Equal(t, tc.tainted, g.Tainted())
			require.Equal(t, tc.tainted && !tc.before, g.TaintedThisTurn())
			require.Equal(t, tc.steps, trace.Len())
			require.Len(t, trace.Earlier(), tc.strange)
		})
	}
}

// A line without the keys has the grant that it always had, so digests repeat.
func TestLinesWithoutEarlierTurnsKeepTheirGrant(t *testing.T) {
	c, bad := parser(t).Parse([]byte(`{"original_request":"r","proposed_action":{"skill_name":"email.read"}}`))
	require.Nil(t, bad)
	require.Equal(t, "case-eea33b", c.Proposal.Grant.ID()[:11])
	other, bad := parser(t).Parse([]byte(`{"original_request":"r","earlier_requests":["one"],"proposed_action":{"skill_name":"email.read"}}`))
	require.Nil(t, bad)
	require.NotEqual(t, c.Proposal.Grant.ID(), other.Proposal.Grant.ID())
}

func TestEarlierTurnsAreStrict(t *testing.T) {
	for name, tc := range map[string]struct{ member, want string }{
		"no list":       {`"earlier_requests":"one"`, "earlier_requests must be a list"},
		"no string":     {`"earlier_requests":["one",7]`, "earlier_requests[1] must be a string"},
		"null in it":    {`"earlier_requests":[null]`, "earlier_requests[0] must be a string"},
		"misspelt":      {`"Earlier_Requests":["one"]`, `unknown key "Earlier_Requests"`},
		"a later turn":  {`"history":[{"skill_name":"email.read","turn":1}]`, "history[0].turn must be a whole number"},
		"half a turn":   {`"history":[{"skill_name":"email.read","turn":-0.5}]`, "history[0].turn must be a whole number"},
		"turn as text":  {`"history":[{"skill_name":"email.read","turn":"-1"}]`, "history[0].turn must be a number"},
		"far too old":   {`"history":[{"skill_name":"email.read","turn":-100000}]`, "history[0].turn must be a whole number"},
		"beyond an int": {`"history":[{"skill_name":"email.read","turn":-99999999999999999999}]`, "history[0].turn must be a whole number"},
	} {
		t.Run(name, func(t *testing.T) {
			_, bad := parser(t).Parse([]byte(`{` + tc.member + `,"proposed_action":{"skill_name":"email.read"}}`))
			require.NotNil(t, bad)
			require.Contains(t, bad.Message, tc.want)
		})
	}
}
