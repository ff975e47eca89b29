package assembly_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// A rule of the configuration rewrites a call on its way through the whole
// house: the rewritten bytes run, one record holds both digests, and neither
// value is in the open anywhere. (Invariants 1, 2 and 7.)
func TestConfiguredRewrite(t *testing.T) {
	file := write(t, `judge: {threshold: 0, ask_below: 0}
permissions:
  - {id: calm, skill: note.add, then: modify, modify: [{set: loud, to: false}, {redact: text, text: CANARY-old, with: CANARY-new}]}
`)
	cfg, err := config.Load(file, config.Options{KnownSkills: []string{"note.add"}})
	require.NoError(t, err)
	var ran []string
	parts, err := assembly.Build(t.Context(), cfg, assembly.Options{Natives: []assembly.Native{{
		Spec: skills.Spec{Name: "note.add", Effect: skills.Create, Run: skills.Run{Kind: "native"}, Parameters: json.RawMessage(
			`{"type":"object","properties":{"text":{"type":"string","x-content":true},"loud":{"type":"boolean"}}}`)},
		Run: func(_ context.Context, o skills.Order) (skills.Result, error) {
			ran = append(ran, o.Args)
			return skills.Result{Content: "noted"}, nil
		},
	}}})
	require.NoError(t, err)
	scope, err := skills.NewScope("note.*")
	require.NoError(t, err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Turn: "t", Agent: "a", User: "u", Scope: scope})
	require.NoError(t, err)
	res, err := parts.Checkpoint.Desk(g).Invoke(t.Context(), "note.add", json.RawMessage(`{"text":"CANARY-old!","loud":true}`))
	require.NoError(t, err)
	require.Equal(t, []string{`{"loud":false,"text":"CANARY-new!"}`}, ran)
	require.Contains(t, res.Note, "(loud, text; by calm)")

	all, err := parts.Ledger.List(t.Context(), ledger.Query{Kind: "decision"})
	require.NoError(t, err)
	require.Len(t, all, 1)
	call := all[0].Call
	found, err := parts.Ledger.List(t.Context(), ledger.Query{Call: call})
	require.NoError(t, err)
	require.Len(t, found, 2, "the decision and its outcome, under the proposal's id")
	bodies := ""
	for _, r := range found {
		bodies += string(r.Body)
	}
	require.Contains(t, bodies, `"modified":{"call":"`+call+`","digest":"hmac:`)
	kept, err := parts.Journal.ByCall(t.Context(), call)
	require.NoError(t, err)
	sealed := map[string]string{}
	for _, v := range kept {
		sealed[v.Kind] = string(v.Data)
	}
	require.JSONEq(t, `{"text":"CANARY-old!","loud":true}`, sealed["proposed"])
	require.JSONEq(t, `{"text":"CANARY-new!","loud":false}`, sealed["args"])
	require.NoError(t, parts.Close())

	for _, name := range []string{"vedette.db", "vedette.db-wal"} {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(file), name))
		if err == nil {
			require.NotContains(t, string(b), "CANARY")
		}
	}
	require.FileExists(t, filepath.Join(filepath.Dir(file), "vedette.db"))
}
