package sentinel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
)

// situationOf is what the first record's values hold of the situation.
func situationOf(t *testing.T, b *bench) (out sentinel.Situation) {
	t.Helper()
	for _, v := range b.rec.records[0].Values {
		if v.Name == sentinel.ValueSituation {
			require.NoError(t, json.Unmarshal(v.Data, &out))
		}
	}
	require.Equal(t, 1, out.V)
	return out
}

// With each decision the journal gets what the gates knew beside the arguments, and the ledger nothing of it.
func TestSituationIsKept(t *testing.T) {
	request := strings.Repeat("é", 5<<10)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", Request: &request, Mission: "CANARY-mission",
		MissionBy: sentinel.ByOrchestrator, Tainted: true, MissionTainted: true, Scope: scope(t, "test.do")})
	require.NoError(t, err)
	b := newBench(t, nil)
	_, err = b.Desk(g).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"bob@CANARY.test"}`))
	require.NoError(t, err)
	s := situationOf(t, b)
	require.Equal(t, []any{"CANARY-mission", sentinel.ByOrchestrator, true, 10 << 10, 8<<10 + len("…")},
		[]any{s.Mission, s.MissionBy, s.MissionTainted, s.RequestBytes, len(*s.Request)})
	require.NotEmpty(t, s.Touches)
	require.NotContains(t, string(b.rec.records[0].Body), "CANARY")
}

// A call that comes without a person's request says so. What a malformed call would touch isn't kept.
func TestSituationOfMalformedCall(t *testing.T) {
	bad := says(sentinel.GateSchema, sentinel.Refuse("schema.invalid", "no"))
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", Scope: scope(t, "test.do")})
	require.NoError(t, err)
	b := newBench(t, nil, bad)
	_, err = b.Desk(g).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"bob@b.test","keey":"HIDDEN"}`))
	require.Error(t, err)
	s := situationOf(t, b)
	require.Nil(t, s.Request)
	require.Empty(t, s.Touches)
}
