package cases_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// callMaker makes calls of no known skill.
type callMaker struct{ reg *skills.Registry }

func (m callMaker) NewCall(p sentinel.Proposal) (sentinel.Call, error) {
	return sentinel.NewCall(m.reg, touch.Env{NoFS: true}, p)
}

func parse(t *testing.T, line string) cases.Case {
	t.Helper()
	reg, err := skills.NewRegistry()
	require.NoError(t, err)
	c, perr := cases.Parser{Calls: callMaker{reg}}.Parse([]byte(line))
	require.Nil(t, perr)
	return c
}

// Earlier words and turns are read as they stand. A line without them keeps its grant's id,
// and each of them makes another one.
func TestEarlierTurns(t *testing.T) {
	line := func(earlier, turn string) string {
		return `{"id":"1","original_request":"go on",` + earlier + `"history":[{"skill_name":"a.b","result":"x","trust":"trusted"` + turn + `},` +
			`{"skill_name":"a.c","result":"y"}],"proposed_action":{"skill_name":"a.d"}}`
	}
	plain := parse(t, line("", ""))
	require.Empty(t, plain.Proposal.Grant.EarlierTurns())
	require.Equal(t, 2, plain.Proposal.Trace.Len())
	c := parse(t, line(`"earlier_requests":["first","","third"],`, `,"turn":-2`))
	require.Len(t, c.Proposal.Grant.EarlierTurns(), 3)
	require.Equal(t, "third", c.Proposal.Grant.EarlierTurns()[2].Words)
	require.Equal(t, 1, c.Proposal.Trace.Len(), "the entry of an earlier turn is no step of this one")
	require.True(t, c.Proposal.Grant.Tainted(), "an untrusted entry of any turn taints")
	request, _ := c.Proposal.Grant.Request()
	require.Equal(t, "go on", request, "earlier words are no request")

	ids := map[string]bool{}
	for _, other := range []string{line("", ""), line(`"earlier_requests":["a","b"],`, ""), line(`"earlier_requests":["b","a"],`, ""),
		line("", `,"turn":-1`), line("", `,"turn":-2`)} {
		ids[parse(t, other).Proposal.Grant.ID()] = true
	}
	require.Len(t, ids, 5)
	for _, same := range []string{line(`"earlier_requests":null,`, `,"turn":null`), line(`"earlier_requests":[],`, `,"turn":0`)} {
		require.Equal(t, plain.Proposal.Grant.ID(), parse(t, same).Proposal.Grant.ID())
	}
	require.Equal(t, "case-82c992de", parse(t, `{"proposed_action":{"skill_name":"a.d"}}`).Proposal.Grant.ID()[:13])
}
