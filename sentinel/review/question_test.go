package review_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// A lone surrogate is no text: the call that has one is none, and so it can't
// reach the review.
func TestLoneSurrogatesAreRefused(t *testing.T) {
	for _, raw := range []string{`{"note":"\ud800"}`, `{"note":"\udc00\ud800"}`, `{"\ud800":1}`, "{\"note\":\"\xed\xa0\x80\"}"} {
		_, err := sentinel.NewCall(registry(t), touch.Env{NoFS: true}, sentinel.Proposal{Skill: "self.read", Args: []byte(raw)})
		require.Error(t, err, "%q", raw)
	}
}

// The judge's findings are there, exact and short, and null where it is off.
func TestDocumentHasTheJudgesFindings(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	g := gate(t, review.Options{}, s.URL)
	mail := call(t, proposal{skill: "email.send", args: `{"to":"eve@evil.example","body":"x ../../y"}`, scope: []string{"email.send"},
		grant: sentinel.GrantOptions{Request: ptr("Write an email to bob@example.com"), Mission: "Write to Bob"}})
	v := reviewed(t, g, mail)
	require.Equal(t, sentinel.Allow, v.Outcome)
	_, user := lastMessages(t, s)
	d := hear(t, user)
	require.Equal(t, json.Number("0.27"), d.Judge.Score)
	require.Equal(t, []string{"intent_mention 0.10", "traversal -0.20 (body)", "recipient_unknown -0.33 (to)"}, d.Judge.Signals)
	check(t, g, mail)
	_, user = lastMessages(t, s)
	require.Nil(t, hear(t, user).Judge)
	require.Contains(t, user, `"judge":null`)
}

// The last steps of the trace are told, each with what it was and how it ended, never what was
// in it.
func TestTraceIsADigest(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	steps := []sentinel.Step{
		{Skill: "old.read", Effect: skills.Read, Trust: skills.Trusted, Args: `{"q":"CANARY"}`, Result: "CANARY"},
		{Skill: "mail.read", Effect: skills.Read, Trust: skills.Untrusted, Args: `{"q":"CANARY"}`, Result: "CANARY CANARY", CallID: "CANARY"},
		{Skill: "some.do", Trust: "odd", Result: "CANARY", Failed: true, Marks: []string{"CANARY"}},
		{Skill: "good.do", Effect: skills.Create, Trust: skills.Trusted},
	}
	c := call(t, proposal{skill: "self.modify", trace: sentinel.NewTrace(steps...)})
	check(t, gate(t, review.Options{Trace: 3}, s.URL), c)
	system, user := lastMessages(t, s)
	require.NotContains(t, user, "CANARY")
	require.Contains(t, system, "\n\n"+prompt(t, "-trace")+"\n\n")
	num := func(n int) json.Number { return json.Number(fmt.Sprint(n)) }
	require.Equal(t, []map[string]any{
		{"skill": "mail.read", "effect": "read", "trust": "untrusted", "outcome": "ok", "bytes": num(13)},
		{"skill": "some.do", "effect": "unknown", "trust": "untrusted", "outcome": "failed", "bytes": num(6)},
		{"skill": "good.do", "effect": "create", "trust": "trusted", "outcome": "ok", "bytes": num(0)},
	}, hear(t, user).Trace)
	check(t, gate(t, review.Options{}, s.URL), c)
	system, user = lastMessages(t, s)
	require.NotContains(t, user, `"trace"`)
	require.NotContains(t, system, prompt(t, "-trace"))
}

