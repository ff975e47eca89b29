package labelled_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/labelled"
)

// A case becomes an expectation that a configuration reads as it was, whatever its values are.
func TestWriteExpectation(t *testing.T) {
	t.Setenv("SECRET", "CANARY")
	evil := "a: b\n  - {x: y}\"'\\ ${SECRET} $${SECRET} $$${ \u202e\u2028 # no\x1b[2J </script>"
	args, err := json.Marshal(map[string]any{"to": evil, "n": 7})
	require.NoError(t, err)
	line, err := json.Marshal(map[string]any{
		"id": "r1", "original_request": evil, "agent_mission": evil, "agent_id": "mail", "user": "ann", "category": "ask",
		"proposed_action": map[string]any{"skill_name": "mail.send", "arguments": json.RawMessage(args)},
		"history": []any{
			map[string]any{"skill_name": "mail.read", "arguments": map[string]any{"id": evil}, "result": evil, "trust": "untrusted"},
		},
	})
	require.NoError(t, err)
	text, whole, err := labelled.WriteExpectation(line)
	require.NoError(t, err)
	require.True(t, whole)
	c, err := config.Parse("v.yaml", []byte("version: 1\ntests:\n"+text), config.Options{KnownSkills: []string{"mail.send", "mail.read"}})
	require.NoError(t, err, text)
	require.Len(t, c.Tests, 1)
	got := c.Tests[0]
	require.Equal(t, config.Action("ask"), got.Expect)
	require.Equal(t, evil, got.Request)
	require.Equal(t, evil, got.Mission)
	require.JSONEq(t, string(args), string(got.Call.Args))
	require.Equal(t, evil, got.History[0].Result)
	require.NotContains(t, text, "CANARY")

	line, err = json.Marshal(map[string]any{"id": "r2", "category": "deny", "earlier_requests": []string{"before"},
		"proposed_action": map[string]any{"skill_name": "mail.send", "arguments": map[string]any{}}})
	require.NoError(t, err)
	_, whole, err = labelled.WriteExpectation(line)
	require.NoError(t, err)
	require.False(t, whole, "a test knows no earlier turn")
	_, _, err = labelled.WriteExpectation([]byte("{"))
	require.Error(t, err)
}
