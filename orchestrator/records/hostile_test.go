package records_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// Whatever stands in the columns and the reasons of records, no control character, no line of its own and no invisible
// character reaches a terminal or a file: neither by what shows one nor by statistics and exports.
func TestHostileColumns(t *testing.T) {
	s := recordCalls(t, 1)
	const bad = "x\u202e\u200b\u2066 </b>=cmd|'|,\";"
	e := ledger.Entry{ID: "evil1", Time: time.Now(), Kind: "decision", Call: bad, Decision: bad, Conversation: bad, User: bad, Agent: bad,
		Skill: bad, Outcome: "deny", Gate: bad, Code: bad}
	e.Body = []byte(`{"reason":"` + strings.Repeat("A", 200<<10) + `\u001b[2J\u0007\r\nid00001  allow\u202e\u2028","effect":"` +
		`\u001b[2J\n","approver":"\u009b31m","gates":[{"gate":"\u001b[2J\n","outcome":"\u202e","code":"\n"}]}`)
	appendRecords(t, s, e)
	outputs := map[string]string{}
	var text strings.Builder
	f, err := s.Find(t.Context(), "evil1")
	require.NoError(t, err)
	require.NoError(t, f.WriteText(&text, false))
	outputs["show"] = text.String()
	stats, err := records.Count(t.Context(), s, query.Query{})
	require.NoError(t, err)
	text.Reset()
	require.NoError(t, stats.WriteText(&text, false))
	outputs["stats"] = text.String()
	for _, format := range []string{query.FormatJSONL, query.FormatCSV, query.FormatOCSF} {
		text.Reset()
		w, err := query.NewWriter(format, &text)
		require.NoError(t, err)
		_, err = records.Export(t.Context(), s, query.Query{}, w)
		require.NoError(t, err)
		outputs[format] = text.String()
	}
	for name, out := range outputs {
		require.True(t, utf8.ValidString(out), name)
		require.NotEmpty(t, out, name)
		for _, r := range "\x1b\x07\r\u009b\u202e\u200b\u2066\u2028" {
			require.False(t, strings.ContainsRune(out, r), "%s has %U", name, r)
		}
		require.NotContains(t, out, "\nid00001  allow", name)
	}
}
