package loop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
)

// Messages of before are shown and belong to nothing that the loop writes down or counts.
func TestDialogueBegins(t *testing.T) {
	var d Dialogue
	d.Begin([]llm.Message{{Role: llm.RoleSystem, Content: "s"}, {Role: llm.RoleUser, Content: "earlier"}})
	d.Say(llm.Message{Role: llm.RoleUser, Content: "now"})
	require.Equal(t, []string{"system: s", "user: earlier", "user: now"}, contents(d.Messages()))
	require.Equal(t, []string{"user: now"}, contents(d.OwnMessages()))
	require.Equal(t, []string{"user: now"}, contents(d.unsavedMessages()))
	require.Equal(t, MaxMessages-3, d.Room.Left())
	d.MarkSaved()
	require.Empty(t, d.unsavedMessages())
}

// What was shown once is shown again as it was, and a caller that adds to it changes
// nothing.
func TestEchoStays(t *testing.T) {
	var d Dialogue
	d.Say(llm.Message{ToolCalls: []llm.ToolCall{{ID: "1", Name: "a b", Arguments: "[1]"}}})
	first := d.EchoMessages()
	require.Equal(t, "unknown_tool", first[0].ToolCalls[0].Name)
	_ = append(first, llm.Message{Content: "a nudge"})
	d.Say(llm.Message{Content: "x"})
	second := d.EchoMessages()
	require.Equal(t, "x", second[1].Content)
	require.Equal(t, first[0], second[0])
	require.Equal(t, "a b", d.Messages()[0].ToolCalls[0].Name)
}
