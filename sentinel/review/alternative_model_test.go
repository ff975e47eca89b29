package review_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// The alternative fast model plays the sentinel's role under its own name, its maker's in
// front, behind the usual one: through a server that holds answers to a schema, and through
// one that takes response_format and ignores it, where a forced tool call holds the answer's
// shape.
func TestAlternativeFastModel(t *testing.T) {
	const name = "anthropic/claude-haiku-4-5"
	bySchema := `{content: '` + rejects + `'}`
	fenced := "{content: \"```json\\n" + strings.ReplaceAll(approves, `"`, `\"`) + "\\n```\"}"
	byTool := `{tool_calls: [{name: sentinel_decision, arguments: '` + rejects + `'}]}`
	for title, tc := range map[string]struct {
		reply, way   string
		outcome      sentinel.Outcome
		failure      string
		asked        int
		format       string
		forced, told string
	}{
		"a server that knows schemas": {reply: bySchema, outcome: sentinel.Deny, asked: 1, format: "json_schema"},
		"one that ignores them":       {reply: fenced, outcome: sentinel.Ask, failure: "fenced", asked: 2, format: "json_schema"},
		"the same, by a forced call": {reply: byTool, way: llm.ViaTool, outcome: sentinel.Deny, asked: 1, format: "text",
			forced: "sentinel_decision", told: llm.ViaTool},
	} {
		t.Run(title, func(t *testing.T) {
			s, err := scripted.Load([]byte("models: [" + name + "]\nrules: [{reply: " + tc.reply + "}]"))
			require.NoError(t, err)
			srv, err := scripted.Serve(t.Context(), s, scripted.Options{})
			require.NoError(t, err)
			t.Cleanup(srv.Close)
			roster, err := llm.NewRoster(llm.RosterConfig{
				Models: map[string]llm.Config{
					"fast":  {Model: "gpt-5-mini", BaseURL: closedPort(t), Reasoning: true},
					"haiku": {Model: name, BaseURL: srv.BaseURL(), Context: 200_000, Schemaless: tc.way},
				},
				Roles: map[string][]string{"sentinel": {"fast", "haiku"}},
			})
			require.NoError(t, err)
			t.Cleanup(roster.Close)
			chain, err := roster.ForRole("sentinel")
			require.NoError(t, err)
			g, err := review.New(review.Options{Models: chain})
			require.NoError(t, err)
			v := check(t, g, call(t, proposal{skill: "self.read"}))
			require.Equal(t, tc.outcome, v.Outcome)
			require.Equal(t, tc.failure, v.Meta["failure"])
			require.Equal(t, "haiku", v.Meta["model"])
			require.Equal(t, tc.told, v.Meta["answer"])
			got := srv.Received()
			require.Len(t, got, tc.asked)
			require.Equal(t, []string{name, tc.format, tc.forced}, []string{got[0].Model, got[0].Format, got[0].Choice})
			var body map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(got[0].Body, &body))
			require.Equal(t, []string{"0", "150"}, []string{string(body["temperature"]), string(body["max_completion_tokens"])})
		})
	}
}
