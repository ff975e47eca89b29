package loop

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
)

// Messages come back from a journal as they were, whatever bytes they hold;
// arguments that are too long for any call are cut and stay too long.
func TestKeptMessages(t *testing.T) {
	in := Messages{
		{Role: llm.RoleUser, Content: "<a href=\"x\">\u2028", Name: "n"},
		{Role: llm.RoleAssistant, Content: "c",
			ToolCalls: []llm.ToolCall{{ID: "1", Name: "use", Arguments: "{\"\xff\":\"\x00\"}"}, {ID: "2", Name: "use", Arguments: "{}"}, {ID: "3"}}},
		{Role: llm.RoleTool, ToolCallID: "1", Content: "r"},
	}
	b, err := json.Marshal(in)
	require.NoError(t, err)
	var out Messages
	require.NoError(t, json.Unmarshal(b, &out))
	require.Equal(t, in, out)
	long := Calls{{ID: "1", Arguments: strings.Repeat("x", 2*maxKeptArgs)}}
	b, err = json.Marshal(long)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &long))
	require.Len(t, long[0].Arguments, maxKeptArgs)
}