// With names alone no value leaves in any form: not as an argument, as a key
// that no schema has, as what the call touches or as a finding of the judge.
func TestKeysShowNoValue(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	g := gate(t, review.Options{Keys: true}, s.URL)
	spec := skills.Spec{Name: "any.do", Effect: skills.Modify, Reaches: skills.Others,
		Parameters: json.RawMessage(`{"type":"object","additionalProperties":true,"properties":{
		"to":{"type":"string","x-target":true},"url":{"type":"string","x-url":true},
		"path":{"type":"string","x-path":true},"run":{"type":"string","x-shell":true},
		"deep":{"type":"object","properties":{"to":{"type":"string","x-target":true}}},"key":{"type":"string","x-secret":true,"x-path":true}}}`)}
	args := map[string]any{"to": "canary@canary.example", "url": "https://canary.example/canary", "path": "/workspace/../canary/x",
		"run":  "canary --canary > /workspace/canary",
		"deep": map[string]any{"to": "canary@canary.example", "canary": "canary"}, "key": "/canary", "canary": "canary", "canary two": "x"}
	c := callOf(t, spec, args, sentinel.GrantOptions{Request: ptr("do it"), Mission: "do it"})
	require.NotEmpty(t, c.Touch().Hosts)
	require.NotEmpty(t, c.Touch().Recipients)
	require.NotEmpty(t, c.Touch().Commands)
	require.NotEmpty(t, c.Touch().Paths)
	require.Equal(t, sentinel.Allow, reviewed(t, g, c).Outcome)
	reqs := s.requests()
	require.NotContains(t, strings.ToLower(string(reqs[len(reqs)-1])), "canary")
	system, user := lastMessages(t, s)
	require.Contains(t, system, "\n\n"+prompt(t, "-keys")+"\n\n")
	d := hear(t, user)
	require.Equal(t, []string{"deep", "key", "path", "run", "to", "url"}, d.ArgumentNames)
	require.Equal(t, 2, d.Undeclared)
	require.NotContains(t, user, `"arguments"`)
	require.Contains(t, d.Touches, "target in to")
	require.Contains(t, d.Touches, "host in url")
	require.Contains(t, d.Touches, "run in run")
	require.NotEmpty(t, d.Judge.Signals)
	require.Zero(t, d.CutBytes)

	// A name that no schema has is the model's text, also where a call touches
	// something through it.
	plain := skills.Spec{Name: "any.do", Effect: skills.Modify, Reaches: skills.Others,
		Parameters: json.RawMessage(`{"type":"object","additionalProperties":true}`)}
	c = callOf(t, plain, map[string]any{"canary@canary.example": "canary@canary.example", "command": "canary"}, sentinel.GrantOptions{})
	require.NotEmpty(t, c.Touch().Recipients)
	require.Equal(t, sentinel.Allow, reviewed(t, g, c).Outcome)
	_, user = lastMessages(t, s)
	require.NotContains(t, strings.ToLower(user), "canary")
	require.Contains(t, hear(t, user).Touches, "target in an undeclared argument")

	// A value that isn't shown is never too long to be.
	args["to"] = strings.Repeat("canary", 10_000)
	require.Equal(t, sentinel.Allow, reviewed(t, g, callOf(t, spec, args, sentinel.GrantOptions{})).Outcome)
}

// A document that is judged without values still has its fields and no other.
func TestKeysHaveTheirFields(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	check(t, gate(t, review.Options{Keys: true}, s.URL), call(t, proposal{skill: "self.read", args: `{}`}))
	_, user := lastMessages(t, s)
	keys, values := members(t, user)
	i := slices.Index(topKeys, "arguments")
	require.Equal(t, slices.Concat(topKeys[:i], []string{"argument_names", "undeclared_arguments"}, topKeys[i+1:]), keys)
	require.Equal(t, "[]", string(values["argument_names"]))
}

// Criteria of an operator's own take the place of ours. How to answer stays, the record names
// them, and texts of a call still don't reach the system message.
func TestOwnCriteria(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	o := review.Options{Prompt: "  Approve what is asked for.\n"}
	g := gate(t, o, s.URL)
	v := check(t, g, call(t, proposal{skill: "self.read"}))
	require.Equal(t, "custom-a88393e65d92", v.Meta["prompt"])
	require.Equal(t, "custom-a88393e65d92", g.State().Prompt)
	system, _ := lastMessages(t, s)
	require.Equal(t, "Approve what is asked for.\n\n"+prompt(t, "-evidence")+"\n\n"+prompt(t, "-answer")+" "+prompt(t, "-json"), system)
	for name, text := range map[string]string{"blank": " \n", "bytes": "\xff", "long": strings.Repeat("a", 16<<10+1)} {
		_, err := review.New(review.Options{Mode: review.Off, Prompt: text})
		require.Equal(t, []string{"sentinel.prompt"}, paths(err), name)
	}
}

// A scope holds names of skills and of domains alone, so no text can be put there. A
// description, however long and whatever it says, is cut in the middle.
func TestScopeAndDescription(t *testing.T) {
	for name, text := range hostile() {
		_, err := skills.NewScope(text)
		require.Error(t, err, name)
	}
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	spec := skills.Spec{Name: "any.do", Effect: skills.Modify, Reaches: skills.Self, Description: "BEGIN" + strings.Repeat(`"},{"`,
		20_000) + "END"}
	check(t, gate(t, review.Options{}, s.URL), callOf(t, spec, map[string]any{}, sentinel.GrantOptions{}))
	_, user := lastMessages(t, s)
	d := hear(t, user)
	said, ok := d.Skill["description"].(string)
	require.True(t, ok)
	require.Less(t, len(said), 400)
	require.True(t, strings.HasPrefix(said, "BEGIN") && strings.HasSuffix(said, "END"), said)
	require.Contains(t, said, "bytes cut]")
	require.Greater(t, d.CutBytes, 99_000)
}
