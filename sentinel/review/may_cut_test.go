package review_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// limit is the longest string that is always shown whole.
const limit = 8 << 10

// longCall is a call with one string of a given length under "it", a property
// with a given schema.
func longCall(t *testing.T, effect skills.Effect, property string, size int, o sentinel.GrantOptions) sentinel.Call {
	t.Helper()
	s, err := skills.Compile(skills.Spec{Name: "long.do", Effect: effect, Reaches: skills.Self,
		Parameters: json.RawMessage(`{"type":"object","additionalProperties":true,"properties":{"it":` + property + `}}`)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	o.ID, o.Conversation, o.Agent = "g", "c", "helper"
	g, err := sentinel.NewGrant(o)
	require.NoError(t, err)
	raw, err := json.Marshal(map[string]any{"it": padded(size)})
	require.NoError(t, err)
	c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: "long.do", Args: raw, Grant: g})
	require.NoError(t, err)
	return c
}

// padded hides a payload in the middle of harmless text.
func padded(size int) string {
	const payload = " PAYLOAD "
	half := strings.Repeat("x", (size-len(payload))/2)
	return half + payload + half + strings.Repeat("y", size-len(payload)-2*len(half))
}

// What is judged is what runs: a string is shown whole or the call is not asked
// about. Only x-content of a read is cut, and the cut is counted.
func TestNothingThatRunsIsCut(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	g := gate(t, review.Options{}, srv.URL)
	properties := map[string]string{
		"no annotation": `{"type":"string"}`, "shell": `{"type":"string","x-shell":true}`, "target": `{"type":"string","x-target":true}`,
		"path": `{"type":"string","x-path":true}`, "url": `{"type":"string","x-url":true}`, "content": `{"type":"string","x-content":true}`,
		"content and target":      `{"type":"string","x-content":true,"x-target":true}`,
		"content within a target": `{"x-target":true,"anyOf":[{"type":"string","x-content":true}]}`,
	}
	for name, property := range properties {
		for _, effect := range skills.Effects() {
			t.Run(name+"/"+string(effect), func(t *testing.T) {
				before := len(srv.requests())
				v := check(t, g, longCall(t, effect, property, limit, sentinel.GrantOptions{}))
				require.Equal(t, sentinel.Allow, v.Outcome, v.Reason)
				require.Contains(t, string(srv.requests()[before]), "PAYLOAD", "it fits")
				v = check(t, g, longCall(t, effect, property, limit+1, sentinel.GrantOptions{}))
				if name == "content" && effect == skills.Read {
					require.Equal(t, sentinel.Allow, v.Outcome, v.Reason)
					require.NotEqual(t, "0", string(userMessage(t, srv.requests()[before+1])["cut_bytes"]))
					return
				}
				require.Equal(t, "too_long", v.Meta["failure"])
				require.Equal(t, review.CodeUnjudgeable, v.Code)
				require.Equal(t, sentinel.Ask, v.Outcome)
				require.Len(t, srv.requests(), before+1)
			})
		}
	}
}

// What a call is held against is not cut either, but for reads.
func TestRequestAndMissionAreWhole(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	g := gate(t, review.Options{}, srv.URL)
	for name, o := range map[string]sentinel.GrantOptions{"request": {Request: ptr(padded(limit + 1))},
		"mission": {Mission: padded(limit + 1)}} {
		for _, effect := range skills.Effects() {
			v := check(t, g, longCall(t, effect, `{"type":"string"}`, 20, o))
			require.Equal(t, effect == skills.Read, v.Outcome == sentinel.Allow, "%s %s", name, effect)
		}
	}
}

// A secret is replaced, so its length hinders no call.
func TestLongSecretIsNotTooLong(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	v := check(t, gate(t, review.Options{}, srv.URL), longCall(t, skills.Modify, `{"type":"string","x-secret":true}`, 2*limit,
		sentinel.GrantOptions{}))
	require.Equal(t, sentinel.Allow, v.Outcome)
	require.NotContains(t, string(srv.requests()[0]), "PAYLOAD")
}

// What doesn't fit is not asked about.
func TestTooLongIsNotAsked(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	g := gate(t, review.Options{}, s.URL)
	many := map[string]string{}
	for i := range 40 {
		many[strings.Repeat("k", i+1)] = strings.Repeat("v", 1000)
	}
	raw, err := json.Marshal(many)
	require.NoError(t, err)
	for _, args := range []string{string(raw), `{"note":{"` + strings.Repeat("k", 201) + `":1}}`} {
		v := check(t, g, call(t, proposal{skill: "self.read", args: args}))
		require.Equal(t, "too_long", v.Meta["failure"])
		require.Equal(t, sentinel.Ask, v.Outcome)
		require.NotContains(t, v.Meta, "model")
	}
	require.Empty(t, s.requests())
}
