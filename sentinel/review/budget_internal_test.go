package review

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
)

// What a request came to is what the server told, else an estimate of question and answer. It
// is nothing only where the server told that it did no work.
func TestWhatARequestCameTo(t *testing.T) {
	r := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: strings.Repeat("x", 400)}}}
	question := promptTokens(&r, usualBytes)
	require.Equal(t, int64(104), question)
	for name, tc := range map[string]struct {
		e       exchange
		in, out int64
	}{
		"told":                        {exchange{usage: llm.Usage{Prompt: 7, Completion: 3, Total: 10}, said: 400}, 7, 3},
		"told without a total":        {exchange{usage: llm.Usage{Prompt: 7, Completion: 3}}, 7, 3},
		"told as a total alone":       {exchange{usage: llm.Usage{Total: 10}}, 0, 10},
		"reasoning in the total":      {exchange{usage: llm.Usage{Prompt: 7, Completion: 3, Total: 50}}, 7, 43},
		"less than nothing":           {exchange{usage: llm.Usage{Prompt: -7, Completion: 3}}, 0, 3},
		"an answer of less":           {exchange{usage: llm.Usage{Prompt: 7, Completion: -3}}, 7, 0},
		"told of the question alone":  {exchange{usage: llm.Usage{Prompt: 7}}, 7, 0},
		"told of the answer alone":    {exchange{usage: llm.Usage{Completion: 3}}, 0, 3},
		"an answer, not told":         {exchange{said: 41}, question, 11},
		"nothing came, not told":      {exchange{}, question, 0},
		"refused":                     {exchange{unpaid: true}, 0, 0},
		"refused, and told all alike": {exchange{unpaid: true, usage: llm.Usage{Prompt: 7}}, 7, 0},
	} {
		in, out := tc.e.spentTokens(&r)
		require.Equal(t, []int64{tc.in, tc.out}, []int64{in, out}, name)
	}
	require.Equal(t, 4+2+1+5+3, countAnswerBytes(llm.Response{Content: "four", Refusal: "no",
		ToolCalls: []llm.ToolCall{{Name: "f", Arguments: "{   }"}, {Arguments: "{ }"}}}))
}

// No work was done where the server refused before it began; whatever else went
// wrong may have cost.
func TestUnpaid(t *testing.T) {
	for kind, want := range map[llm.Kind]bool{
		llm.KindConnect: true, llm.KindServer: true, llm.KindRateLimited: true, llm.KindAuth: true,
		llm.KindTimeout: false, llm.KindCanceled: false, llm.KindNotJSON: false, llm.KindBadResponse: false, llm.KindTooLarge: false,
	} {
		require.Equal(t, want, isUnpaidRequest(&llm.Error{Kind: kind}), kind)
	}
	require.False(t, isUnpaidRequest(&llm.Error{Kind: llm.KindConnect, Status: 200}), "it broke within the answer")
	require.False(t, isUnpaidRequest(nil))
	require.False(t, isUnpaidRequest(errors.New("another")))
}

// A price is rounded up, and of nothing it is nothing.
func TestPriceIsRoundedUp(t *testing.T) {
	p := Price{Input: 250_000, Output: 2_000_000}
	for _, tc := range []struct{ in, out, want int64 }{{0, 0, 0}, {1, 0, 1}, {4, 0, 1}, {5, 0, 2}, {0, 1, 2}, {4, 1, 3}, {1, 1, 3}} {
		require.Equal(t, tc.want, p.costOf(tc.in, tc.out))
	}
	require.Zero(t, Price{}.costOf(1000, 1000))
}

// Each text of a question counts, and is held with more than it will come to.
func TestPromptTokensCountEveryText(t *testing.T) {
	r := llm.Request{Messages: []llm.Message{{Content: strings.Repeat("x", 40)}, {Content: strings.Repeat("x", 40)}},
		Tools:  []llm.Tool{{Name: "1234", Description: "12345678", Parameters: []byte(`{      }`)}},
		Schema: &llm.Schema{Name: "1234", Schema: []byte("{  }")}}
	require.Equal(t, int64(10+4+10+4+1+2+2+4+1+1), promptTokens(&r, usualBytes))
	require.Equal(t, int64(20+4+20+4+2+4+4+4+2+2), promptTokens(&r, worstBytes))
	r = llm.Request{Messages: []llm.Message{{Content: "x"}}}
	require.Equal(t, int64(5), promptTokens(&r, usualBytes), "a part of a token is one")
}
