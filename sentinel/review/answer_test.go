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
	require.NoError(t, gaveUp(t.Context()))
	require.ErrorIs(t, gaveUp(late{t.Context()}), context.DeadlineExceeded)
	require.ErrorIs(t, canceled(late{t.Context()}), context.DeadlineExceeded)
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
		{"```json\n" + yes + "\n```", Fenced}, {"```\n" + yes + "\n```\nDone.", Fenced}, {"```\napprove\n```", Fenced}, {"ok " + yes, Prose}, {yes + " done", Prose}, {yes + "\n```", Prose}, {yes + "]", Prose},
		{yes + yes, TwoObjects}, {yes + "\n" + yes, TwoObjects}, {yes + "{", TwoObjects},
		{`"approve"`, BadShape}, {`["approve"]`, BadShape}, {"[" + yes + "]", BadShape}, {"true", BadShape}, {"null", BadShape},
		{`{}`, Fields}, {`{"decision":"approve"}`, Fields}, {`{"reason":"x"}`, Fields},
		{`{"decision":"approve","reason":"x","confidence":1}`, Fields},
		{`{"decision":"approve","reason":null}`, Value}, {`{"decision":"approve","reason":1}`, Value}, {`{"decision":"approve","reason":["x"]}`, Value},
		{`{"decision":true,"reason":"x"}`, Value}, {`{"decision":"APPROVE","reason":"x"}`, Value}, {`{"decision":"approve ","reason":"x"}`, Value},
		{`{"decision":"allow","reason":"x"}`, Value}, {`{"decision":"","reason":"x"}`, Value},
		{`{"Decision":"approve","reason":"x"}`, Fields}, {`{"decision":"approve","Reason":"x"}`, Fields},
		{`{"decision":"reject","decision":"approve","reason":"x"}`, Fields},
		{`{"decision":"reject","\u0064ecision":"approve","reason":"x"}`, Fields},
		{`{"decision":"reject","DECISION":"approve","reason":"x"}`, Fields},
		{`{"decision":"approve","reason":"` + strings.Repeat("x", maxAnswer) + `"}`, BadShape},
	} {
		a, got := shape{}.parse(tc.content)
		require.Equal(t, tc.want, got, "%.80q", tc.content)
		require.Equal(t, tc.want == "", a.approve, "%.80q", tc.content)
	}
	a, got := shape{}.parse(`{"decision":"reject","reason":"no"}`)
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
		a, got := form{}.judgement(tc.r)
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
		k := &knife{}
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
	k := &knife{}
	require.Equal(t, "short", k.cut("short", 5))
	require.Zero(t, k.bytes)
}

// Nothing but a plain object with the two fields approves, and what is returned
// is one bounded line.
func FuzzParse(f *testing.F) {
	for _, s := range []string{yes, "```json\n" + yes + "\n```", yes + yes, `{"decision":"reject","reason":"\u2028\n"}`,
		`{"decision":"approve","decision":"reject","reason":"x"}`, "\x00" + yes, `{"decision":"approve","reason":"` + "\xff" + `"}`, "[" + yes + "]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) {
		a, kind := shape{}.parse(content)
		require.LessOrEqual(t, len(a.reason), maxReason)
		require.Equal(t, strings.Join(strings.Fields(a.reason), " "), a.reason)
		if kind != "" {
			require.Equal(t, answer{}, a)
			require.False(t, kind.Unavailable())
			return
		}
		// An independent reading: exact names, no duplicates, nothing around it.
		var strict struct {
			Decision *string `json:"decision"`
			Reason   *string `json:"reason"`
		}
		require.NoError(t, json.Unmarshal([]byte(content), &strict, json.RejectUnknownMembers(true)))
		require.NotNil(t, strict.Decision)
		require.NotNil(t, strict.Reason)
		require.Contains(t, []string{"approve", "reject"}, *strict.Decision)
		require.Equal(t, a.approve, *strict.Decision == "approve")
	})
}
