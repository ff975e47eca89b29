package review

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
)

const yes = `{"decision":"approve","reason":"fits"}`

// late is a context whose deadline has passed but which has not noticed yet.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

// A deadline that a dialler notices before the context does is still the
// caller's.
func TestGaveUp(t *testing.T) {
	require.NoError(t, callerGaveUp(t.Context()))
	require.ErrorIs(t, callerGaveUp(late{t.Context()}), context.DeadlineExceeded)
	require.ErrorIs(t, canceledError(late{t.Context()}), context.DeadlineExceeded)
}

// Only one plain object of the right shape is a decision.
func TestParse(t *testing.T) {
	for _, tc := range []struct {
		content string
		want    Failure
	}{
		{yes, ""}, {" \r\n\t" + yes + "\n", ""}, {`{"reason":"","decision":"approve"}`, ""},
		{`{"decision":"\u0061pprove","reason":"x"}`, ""}, // the same JSON string
		{"", Empty}, {" \n", Empty},
		{"approve", NotJSON}, {`DECISION: approve`, NotJSON}, {`{"decision":"approve","reason":"x"`, NotJSON},
		{`{'decision':'approve','reason':'x'}`, NotJSON}, {`{"decision":"approve","reason":"x",}`, NotJSON},
		{"\ufeff" + yes, Prose}, {"\u00a0" + yes, Prose}, {"\v" + yes, Prose},
		{"```json\n" + yes + "\n```", Fenced}, {"```\n" + yes + "\n```\nDone.", Fenced}, {"```\napprove\n```", Fenced}, {"ok " + yes, Prose},
		{yes + " done", Prose}, {yes + "\n```", Prose}, {yes + "]", Prose},
		{yes + yes, TwoObjects}, {yes + "\n" + yes, TwoObjects}, {yes + "{", TwoObjects},
		{`"approve"`, BadShape}, {`["approve"]`, BadShape}, {"[" + yes + "]", BadShape}, {"true", BadShape}, {"null", BadShape},
		{`{}`, Fields}, {`{"decision":"approve"}`, Fields}, {`{"reason":"x"}`, Fields},
		{`{"decision":"approve","reason":"x","should_run":1}`, Fields},
		{`{"decision":"approve","reason":null}`, Value}, {`{"decision":"approve","reason":1}`, Value},
		{`{"decision":"approve","reason":["x"]}`, Value},
		{`{"decision":true,"reason":"x"}`, Value}, {`{"decision":"APPROVE","reason":"x"}`, Value},
		{`{"decision":"approve ","reason":"x"}`, Value},
		{`{"decision":"allow","reason":"x"}`, Value}, {`{"decision":"","reason":"x"}`, Value},
		{`{"Decision":"approve","reason":"x"}`, Fields}, {`{"decision":"approve","Reason":"x"}`, Fields},
		{`{"decision":"reject","decision":"approve","reason":"x"}`, Fields},
		{`{"decision":"reject","\u0064ecision":"approve","reason":"x"}`, Fields},
		{`{"decision":"reject","DECISION":"approve","reason":"x"}`, Fields},
		{`{"decision":"approve","reason":"` + strings.Repeat("x", maxAnswer) + `"}`, BadShape},
	} {
		a, got := shape{}.parseAnswer(tc.content)
		require.Equal(t, tc.want, got, "%.80q", tc.content)
		require.Equal(t, tc.want == "", a.approve, "%.80q", tc.content)
	}
	a, got := shape{}.parseAnswer(`{"decision":"reject","reason":"no"}`)
	require.Equal(t, answer{reason: "no"}, a)
	require.Empty(t, got)
}

// A right answer in a response that did not end well is none.
func TestJudgement(t *testing.T) {
	for _, tc := range []struct {
		r    llm.Response
		want Failure
	}{
		{llm.Response{Content: yes, FinishReason: "stop", Choices: 1}, ""},
		{llm.Response{Content: yes, Choices: 1}, ""},
		{llm.Response{Content: yes, FinishReason: "length", Choices: 1}, Length},
		{llm.Response{Content: yes, FinishReason: "content_filter", Choices: 1}, ContentFilter},
		{llm.Response{Content: yes, FinishReason: "stop", Refusal: "no", Choices: 1}, Refusal},
		{llm.Response{Content: yes, FinishReason: "stop", Choices: 2}, BadShape},
		{llm.Response{Content: yes, FinishReason: "tool_calls", Choices: 1}, BadShape},
		{llm.Response{Content: yes, FinishReason: "stop", Choices: 1, ToolCalls: []llm.ToolCall{{Name: "approve"}}}, BadShape},
		{llm.Response{Content: yes, FinishReason: "something else", Choices: 1}, BadShape},
	} {
		a, got := form{}.readJudgement(tc.r)
		require.Equal(t, tc.want, got)
		require.Equal(t, tc.want == "", a.approve)
	}
}

