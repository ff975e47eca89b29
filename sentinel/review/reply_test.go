package review_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// A graded answer has a score in the record. An approval that isn't sure enough is refused
// under a code of its own.
func TestGraded(t *testing.T) {
	for content, want := range map[string]struct {
		outcome sentinel.Outcome
		code    string
		score   int
	}{
		`{"decision":"approve","should_run":0.70,"reason":"fits"}`:  {sentinel.Allow, "", 70},
		`{"decision":"approve","should_run":0.699,"reason":"fits"}`: {sentinel.Deny, review.CodeUnsure, 69},
		`{"decision":"reject","should_run":0.05,"reason":"no"}`:     {sentinel.Deny, review.CodeRejected, 5},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, content) })
		v := check(t, gate(t, review.Options{Graded: true, RejectBelow: 70}, s.URL), call(t, proposal{skill: "self.modify"}))
		require.Equal(t, want.outcome, v.Outcome, content)
		require.Equal(t, want.code, v.Code)
		require.True(t, v.HasScore)
		require.Equal(t, want.score, v.Score)
		require.NotEmpty(t, v.Detail)
		require.NotContains(t, v.Reason, v.Detail)
		require.Equal(t, schemaOf(t, "-graded"), responseSchema(t, s))
	}
	low := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		say(w, `{"decision":"approve","should_run":0.5,"reason":"fits"}`)
	})
	for bound, want := range map[int]sentinel.Outcome{0: sentinel.Allow, 51: sentinel.Deny, -1: sentinel.Allow} {
		v := check(t, gate(t, review.Options{Graded: true, RejectBelow: bound}, low.URL), call(t, proposal{skill: "self.read"}))
		require.Equal(t, want, v.Outcome, bound)
	}
	v := check(t, gate(t, review.Options{}, play(t, `rules: [{reply: {content: '`+approves+`'}}]`).BaseURL()),
		call(t, proposal{skill: "self.read"}))
	require.False(t, v.HasScore, "a binary answer has none")
}

// An answer whose number speaks against its decision is none: the model is asked once more, and
// then the call is unjudgeable, under a failure of its own that is counted.
func TestGradedAnswersThatContradictThemselves(t *testing.T) {
	for content, want := range map[string]sentinel.Outcome{
		`{"decision":"reject","should_run":0.95,"reason":"no"}`:    sentinel.Ask,
		`{"decision":"approve","should_run":0.05,"reason":"fits"}`: sentinel.Ask,
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, content) })
		g := gate(t, review.Options{Graded: true}, s.URL)
		v := check(t, g, call(t, proposal{skill: "self.modify"}))
		require.Equal(t, want, v.Outcome)
		require.Equal(t, review.CodeUnjudgeable, v.Code)
		require.Equal(t, "contradiction", v.Meta["failure"])
		require.Len(t, s.requests(), 2)
		require.Equal(t, uint64(1), g.State().Stats.Failures[review.Contradiction])
	}
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		say(w, []string{`{"decision":"reject","should_run":0.95,"reason":"no"}`, `{"decision":"reject","should_run":0.05,"reason":"no"}`}[n-1])
	})
	v := check(t, gate(t, review.Options{Graded: true}, s.URL), call(t, proposal{skill: "self.modify"}))
	require.Equal(t, review.CodeRejected, v.Code)
	require.Equal(t, 5, v.Score)
	require.Equal(t, "contradiction", v.Meta["repaired"])
	_, again := lastMessages(t, s)
	require.NotContains(t, again, "0.95", "its own answer is not sent back")
}

// A reasoning is asked for before the decision and kept nowhere.
func TestReasoning(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		say(w, `{"reasoning":"CANARY","decision":"reject","reason":"no"}`)
	})
	v := check(t, gate(t, review.Options{Reasoning: true}, s.URL), call(t, proposal{skill: "self.read"}))
	require.Equal(t, sentinel.Deny, v.Outcome)
	require.NotContains(t, fmt.Sprintf("%+v", v), "CANARY")
	require.Equal(t, schemaOf(t, "-reasoning"), responseSchema(t, s))
	require.Less(t, strings.Index(schemaOf(t, "-reasoning"), `"reasoning":`), strings.Index(schemaOf(t, "-reasoning"), `"decision":`))
	var body struct {
		Max int `json:"max_completion_tokens"`
	}
	require.NoError(t, json.Unmarshal(s.requests()[0], &body))
	require.Equal(t, 400, body.Max)
}

// schemaOf is one of the answer's schemas.
func schemaOf(t testing.TB, part string) string {
	t.Helper()
	b, err := os.ReadFile("prompts/schema" + part + ".json")
	require.NoError(t, err)
	return strings.TrimSpace(string(b))
}

