package review_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// callWith is a call of a skill with these parameters.
func callWith(t *testing.T, params, args string) sentinel.Call {
	t.Helper()
	s, err := skills.Compile(skills.Spec{Name: "own.read", Effect: skills.Read, Reaches: skills.Self, Description: "d",
		Parameters: json.RawMessage(params)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	scope, err := skills.NewScope("own.*")
	require.NoError(t, err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", Mission: "m", MissionBy: sentinel.ByOrchestrator,
		Scope: scope})
	require.NoError(t, err)
	c, err := sentinel.NewCall(reg, touch.Env{Root: "/workspace", NoFS: true},
		sentinel.Proposal{Skill: "own.read", Args: []byte(args), Grant: g})
	require.NoError(t, err)
	return c
}

// No secret reaches the model, wherever the schema marks it and whatever else it is marked as.
// What is no secret beside it does.
func TestSecretsStayAtHome(t *testing.T) {
	for name, c := range map[string]struct{ params, args string }{
		"a declared path": {`{"type":"object","properties":{"k":{"type":"string","x-secret":true,"x-path":true},"p":{"type":"string",` +
			`"x-path":true}}}`, `{"k":"/workspace/topsecret/tok3n","p":"/workspace/shown"}`},
		"any path": {`{"type":"object","properties":{"p":{"type":"string","x-path":true}},"additionalProperties":{"type":"string",` +
			`"x-secret":true,"x-path":true}}`, `{"k":"/workspace/topsecret/tok3n","p":"/workspace/shown"}`},
		"by a pattern": {`{"type":"object","properties":{"p":{"type":"string","x-path":true}},` +
			`"patternProperties":{"^k":{"type":"string","x-secret":true,"x-path":true}}}`,
			`{"k1":"/workspace/topsecret/tok3n","p":"/workspace/shown"}`},
		"a path in an object": {`{"type":"object","properties":{"p":{"type":"string","x-path":true},"auth":{"type":"object","x-secret":true,` +
			`"additionalProperties":{"type":"string","x-path":true}}}}`, `{"auth":{"q":"/workspace/topsecret/tok3n"},"p":"/workspace/shown"}`},
		"a command": {`{"type":"object","properties":{"p":{"type":"string","x-path":true},"auth":{"type":"object","x-secret":true,` +
			`"additionalProperties":{"type":"string","x-shell":true}}}}`,
			`{"auth":{"q":"curl https://tok3n.hidden.example/x > topsecret"},"p":"/workspace/shown"}`},
		"an address": {`{"type":"object","properties":{"p":{"type":"string","x-path":true}},"additionalProperties":{"x-secret":true}}`,
			`{"auth":"topsecret@hidden.example","b":"https://tok3n.hidden.example/x","p":"/workspace/shown"}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
			check(t, gate(t, review.Options{}, s.URL), callWith(t, c.params, c.args))
			sent := string(s.requests()[0])
			require.NotContains(t, sent, "topsecret")
			require.NotContains(t, sent, "tok3n")
			require.Contains(t, sent, "read /workspace/shown")
		})
	}
}

// What people can't see stands in the question as an escape, the last of ASCII too.
func TestDeleteIsSeen(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	check(t, gate(t, review.Options{}, s.URL), call(t, proposal{skill: "self.read", args: "{\"note\":\"a\x7fb\"}"}))
	require.NotContains(t, string(s.requests()[0]), "\x7f")
	require.Contains(t, string(s.requests()[0]), `a\\u007fb`)
}

// An answer whose server doesn't tell what it took is estimated, in whichever
// way the model answers.
func TestUntoldIsEstimated(t *testing.T) {
	for _, way := range []string{"", llm.ViaJSONObject, llm.ViaTool} {
		t.Run(way, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
				if way == llm.ViaTool {
					callBack(w, "sentinel_decision", approves)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"choices":[{"finish_reason":"stop","message":{"content":"{\"decision\":\"approve\",\"reason\":\"fits\"}"}}]}`))
			})
			p := &clerk{}
			g := gate(t, review.Options{Purse: p, Models: []*llm.Client{client(t, llm.Config{BaseURL: s.URL, Schemaless: way})},
				Terms: map[string]review.Terms{"fast": {Price: review.Price{Input: 1_000_000, Output: 1_000_000}}}})
			require.Equal(t, sentinel.Allow, check(t, g, call(t, proposal{skill: "self.irreversible"})).Outcome)
			require.Len(t, p.slips, 1)
			spent := p.slips[0].spent
			require.Equal(t, int64(1), spent.Calls)
			require.Greater(t, spent.Tokens, int64(len(s.requests()[0])/8))
			require.Equal(t, spent.Tokens, spent.Cost)
		})
	}
}
