package judge_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

const anything = `{"type":"object","additionalProperties":true,"properties":{
	"path":{"type":"string"},"more":{"type":"object"},"list":{"type":"array"},"reply-to":{"type":"string"}}}`

func registry(t testing.TB) *skills.Registry {
	t.Helper()
	var list []*skills.Skill
	for name, e := range map[string]skills.Effect{
		"fs.read": skills.Modify, "notes.read": skills.Read, "do.it_big-thing": skills.Modify, "shop.buy": skills.CostsMoney,
	} {
		s, err := skills.Compile(skills.Spec{Name: name, Effect: e, Parameters: json.RawMessage(anything)})
		require.NoError(t, err)
		list = append(list, s)
	}
	r, err := skills.NewRegistry(list...)
	require.NoError(t, err)
	return r
}

// call has no request where request is empty.
func call(t testing.TB, skill, args, request string) sentinel.Call {
	t.Helper()
	o := sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", Mission: "read, buy and do everything"}
	if request != "" {
		o.Request = &request
	}
	g, err := sentinel.NewGrant(o)
	require.NoError(t, err)
	c, err := sentinel.NewCall(registry(t), touch.Env{NoFS: true}, sentinel.Proposal{Skill: skill, Args: []byte(args), Grant: g})
	require.NoError(t, err)
	return c
}

// check uses the first four signals alone; decide uses all of them.
func check(t testing.TB, o judge.Options, c sentinel.Call) sentinel.Verdict {
	t.Helper()
	o.SeedOnly = true
	return decide(t, o, c)
}

func decide(t testing.TB, o judge.Options, c sentinel.Call) sentinel.Verdict {
	t.Helper()
	g, err := judge.New(o)
	require.NoError(t, err)
	v, err := g.Check(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, sentinel.GateJudge, v.Gate)
	require.Equal(t, sentinel.Judged, v.State)
	require.True(t, v.HasScore)
	require.Equal(t, map[string]string{"judge_kind": judge.Kind}, v.Meta)
	return v
}

// outcomeByRules is what a verdict comes to where no model judges: its doubt counts.
func outcomeByRules(v sentinel.Verdict) sentinel.Outcome {
	if v.Doubt != nil {
		return min(v.Outcome, v.Doubt.Outcome)
	}
	return v.Outcome
}

func score(t testing.TB, skill, args, request string) int {
	t.Helper()
	return check(t, judge.Options{}, call(t, skill, args, request)).Score
}

// The two worked examples: a plain path that the request speaks of, and one
// that climbs. Both pass, each with its note.
func TestWorkedExamples(t *testing.T) {
	v := check(t, judge.Options{}, call(t, "fs.read", `{"path":"/tmp/n.txt"}`, "read my notes in /tmp/n.txt"))
	require.Equal(t, sentinel.Allow, v.Outcome)
	require.Equal(t, 80, v.Score)
	require.Equal(t, "score 0.80 >= threshold 0.30 (base 0.70, intent_mention +0.10)", v.Reason)
	require.Equal(t, []sentinel.Evidence{{Signal: judge.SignalIntentMention, Amount: 10}}, v.Evidence)

	v = check(t, judge.Options{}, call(t, "fs.read", `{"path":"/tmp/../etc/foo"}`, "look after it"))
	require.Equal(t, sentinel.Allow, v.Outcome)
	require.Equal(t, 50, v.Score)
	require.Equal(t, "score 0.50 >= threshold 0.30 (base 0.70, traversal -0.20)", v.Reason)
	require.Equal(t, []sentinel.Evidence{{Signal: judge.SignalTraversal, Amount: -20, Args: []string{"path"}}}, v.Evidence)
}

// The plain case of a harmless path: allowed, with a score within bounds.
func TestPlainPathIsAllowed(t *testing.T) {
	v := check(t, judge.Options{}, call(t, "fs.read", `{"path":"/tmp/x"}`, "have a look"))
	require.Equal(t, sentinel.Allow, v.Outcome)
	require.Empty(t, v.Code)
	require.Equal(t, judge.Base, v.Score)
}

