package sentinel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
)

// situationOf is what is kept of what the gates knew at the first record.
func situationOf(t *testing.T, b *bench) sentinel.Situation {
	t.Helper()
	rec := b.rec.records[0]
	values, parts := map[string][]byte{}, map[string][]byte{}
	for _, v := range rec.Values {
		values[v.Name] = v.Data
	}
	for _, p := range rec.Parts {
		parts[p.Ref] = p.Data
	}
	s, err := sentinel.RecallSituation(values, func(ref string) ([]byte, error) { return parts[ref], nil })
	require.NoError(t, err)
	return s
}

// With each decision the journal gets what the gates knew beside the arguments, and the ledger nothing of it.
func TestSituationIsKept(t *testing.T) {
	request := strings.Repeat("é", 5<<10)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", Request: &request, Mission: "CANARY-mission",
		MissionBy: sentinel.ByOrchestrator, Tainted: true, MissionTainted: true, Scope: scope(t, "test.do"),
		Earlier: []sentinel.EarlierTurn{{Words: "first"}, {Words: "second"}}})
	require.NoError(t, err)
	b := newBench(t, nil)
	_, err = b.Desk(g).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"bob@CANARY.test"}`))
	require.NoError(t, err)
	s := situationOf(t, b)
	require.Equal(t, []any{"CANARY-mission", sentinel.ByOrchestrator, true, request, "second"},
		[]any{s.Mission, s.MissionBy, s.MissionTainted, *s.Request, s.Before})
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
	for _, v := range b.rec.records[0].Values {
		if v.Name == sentinel.ValuePremises {
			require.NotContains(t, string(v.Data), "bob@b.test")
		}
	}
}

// What an earlier version kept of the situation is read, and what isn't there is not kept.
func TestSituationOfEarlierVersions(t *testing.T) {
	none := func(string) ([]byte, error) { return nil, sentinel.ErrNotKept }
	old := []byte(`{"v":1,"request":"do it","mission":"the mis…","mission_by":"orchestrator","mission_bytes":9000,"touches":[]}`)
	s, err := sentinel.RecallSituation(map[string][]byte{"situation": old, sentinel.ValuePremises: []byte(`{"v":1,"base":"x"}`)}, none)
	require.NoError(t, err)
	require.Equal(t, []any{"do it", "the mis…", 9000}, []any{*s.Request, s.Mission, s.MissionBytes})
	for _, values := range []map[string][]byte{nil, {sentinel.ValuePremises: []byte(`{"v":2,"base":"x"}`)}, {"situation": []byte("{")}} {
		_, err := sentinel.RecallSituation(values, none)
		require.ErrorIs(t, err, sentinel.ErrNotKept)
	}
}
