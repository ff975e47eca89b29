package loop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
)

// taken are calls whose ids are the ones that new ids would get.
func taken(n int) []llm.ToolCall {
	out := make([]llm.ToolCall, n)
	for i := range out {
		out[i] = llm.ToolCall{ID: fmt.Sprint("call_v", i), Name: "x"}
	}
	return out
}

// One answer is heard up to a number of calls; each call has an id
// that no other has, and the rest is counted.
func TestHearCalls(t *testing.T) {
	big := strings.Repeat("a", 600<<10)
	for name, row := range map[string]struct {
		calls        []llm.ToolCall
		heard, left  int
		beforeTheses []llm.Message
	}{
		"none":         {},
		"few":          {calls: taken(3), heard: 3},
		"taken before": {calls: taken(3), heard: 3, beforeTheses: []llm.Message{{ToolCalls: taken(3000)}}},
		"as many":      {calls: taken(MaxParallel), heard: MaxParallel},
		"one more":     {calls: taken(MaxParallel + 1), heard: MaxParallel, left: 1},
		"32,000":       {calls: make([]llm.ToolCall, 32_000), heard: MaxParallel, left: 32_000 - MaxParallel},
		"ids":          {calls: []llm.ToolCall{{ID: big}, {ID: "a"}, {ID: "a"}, {}}, heard: 4},
	} {
		t.Run(name, func(t *testing.T) {
			heard, left := HearCalls(row.calls, row.beforeTheses)
			require.Equal(t, [2]int{row.heard, row.left}, [2]int{len(heard), left})
			seen := map[string]bool{}
			for _, m := range row.beforeTheses {
				for _, k := range m.ToolCalls {
					seen[k.ID] = true
				}
			}
			for _, k := range heard {
				require.False(t, k.ID == "" || len(k.ID) > maxID || seen[k.ID])
				seen[k.ID] = true
			}
		})
	}
}

// New ids are looked for once each, whatever ids are taken: an answer of twice as
// many calls costs about twice the allocations, and no search begins again.
func TestNewIDsAreLinear(t *testing.T) {
	ids := callIDs{seen: map[string]bool{}}
	for i := range 64_000 {
		ids.seen[fmt.Sprint("call_v", 64_000+i)] = true
	}
	for range 64_000 {
		ids.admitID("")
	}
	require.Len(t, ids.seen, 128_000)
	require.Less(t, ids.next, 64_000+64_000+64_000+1, "a search began where one had been before")
}

// BenchmarkHearCalls is an answer of n calls, half of them with ids that new ones
// would get: the time for each call stays the same.
func BenchmarkHearCalls(b *testing.B) {
	for _, n := range []int{1000, 32_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			calls := append(taken(n/2), make([]llm.ToolCall, n/2)...)
			b.ReportAllocs()
			for b.Loop() {
				HearCalls(calls, nil)
			}
		})
	}
}

// What there is no room for is cut and says so; a reply is never cut to nothing.
func TestRoom(t *testing.T) {
	var r Room
	require.Equal(t, MaxMessages, r.Left())
	text := strings.Repeat("x", MaxMessages)
	require.Equal(t, text, r.Fit(text))
	r.Take(llm.Message{Content: text[:MaxMessages-1000], ToolCalls: []llm.ToolCall{{ID: "1", Name: "n", Arguments: "{}"}}})
	require.Equal(t, 996, r.Left())
	require.False(t, r.Spent())
	cut := r.Fit(text)
	require.Contains(t, cut, "[cut here: the text was too long]")
	require.Less(t, len(cut), 1100)
	r.Take(llm.Message{Content: text})
	require.Zero(t, r.Left())
	require.True(t, r.Spent())
	require.Equal(t, "a refusal", r.Fit("a refusal"))
	require.Less(t, len(r.Fit(text)), 1000)
}

// The conversation keeps of long arguments their length, and no more than there
// is room for; what is proposed is another list.
func TestFitCalls(t *testing.T) {
	var r Room
	list := make([]llm.ToolCall, MaxParallel)
	for i := range list {
		list[i] = llm.ToolCall{ID: fmt.Sprint(i), Name: strings.Repeat("n", 1000), Arguments: strings.Repeat("x", maxEcho)}
	}
	list[0].Arguments += "x"
	kept := r.FitCalls(list)
	require.Equal(t, fmt.Sprintf(`{"omitted_bytes":%d}`, maxEcho+1), kept[0].Arguments)
	require.Equal(t, list[1].Arguments, kept[1].Arguments)
	require.Equal(t, fmt.Sprintf(`{"omitted_bytes":%d}`, maxEcho), kept[MaxParallel-1].Arguments)
	size := 0
	for _, k := range kept {
		require.LessOrEqual(t, len(k.Name), maxTool+3)
		size += len(k.Arguments)
	}
	require.LessOrEqual(t, size, MaxMessages+MaxParallel*30)
	require.Len(t, list[1].Name, 1000)
}

// Messages that servers take are not copied to be sent; those that they would
// refuse are changed in a copy.
func TestEchoMessages(t *testing.T) {
	list := []llm.Message{{Role: llm.RoleUser, Content: "x"}, {ToolCalls: []llm.ToolCall{{ID: "1", Name: "x", Arguments: "{}"}}}}
	require.Same(t, &list[0], &echoMessages(list)[0])
	list = append(list, llm.Message{ToolCalls: []llm.ToolCall{{ID: "2", Name: "a b", Arguments: "[1]"}}})
	out := echoMessages(list)
	require.Equal(t, []llm.ToolCall{{ID: "2", Name: "unknown_tool", Arguments: `{"malformed":"[1]"}`}}, out[2].ToolCalls)
	require.Equal(t, "a b", list[2].ToolCalls[0].Name)
}