// A request that mentions the skill scores higher than one that doesn't.
func TestIntentMentionRaises(t *testing.T) {
	require.Greater(t, score(t, "fs.read", `{"path":"/tmp/x"}`, "please read this"),
		score(t, "fs.read", `{"path":"/tmp/x"}`, "please look at this"))
}

// A path that climbs scores lower than a harmless one.
func TestPathTraversalLowers(t *testing.T) {
	require.Less(t, score(t, "fs.read", `{"path":"/tmp/../etc"}`, ""), score(t, "fs.read", `{"path":"/tmp/etc"}`, ""))
}

// A threshold of 0.99 denies anything, also the best call there is.
func TestHighThresholdDeniesAnything(t *testing.T) {
	for _, c := range []sentinel.Call{
		call(t, "notes.read", `{"path":"/tmp/x"}`, "read my notes"),
		call(t, "shop.buy", `{}`, ""), call(t, "no.such", `{}`, ""), {},
	} {
		v := check(t, judge.Options{Threshold: 99}, c)
		require.Equal(t, sentinel.Deny, v.Outcome)
		require.Equal(t, judge.CodeBelowThreshold, v.Code)
		require.Contains(t, v.Reason, "< threshold 0.99 (base 0.70")
		require.NotEmpty(t, v.WhatYouCanDo)
	}
}

// Whole words of the user's own request count, in any case, from three letters
// on; the mission never counts.
func TestIntentMention(t *testing.T) {
	for _, tc := range []struct {
		skill, request string
		found          bool
	}{
		{"fs.read", "READ it", true},
		{"fs.read", "(read)", true},
		{"fs.read", "ready", false},
		{"fs.read", "bread", false},
		{"fs.read", "the fs", false},
		{"fs.read", "", false},
		{"do.it_big-thing", "do it", false},
		{"do.it_big-thing", "the big one", true},
		{"do.it_big-thing", "some thing", true},
		{"do.it_big-thing", "something", false},
		{"no.such", "no such thing", false},
	} {
		v := check(t, judge.Options{}, call(t, tc.skill, `{}`, tc.request))
		require.Equal(t, tc.found, v.Score == judge.Base+10, "%s: %q", tc.skill, tc.request)
	}
}

// Every string counts, at any depth, with either separator.
func TestTraversal(t *testing.T) {
	for args, declared := range map[string][]string{
		`{"path":"../x"}`:                        {"path"},
		`{"path":"a\\..\\b"}`:                    {"path"},
		`{"more":{"deep":["ok",{"p":"/a/.."}]}}`: {"more"},
		`{"list":["x","../y"],"path":"/../"}`:    {"list", "path"},
		`{"other":"../x"}`:                       nil,
	} {
		v := check(t, judge.Options{}, call(t, "shop.buy", args, ""))
		require.Equal(t, []sentinel.Evidence{{Signal: judge.SignalTraversal, Amount: -20, Args: declared}}, v.Evidence, args)
	}
	for _, args := range []string{`{"path":"a..b"}`, `{"path":"/a/b"}`, `{"path":"..","list":["/"]}`, `{"../x":1}`} {
		for _, e := range check(t, judge.Options{}, call(t, "shop.buy", args, "")).Evidence {
			require.NotEqual(t, judge.SignalTraversal, e.Signal, args)
		}
	}
}

// A key that no schema should have counts once, at any depth; an undeclared
// one is not named.
func TestOddKey(t *testing.T) {
	for args, declared := range map[string][]string{
		`{"reply-to":"x"}`:                      {"reply-to"},
		`{"a b":1,"c d":2}`:                     nil,
		`{"":1}`:                                nil,
		`{"1a":1}`:                              nil,
		`{"p\u0430th":1}`:                       nil, // a Cyrillic letter
		`{"a\u3164":1}`:                         nil, // a letter that isn't seen
		`{"\u200bpath":1}`:                      nil,
		`{"more":{"x":[{"__proto__ ":1}]}}`:     {"more"},
		`{"list":[{"ok":1},{"$where":"x"}]}`:    {"list"},
		`{"more":{"o.k":1},"list":[{"o.k":2}]}`: {"list", "more"},
	} {
		v := check(t, judge.Options{}, call(t, "shop.buy", args, ""))
		require.Equal(t, []sentinel.Evidence{{Signal: judge.SignalOddKey, Amount: -10, Args: declared}}, v.Evidence, args)
	}
	for _, args := range []string{`{"_a":1,"A9":{"b_2":[{"Z":1}]}}`, `{"pfadä":1}`, `{"имя":1,"名前":{"नाम_2":1}}`} {
		require.Empty(t, check(t, judge.Options{}, call(t, "shop.buy", args, "")).Evidence, args)
	}
}

