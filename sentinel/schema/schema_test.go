package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/schema"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

const params = `{"type":"object","required":["to","subject","body"],"additionalProperties":false,"properties":{
	"to":{"type":"string","format":"email"},"subject":{"type":"string","maxLength":80},"body":{"type":"string"},
	"tags":{"type":"array","items":{"type":"string"}},"a/b":{"type":"integer"},
	"meta":{"type":"object","additionalProperties":{"type":"string"},"properties":{"prio":{"enum":["low","high"]}}}}}`

func call(t testing.TB, name, args string) sentinel.Call {
	t.Helper()
	s, err := skills.Compile(skills.Spec{Name: "email.send", Effect: skills.Irreversible, Parameters: json.RawMessage(params)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a"})
	require.NoError(t, err)
	c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: name, Args: []byte(args), Grant: g})
	require.NoError(t, err)
	return c
}

func check(t testing.TB, c sentinel.Call) sentinel.Verdict {
	t.Helper()
	v, err := schema.New().Check(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, sentinel.GateSchema, v.Gate)
	return v
}

// Arguments that fit pass without a word.
func TestValid(t *testing.T) {
	v := check(t, call(t, "email.send", `{"to":"a@b.c","subject":"s","body":"b","tags":["x"],"meta":{"prio":"low","k":"v"}}`))
	require.Equal(t, sentinel.Verdict{Gate: "schema", State: sentinel.Judged, Outcome: sentinel.Allow}, v)
}

// An unknown skill has no schema to break: the gate doesn't judge, and what it
// answers must not read as an allow.
func TestUnknownSkillIsSkipped(t *testing.T) {
	for _, c := range []sentinel.Call{call(t, "no.such", `{}`), {}} {
		v := check(t, c)
		require.Equal(t, sentinel.Skipped, v.State)
		require.NotEqual(t, sentinel.Allow, v.Outcome)
		require.Empty(t, v.Code)
	}
}

// Every mistake is named at once, by place and keyword.
func TestInvalid(t *testing.T) {
	for _, tc := range []struct {
		args, reason string
		evidence     []sentinel.Evidence
	}{
		{`{"to":"nobody","subject":"s","body":5}`, "2 errors: /body type, /to format",
			[]sentinel.Evidence{{Signal: "type", Args: []string{"body"}}, {Signal: "format", Args: []string{"to"}}}},
		{`{"to":"a@b.c"}`, "1 error: arguments required", []sentinel.Evidence{{Signal: "required"}}},
		{`{"to":"a@b.c","subject":"s","body":"b","extra":1}`, "1 error: arguments additionalProperties",
			[]sentinel.Evidence{{Signal: "additionalProperties"}}},
		{`{"to":"a@b.c","subject":"s","body":"b","tags":["x",1]}`, "1 error: /tags/1 type",
			[]sentinel.Evidence{{Signal: "type", Args: []string{"tags"}}}},
		{`{"to":"a@b.c","subject":"s","body":"b","a/b":"x"}`, "1 error: /a~1b type",
			[]sentinel.Evidence{{Signal: "type", Args: []string{"a/b"}}}},
		{`{"to":"a@b.c","subject":"s","body":"b","meta":{"prio":"x"}}`, "1 error: /meta/prio enum",
			[]sentinel.Evidence{{Signal: "enum", Args: []string{"meta"}}}},
	} {
		v := check(t, call(t, "email.send", tc.args))
		require.Equal(t, sentinel.Deny, v.Outcome)
		require.Equal(t, sentinel.Judged, v.State)
		require.Equal(t, schema.CodeInvalid, v.Code)
		require.Equal(t, tc.reason, v.Reason)
		require.Equal(t, tc.evidence, v.Evidence)
		require.NotEmpty(t, v.Detail)
		require.Contains(t, v.WhatYouCanDo, "correct the arguments")
	}
}

// A flood of mistakes is counted in full and spelt out in part.
func TestFloodIsBounded(t *testing.T) {
	v := check(t, call(t, "email.send", `{"to":"a@b.c","subject":"s","body":"b","tags":[`+strings.Repeat("1,", 4999)+`1]}`))
	require.Contains(t, v.Reason, "5000 errors: ")
	require.Contains(t, v.Reason, fmt.Sprintf(" and %d more", 5000-schema.MaxListed))
	require.Len(t, v.Evidence, schema.MaxListed)
	require.LessOrEqual(t, len(v.Detail), schema.MaxDetail)
}

// Values and undeclared keys, at any depth, are in no part of the verdict that
// is recorded. A key of digits is as much the model's own as any other.
func TestNoValuesAreRecorded(t *testing.T) {
	const canary, number = "CANARY-7f3a", "4111111111111111"
	ok := `"to":"a@b.c","subject":"s","body":"b"`
	for _, args := range []string{
		`{"to":"` + canary + `","subject":"s","body":"b"}`,
		`{` + ok + `,"` + canary + `":1}`,
		`{` + ok + `,"meta":{"` + canary + `":1}}`,
		`{` + ok + `,"meta":{"` + number + `":1}}`,
		`{` + ok + `,"` + number + `":1}`,
		`{` + ok + `,"meta":{"` + number + `":{"` + canary + `":"` + canary + `"}}}`,
		`{` + ok + `,"meta":{"prio":"` + canary + `"}}`,
		`{` + ok + `,"tags":[{"` + number + `":"` + canary + `"}]}`,
	} {
		v := check(t, call(t, "email.send", args))
		require.Equal(t, schema.CodeInvalid, v.Code, args)
		b, err := json.Marshal([]any{v.Code, v.Reason, v.Evidence, v.Meta})
		require.NoError(t, err)
		require.NotContains(t, string(b), canary, args)
		require.NotContains(t, string(b), number, args)
	}
	b, err := json.Marshal(check(t, call(t, "canary-7f3a.x", `{"`+canary+`":1}`)))
	require.NoError(t, err)
	require.NotContains(t, strings.ToLower(string(b)), strings.ToLower(canary))
}

// BenchmarkCheck sets the gate beside the bare library's validation of the
// same arguments against the same schema.
func BenchmarkCheck(b *testing.B) {
	for _, kb := range []int{1, 10, 100} {
		args := `{"to":"a@b.c","subject":"s","body":"` + strings.Repeat("x", kb<<10) + `","tags":["a","b"],"meta":{"prio":"low","k":"v"}}`
		c := call(b, "email.send", args)
		b.Run(fmt.Sprintf("library/%dKB", kb), func(b *testing.B) {
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(params)))
			require.NoError(b, err)
			comp := jsonschema.NewCompiler()
			comp.AssertFormat()
			require.NoError(b, comp.AddResource("mem:///p", doc))
			s, err := comp.Compile("mem:///p")
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Validate(c.Parsed()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("gate/%dKB", kb), func(b *testing.B) {
			g := schema.New()
			b.ReportAllocs()
			for b.Loop() {
				if v, err := g.Check(b.Context(), c); err != nil || v.Outcome != sentinel.Allow {
					b.Fatal(v, err)
				}
			}
		})
	}
}