// A reason stands on one line, whatever the model wrote, and is bounded.
func TestOneLine(t *testing.T) {
	require.Equal(t, "a b c d", oneLine(" a\r\n\u2028b\x1b\x00c \u202e\u200b d\u0085"))
	long := oneLine(strings.Repeat("ж", 10_000))
	require.LessOrEqual(t, len(long), maxReason)
	require.True(t, utf8.ValidString(long))
	require.True(t, strings.HasSuffix(long, "ж…"))
	require.Equal(t, strings.Repeat("x", maxReason), oneLine(strings.Repeat("x", maxReason)))
}

// Cutting keeps both ends, whole characters, and counts what it took.
func TestKnife(t *testing.T) {
	for _, s := range []string{strings.Repeat("x", 101), strings.Repeat("ж", 77), strings.Repeat("a€", 5000)} {
		k := &truncator{}
		got := k.cut(s, 100)
		require.True(t, utf8.ValidString(got))
		head, rest, ok := strings.Cut(got, "…[")
		require.True(t, ok)
		_, tail, ok := strings.Cut(rest, "]…")
		require.True(t, ok)
		require.True(t, strings.HasPrefix(s, head))
		require.True(t, strings.HasSuffix(s, tail))
		require.Equal(t, len(s)-len(head)-len(tail), k.bytes)
		require.LessOrEqual(t, len(head)+len(tail), 100)
		require.NotEmpty(t, tail)
	}
	k := &truncator{}
	require.Equal(t, "short", k.cut("short", 5))
	require.Zero(t, k.bytes)
}

// Each shape takes its own fields and no other's, in any order, and every value
// within its bounds.
func TestParseShapes(t *testing.T) {
	graded, reasoned, both := shape{graded: true}, shape{reasoning: true}, shape{graded: true, reasoning: true}
	long := strings.Repeat("ж", maxReasoning)
	for _, tc := range []struct {
		shape   shape
		content string
		want    Failure
		score   int
	}{
		{graded, `{"decision":"approve","should_run":0.5,"reason":"x"}`, "", 50},
		{graded, `{"should_run":1,"reason":"x","decision":"approve"}`, "", 100},
		{graded, yes, Fields, 0},
		{graded, `{"decision":"approve","should_run":null,"reason":"x"}`, Value, 0},
		{graded, `{"decision":"approve","should_run":"0.9","reason":"x"}`, Value, 0},
		{graded, `{"decision":"approve","should_run":true,"reason":"x"}`, Value, 0},
		{graded, `{"decision":"approve","should_run":[0.9],"reason":"x"}`, Value, 0},
		{graded, `{"decision":"approve","should_run":1.01,"reason":"x"}`, Value, 0},
		{graded, `{"decision":"approve","should_run":90,"reason":"x"}`, Value, 0},
		{graded, `{"decision":"approve","Confidence":0.9,"reason":"x"}`, Fields, 0},
		{graded, `{"decision":"approve","should_run":0.1,"should_run":0.9,"reason":"x"}`, Fields, 0},
		{graded, `{"decision":"approve","should_run":0.9,"reasoning":"x"}`, Fields, 0},
		{graded, `{"decision":"approve","should_run":.9,"reason":"x"}`, NotJSON, 0},
		{reasoned, `{"reasoning":"r","decision":"approve","reason":"x"}`, "", 0},
		{reasoned, `{"reasoning":"` + long + `","decision":"approve","reason":"x"}`, "", 0},
		{reasoned, `{"reasoning":"` + long + `x","decision":"approve","reason":"x"}`, Value, 0},
		{reasoned, `{"reasoning":null,"decision":"approve","reason":"x"}`, Value, 0},
		{reasoned, `{"reasoning":{"decision":"approve"},"decision":"approve","reason":"x"}`, Value, 0},
		{reasoned, yes, Fields, 0},
		{both, `{"reasoning":"r","decision":"approve","should_run":0.07,"reason":"x"}`, "", 7},
		{both, `{"reasoning":"r","decision":"approve","reason":"x"}`, Fields, 0},
		{shape{}, `{"reasoning":"r","decision":"approve","reason":"x"}`, Fields, 0},
		{shape{}, `{"decision":"approve","should_run":1,"reason":"x"}`, Fields, 0},
	} {
		a, got := tc.shape.parseAnswer(tc.content)
		require.Equal(t, tc.want, got, "%.80q", tc.content)
		require.Equal(t, tc.want == "", a.approve, "%.80q", tc.content)
		require.Equal(t, tc.score, a.score, "%.80q", tc.content)
	}
}