// A read starts a little higher, and all signals add up to the recorded score. For the
// outcome a mention makes up for doubts alone.
func TestSum(t *testing.T) {
	v := check(t, judge.Options{}, call(t, "notes.read", `{"a b":"../x"}`, "my notes"))
	require.Equal(t, 55, v.Score)
	require.Equal(t, sentinel.Ask, v.Outcome)
	require.Equal(t, "score 0.45 < ask_below 0.50 (base 0.70, traversal -0.20, odd_key -0.10, read_only +0.05); "+
		"for doubts alone: intent_mention +0.10", v.Reason)
	v = check(t, judge.Options{}, call(t, "notes.read", `{"a":"../x"}`, "my notes"))
	require.Equal(t, "score 0.65 >= threshold 0.30 (base 0.70, intent_mention +0.10, traversal -0.20, read_only +0.05)", v.Reason)
}

// Between the two thresholds a person is asked; each has a default, a zero of
// its own and bounds.
func TestThresholds(t *testing.T) {
	c := call(t, "shop.buy", `{"a b":"../x"}`, "") // 0.40
	for _, tc := range []struct {
		o      judge.Options
		want   sentinel.Outcome
		code   string
		reason string
	}{
		{judge.Options{}, sentinel.Ask, judge.CodeAskBelow, "score 0.40 < ask_below 0.50 (base 0.70, traversal -0.20, odd_key -0.10)"},
		{judge.Options{AskBelow: 40}, sentinel.Allow, "", "score 0.40 >= threshold 0.30 (base 0.70, traversal -0.20, odd_key -0.10)"},
		{judge.Options{Threshold: 41}, sentinel.Deny, judge.CodeBelowThreshold,
			"score 0.40 < threshold 0.41 (base 0.70, traversal -0.20, odd_key -0.10)"},
		{judge.Options{Threshold: 40}, sentinel.Ask, judge.CodeAskBelow,
			"score 0.40 < ask_below 0.50 (base 0.70, traversal -0.20, odd_key -0.10)"},
		{judge.Options{AskBelow: judge.Off}, sentinel.Allow, "", "score 0.40 >= threshold 0.30 (base 0.70, traversal -0.20, odd_key -0.10)"},
		{judge.Options{Threshold: judge.Off, AskBelow: judge.Off}, sentinel.Allow, "",
			"score 0.40 >= threshold 0.00 (base 0.70, traversal -0.20, odd_key -0.10)"},
		{judge.Options{Threshold: 100}, sentinel.Deny, judge.CodeBelowThreshold,
			"score 0.40 < threshold 1.00 (base 0.70, traversal -0.20, odd_key -0.10)"},
	} {
		v := check(t, tc.o, c)
		require.Equal(t, tc.want, v.Outcome, "%+v", tc.o)
		require.Equal(t, tc.code, v.Code)
		require.Equal(t, tc.reason, v.Reason)
	}
	for path, o := range map[string]judge.Options{
		"judge.threshold": {Threshold: 101}, "judge.ask_below": {AskBelow: -2},
	} {
		_, err := judge.New(o)
		var pe *skills.PathError
		require.ErrorAs(t, err, &pe)
		require.Equal(t, path, pe.Path)
	}
	t.Run("a gate that New did not make denies", func(t *testing.T) {
		v, err := (&judge.Gate{}).Check(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, sentinel.Deny, v.Outcome)
		require.True(t, v.HasScore)
	})
}

