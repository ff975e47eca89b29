package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/loop"
	"github.com/vedette-dev/vedette/skills"
)

// The answers that an agent is given are cut where they are too long together.
func TestFitInputs(t *testing.T) {
	small := []Input{{"a", "x"}, {"b", "y"}}
	require.Equal(t, small, fitInputs(small))
	long := strings.Repeat("x", loop.MaxAnswer)
	list := make([]Input, 16)
	for i := range list {
		list[i] = Input{fmt.Sprint(i), long}
	}
	size := 0
	for _, in := range fitInputs(list) {
		require.Contains(t, in.Answer, "[cut here")
		size += len(in.Answer)
	}
	require.LessOrEqual(t, size, maxInputs+16*100)
	require.Equal(t, long, list[0].Answer, "the agent's own options were changed")
}

// 32,000 calls in one answer, with huge ids, names and arguments, are as many
// proposals as the budget has and one more; the rest is counted, and what goes
// back to the model is bounded.
func TestAnswerWithManyCalls(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		list := make([]llm.ToolCall, 32_000)
		long := strings.Repeat(" ", 200_000) + "{}"
		odd := use(long, "sheep.count", long)
		for i := range list {
			list[i] = odd
			if i%2 > 0 {
				list[i].Name = long
			}
		}
		d := &desk{invoke: func(context.Context, string, json.RawMessage) (skills.Result, error) {
			return skills.Result{Content: strings.Repeat("r", 1<<20), Trust: skills.Trusted}, nil
		}}
		m := script(calls(list...), says("gave up"))
		_, res := r.run(Options{Model: m, Invoker: d, Calls: 8})
		require.Equal(t, Completed, res.State)
		require.Equal(t, 9, res.Calls)
		require.Len(t, d.proposals(), 9)
		require.Equal(t, 32_000-9, res.Omitted)
		size := 0
		for _, msg := range m.requests()[1].Messages {
			size += len(msg.Content)
			for _, k := range msg.ToolCalls {
				require.LessOrEqual(t, len(k.ID), 64)
				size += len(k.Name) + len(k.Arguments)
			}
		}
		require.Less(t, size, loop.MaxMessages+1<<20)
		require.Empty(t, m.requests()[1].Tools)
	})
}

// An agent whose messages have no room left is asked once more, without tools.
func TestMessagesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		d := &desk{invoke: func(context.Context, string, json.RawMessage) (skills.Result, error) {
			return skills.Result{Content: strings.Repeat("r", 3<<20), Trust: skills.Trusted}, nil
		}}
		m := script(calls(use("1", "sheep.count", "{}")), calls(use("2", "sheep.count", "{}")), says("ok"))
		_, res := r.run(Options{Model: m, Invoker: d, Calls: 20})
		require.Equal(t, Completed, res.State)
		require.Len(t, m.requests(), 3)
		last := m.requests()[2]
		require.Empty(t, last.Tools)
		require.Contains(t, last.Messages[len(last.Messages)-1].Content, "[cut here")
	})
}