// responseSchema is the schema of the newest request, byte for byte.
func responseSchema(t testing.TB, s *server) string {
	t.Helper()
	var body struct {
		Format struct {
			Schema struct {
				Strict bool            `json:"strict"`
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	reqs := s.requests()
	require.NoError(t, json.Unmarshal(reqs[len(reqs)-1], &body))
	require.True(t, body.Format.Schema.Strict)
	return string(body.Format.Schema.Schema)
}

// callBack answers by a tool call.
func callBack(w http.ResponseWriter, name, arguments string) {
	b, err := json.Marshal(map[string]any{"choices": []any{map[string]any{
		"index": 0, "finish_reason": "tool_calls", "message": map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{
			map[string]any{"id": "c1", "type": "function", "function": map[string]any{"name": name, "arguments": arguments}},
		}},
	}}})
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}

// A model without json_schema is asked in the way it was declared to take. Its answer is read
// as strictly, and the record says how it came about.
func TestSchemaless(t *testing.T) {
	ask := func(t *testing.T, way string, o review.Options, h func(w http.ResponseWriter, r *http.Request, n int)) (*server,
		sentinel.Verdict) {
		s := serve(t, h)
		o.Models = []*llm.Client{client(t, llm.Config{BaseURL: s.URL, Schemaless: way})}
		g, err := review.New(o)
		require.NoError(t, err)
		return s, check(t, g, call(t, proposal{skill: "self.modify"}))
	}
	t.Run("tool", func(t *testing.T) {
		s, v := ask(t, llm.ViaTool, review.Options{},
			func(w http.ResponseWriter, _ *http.Request, _ int) { callBack(w, "sentinel_decision", approves) })
		require.Equal(t, sentinel.Allow, v.Outcome)
		require.Equal(t, "tool", v.Meta["answer"])
		var body struct {
			Format json.RawMessage `json:"response_format"`
			Tools  []struct {
				Function struct {
					Name       string          `json:"name"`
					Parameters json.RawMessage `json:"parameters"`
				} `json:"function"`
			} `json:"tools"`
			Choice json.RawMessage `json:"tool_choice"`
		}
		require.NoError(t, json.Unmarshal(s.requests()[0], &body))
		require.Nil(t, body.Format)
		require.Len(t, body.Tools, 1)
		require.Equal(t, schemaOf(t, ""), string(body.Tools[0].Function.Parameters))
		require.JSONEq(t, `{"type":"function","function":{"name":"sentinel_decision"}}`, string(body.Choice))
		system, _ := lastMessages(t, s)
		require.Equal(t, prompt(t, "")+"\n\n"+prompt(t, "-evidence")+"\n\n"+prompt(t, "-answer")+" "+prompt(t, "-tool"), system)
	})
	t.Run("tool, graded", func(t *testing.T) {
		_, v := ask(t, llm.ViaTool, review.Options{Graded: true, RejectBelow: 70}, func(w http.ResponseWriter, _ *http.Request, _ int) {
			callBack(w, "sentinel_decision", `{"decision":"approve","should_run":0.6,"reason":"x"}`)
		})
		require.Equal(t, review.CodeUnsure, v.Code)
	})
	t.Run("tool, content instead", func(t *testing.T) {
		s, v := ask(t, llm.ViaTool, review.Options{}, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
		require.Equal(t, review.CodeUnjudgeable, v.Code)
		require.Equal(t, "bad_shape", v.Meta["failure"])
		require.Equal(t, "tool", v.Meta["answer"])
		require.Len(t, s.requests(), 2)
	})
	t.Run("tool, another function", func(t *testing.T) {
		_, v := ask(t, llm.ViaTool, review.Options{}, func(w http.ResponseWriter, _ *http.Request, _ int) { callBack(w, "approve", approves) })
		require.Equal(t, "bad_shape", v.Meta["failure"])
	})
	t.Run("json_object", func(t *testing.T) {
		s, v := ask(t, llm.ViaJSONObject, review.Options{Graded: true, Reasoning: true}, func(w http.ResponseWriter, _ *http.Request, n int) {
			if n == 1 {
				say(w, `{"result":"yes"}`)
				return
			}
			say(w, `{"reasoning":"r","decision":"approve","should_run":0.9,"reason":"x"}`)
		})
		require.Equal(t, sentinel.Allow, v.Outcome)
		require.Equal(t, "json_object", v.Meta["answer"])
		require.Equal(t, "fields", v.Meta["repaired"])
		var body map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(s.requests()[0], &body))
		require.JSONEq(t, `{"type":"json_object"}`, string(body["response_format"]))
		m := decode(t, s.requests()[0]).Messages
		require.True(t, strings.HasSuffix(m[0].Content, prompt(t, "-object")+"\n"+schemaOf(t, "-graded-reasoning")))
	})
	t.Run("json_schema needs no mark", func(t *testing.T) {
		_, v := ask(t, "", review.Options{}, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
		require.NotContains(t, v.Meta, "answer")
	})
}

// A repaired answer is counted by what was wrong with the first.
func TestRepairsAreCounted(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n%2 == 1 {
			say(w, "```json\n"+approves+"\n```")
			return
		}
		say(w, approves)
	})
	g := gate(t, review.Options{}, s.URL)
	for range 3 {
		require.Equal(t, "fenced", check(t, g, call(t, proposal{skill: "self.read"})).Meta["repaired"])
	}
	require.Equal(t, map[review.Failure]uint64{review.Fenced: 3}, g.State().Stats.Repaired)
	require.Empty(t, g.State().Stats.Failures)
}

// The schemas in the repository hold the properties in the order in which they are to be
// written. All of them are required, and no other is allowed.
func TestSchemas(t *testing.T) {
	for part, want := range map[string][]string{
		"": {"decision", "reason"}, "-reasoning": {"reasoning", "decision", "reason"},
		"-graded": {"decision", "should_run", "reason"}, "-graded-reasoning": {"reasoning", "decision", "should_run", "reason"},
	} {
		_, values := members(t, schemaOf(t, part))
		properties, _ := members(t, string(values["properties"]))
		require.Equal(t, want, properties)
		var required []string
		require.NoError(t, json.Unmarshal(values["required"], &required))
		require.Equal(t, want, required)
		require.Equal(t, "false", string(values["additionalProperties"]))
		require.False(t, bytes.Contains([]byte(schemaOf(t, part)), []byte("maxLength")), "strict servers refuse it")
		require.Equal(t, []string{"additionalProperties", "properties", "required", "type"}, slices.Sorted(maps.Keys(values)))
	}
}