// Padding buys nothing: one more argument, wherever it is put, never raises a
// score, and the score always lies between 0 and 1.
func TestAddingAnArgumentNeverRaises(t *testing.T) {
	text := rapid.SampledFrom([]string{"x", "../y", `a\..\b`, "read", "/tmp", "..", "notes buy", ""})
	key := rapid.OneOf(rapid.SampledFrom([]string{"path", "more", "list", "reply-to", "a b", "read", "__proto__", ""}),
		rapid.StringN(0, 6, 24))
	value := rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return map[string]any{key.Draw(t, "inner"): text.Draw(t, "deep")}
		case 1:
			return []any{text.Draw(t, "item"), map[string]any{key.Draw(t, "inner"): 1}}
		case 2:
			return rapid.IntRange(-9, 9).Draw(t, "n")
		}
		return text.Draw(t, "text")
	})
	names := registry(t).Names()
	rapid.Check(t, func(rt *rapid.T) {
		skill := rapid.SampledFrom(names).Draw(rt, "skill")
		request := rapid.SampledFrom([]string{"", "read my notes", "buy it"}).Draw(rt, "request")
		args := rapid.MapOfN(key, value, 0, 4).Draw(rt, "args")
		before, ok := try(rt, skill, args, request)
		if !ok {
			return // keys that differ in case alone are no call
		}
		k := key.Draw(rt, "key")
		if _, there := args[k]; there {
			return
		}
		args[k] = value.Draw(rt, "value")
		after, ok := try(rt, skill, args, request)
		if !ok {
			return
		}
		require.LessOrEqual(rt, after.Score, before.Score)
		require.LessOrEqual(rt, after.Outcome, before.Outcome)
		require.True(rt, after.Score >= 0 && before.Score <= 100)
	})
}

func try(rt *rapid.T, skill string, args map[string]any, request string) (sentinel.Verdict, bool) {
	raw, err := json.Marshal(args)
	require.NoError(rt, err)
	s, err := skills.Compile(skills.Spec{Name: skill, Effect: skills.Modify, Parameters: json.RawMessage(anything)})
	require.NoError(rt, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(rt, err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", Request: &request})
	require.NoError(rt, err)
	c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: skill, Args: raw, Grant: g})
	if err != nil {
		return sentinel.Verdict{}, false
	}
	j, err := judge.New(judge.Options{})
	require.NoError(rt, err)
	v, err := j.Check(rt.Context(), c)
	require.NoError(rt, err)
	return v, true
}

// Values, undeclared keys, unknown names and the request are in no part of the
// verdict that is recorded.
func TestNoValuesAreRecorded(t *testing.T) {
	const canary = "canary7f3a"
	for _, c := range []sentinel.Call{
		call(t, "fs.read", `{"path":"../`+canary+`","`+canary+` x":"/../`+canary+`","more":{"`+canary+`-y":1}}`, "read "+canary),
		call(t, canary+".x", `{"`+canary+`-z":"../`+canary+`"}`, canary),
	} {
		for _, o := range []judge.Options{{}, {Threshold: 99}, {AskBelow: 99}} {
			v := decide(t, o, c)
			require.NotEmpty(t, v.Evidence)
			b, err := json.Marshal(v)
			require.NoError(t, err)
			require.NotContains(t, string(b), canary)
		}
	}
}

// BenchmarkCheck has no library to stand beside: it must be linear in the
// arguments and stay in microseconds.
func BenchmarkCheck(b *testing.B) {
	g, err := judge.New(judge.Options{})
	require.NoError(b, err)
	for _, kb := range []int{1, 10, 100} {
		args := fmt.Sprintf(`{"path":"/tmp/n.txt","more":{"text":%q},"list":["a","b"]}`, strings.Repeat("words of a text / ", kb<<10/18))
		c := call(b, "notes.read", args, strings.Repeat("please look at this and that. ", 20)+"read my notes")
		b.Run(fmt.Sprintf("gate/%dKB", kb), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v, err := g.Check(b.Context(), c); err != nil || v.Outcome != sentinel.Allow {
					b.Fatal(v, err)
				}
			}
		})
	}
}