// The number of a graded answer is read digit by digit and never rounded up.
func TestHundredths(t *testing.T) {
	for number, want := range map[string]int{
		"0": 0, "1": 100, "0.0": 0, "1.0": 100, "1.000": 100, "0.29": 29, "0.57": 57, "0.5": 50, "0.499999": 49, "0.999999999": 99, "0.009": 0,
	} {
		got, ok := parseHundredths(number)
		require.True(t, ok, number)
		require.Equal(t, want, got, number)
	}
	for _, number := range []string{"", "-0", "-0.5", "1.0001", "2", "00", "01", "0.", ".5", "5e-1", "1e0", "0.5E0", "0x1", "NaN", "null",
		`"0.5"`, "0.5 ", "+0.5",
		"0.٥", "0." + strings.Repeat("5", maxConfidence)} {
		_, ok := parseHundredths(number)
		require.False(t, ok, number)
	}
}

// An approval below the bound is none, at it it is one. A number that speaks against the decision
// makes an answer none: models take it for how sure they are of themselves.
func TestRejectBelow(t *testing.T) {
	for content, want := range map[string]struct {
		bound int
		a     answer
		kind  Failure
	}{
		`{"decision":"approve","should_run":0.50,"reason":"x"}`:    {50, answer{approve: true, reason: "x", score: 50, graded: true}, ""},
		`{"decision":"approve","should_run":0.70,"reason":"x"}`:    {70, answer{approve: true, reason: "x", score: 70, graded: true}, ""},
		`{"decision":"approve","should_run":0.6999,"reason":"x"}`:  {70, answer{reason: "x", score: 69, graded: true, unsure: true}, ""},
		`{"decision":"approve","should_run":0.4999,"reason":"x"}`:  {50, answer{}, Contradiction},
		`{"decision":"approve","should_run":0.49990,"reason":"x"}`: {70, answer{}, Contradiction},
		`{"decision":"approve","should_run":0.4,"reason":"x"}`:     {30, answer{approve: true, reason: "x", score: 40, graded: true}, ""},
		`{"decision":"approve","should_run":0.2,"reason":"x"}`:     {30, answer{}, Contradiction},
		`{"decision":"approve","should_run":0,"reason":"x"}`:       {0, answer{approve: true, reason: "x", graded: true}, ""},
		`{"decision":"reject","should_run":0.50,"reason":"x"}`:     {50, answer{reason: "x", score: 50, graded: true}, ""},
		`{"decision":"reject","should_run":0.51,"reason":"x"}`:     {50, answer{}, Contradiction},
		`{"decision":"reject","should_run":0.99,"reason":"x"}`:     {0, answer{}, Contradiction},
		`{"decision":"reject","should_run":0.01,"reason":"x"}`:     {50, answer{reason: "x", score: 1, graded: true}, ""},
	} {
		f := form{shape: shape{graded: true}, rejectBelow: want.bound}
		a, kind := f.readJudgement(llm.Response{Content: content, FinishReason: "stop", Choices: 1})
		require.Equal(t, want.kind, kind, content)
		require.Equal(t, want.a, a, content)
	}
	require.True(t, Contradiction.isRepairable())
	require.False(t, Contradiction.Unavailable())
}

// Where a forced call answers, exactly one call of that name does, and nothing
// beside it.
func TestJudgementOfACall(t *testing.T) {
	call := llm.ToolCall{Name: schemaName, Arguments: yes}
	for _, tc := range []struct {
		r    llm.Response
		want Failure
	}{
		{llm.Response{ToolCalls: []llm.ToolCall{call}, FinishReason: "stop"}, ""},
		{llm.Response{ToolCalls: []llm.ToolCall{call}, FinishReason: "tool_calls", Content: " \n"}, ""},
		{llm.Response{ToolCalls: []llm.ToolCall{call}, FinishReason: "length"}, Length},
		{llm.Response{ToolCalls: []llm.ToolCall{call}, FinishReason: "content_filter"}, ContentFilter},
		{llm.Response{ToolCalls: []llm.ToolCall{call}, Refusal: "no"}, Refusal},
		{llm.Response{ToolCalls: []llm.ToolCall{call}, FinishReason: "odd"}, BadShape},
		{llm.Response{ToolCalls: []llm.ToolCall{call}, Choices: 2}, BadShape},
		{llm.Response{ToolCalls: []llm.ToolCall{call, call}}, TwoObjects},
		{llm.Response{ToolCalls: []llm.ToolCall{{Name: "approve", Arguments: yes}}}, BadShape},
		{llm.Response{ToolCalls: []llm.ToolCall{{Arguments: yes}}}, BadShape},
		{llm.Response{ToolCalls: []llm.ToolCall{call}, Content: yes}, Prose},
		{llm.Response{Content: yes}, BadShape},
		{llm.Response{}, Empty},
		{llm.Response{ToolCalls: []llm.ToolCall{{Name: schemaName}}}, Empty},
		{llm.Response{ToolCalls: []llm.ToolCall{{Name: schemaName, Arguments: "```\n" + yes + "\n```"}}}, Fenced},
		{llm.Response{ToolCalls: []llm.ToolCall{{Name: schemaName, Arguments: yes + yes}}}, TwoObjects},
	} {
		a, got := form{way: llm.ViaTool}.readJudgement(tc.r)
		require.Equal(t, tc.want, got, "%+v", tc.r)
		require.Equal(t, tc.want == "", a.approve)
		if got == "" { // which is no answer of a model that was asked otherwise
			_, got = form{way: llm.ViaJSONObject}.readJudgement(tc.r)
			require.Equal(t, BadShape, got)
		}
	}
}

// Nothing but a plain object with the shape's fields approves, whatever the shape and however
// it was asked for. What is returned is one bounded line.
func FuzzParse(f *testing.F) {
	for _, s := range []string{yes, "```json\n" + yes + "\n```", yes + yes, `{"decision":"reject","reason":"\u2028\n"}`,
		`{"decision":"approve","decision":"reject","reason":"x"}`, "\x00" + yes, `{"decision":"approve","reason":"` + "\xff" + `"}`,
		"[" + yes + "]",
		`{"decision":"approve","should_run":0.5,"reason":"x"}`, `{"decision":"approve","should_run":5e-1,"reason":"x"}`,
		`{"reasoning":"r","decision":"approve","reason":"x"}`, `{"reasoning":"r","decision":"approve","should_run":1,"reason":"x"}`} {
		for mode := range uint8(12) {
			f.Add(s, mode)
		}
	}
	f.Fuzz(func(t *testing.T, content string, mode uint8) {
		s := shape{graded: mode&1 != 0, reasoning: mode&2 != 0}
		fm := form{shape: s, rejectBelow: 50, way: []string{"", llm.ViaTool, llm.ViaJSONObject}[int(mode/4)%3]}
		r := llm.Response{Content: content, Choices: 1}
		if fm.way == llm.ViaTool {
			r = llm.Response{ToolCalls: []llm.ToolCall{{Name: schemaName, Arguments: content}}, Choices: 1}
		}
		a, kind := fm.readJudgement(r)
		require.LessOrEqual(t, len(a.reason), maxReason)
		require.Equal(t, strings.Join(strings.Fields(a.reason), " "), a.reason)
		if kind != "" {
			require.Equal(t, answer{}, a)
			require.False(t, kind.Unavailable())
			return
		}
		// An independent reading: exact names, no duplicates, nothing around it.
		var strict struct {
			Reasoning  *string  `json:"reasoning"`
			Decision   *string  `json:"decision"`
			Confidence *float64 `json:"should_run"`
			Reason     *string  `json:"reason"`
		}
		require.NoError(t, json.Unmarshal([]byte(content), &strict, json.RejectUnknownMembers(true)))
		require.NotNil(t, strict.Decision)
		require.NotNil(t, strict.Reason)
		require.Equal(t, s.reasoning, strict.Reasoning != nil)
		require.Equal(t, s.graded, strict.Confidence != nil)
		require.Contains(t, []string{"approve", "reject"}, *strict.Decision)
		require.Equal(t, a.approve, *strict.Decision == "approve")
		require.False(t, a.unsure, "what is below the bound speaks against itself")
		require.True(t, !s.graded || a.approve == (a.score >= 50) || a.score == 50, "a float could round up to it")
		if s.graded {
			require.True(t, *strict.Confidence >= 0 && *strict.Confidence <= 1)
			require.InDelta(t, *strict.Confidence*100, a.score, 1)
		}
	})
}
