package orchestrator

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
)

// Top tells what each conversation is at, since when and for which request, the
// states of its agents, and nothing of what they work on.
func TestTop(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	r := start(t, with(g),
		orch("go", []call{dispatch("a", "do-CANARY", "note.gate"), dispatch("b", "do-b").with("depends_on", []string{"a"})},
			results("wait_all"), "done"),
		agent("do-CANARY", use("note.gate", "CANARY"), "ok"), agent("do-b", "ok"))
	c := r.open("c1", "ann")
	sent := make(chan error, 1)
	go func() {
		_, err := c.SendRequest(context.Background(), Request{ID: "r1", Text: "go CANARY"})
		sent <- err
	}()
	<-entered
	find := func(id string) (found ProcessInfo) {
		for _, p := range flat(r.Top().Tree) {
			if p.ID == id {
				found = p
			}
		}
		return found
	}
	require.Eventually(t, func() bool { return find("server").Phase == statusWaiting }, eventually, tick)
	require.Equal(t, deriveTurnID("c1", "r1"), find("server").Turn)
	require.False(t, find("server").PhaseSince.IsZero())
	require.Equal(t, string(agents.Running), find("agent-a").Phase)
	require.Empty(t, find("router").Phase)
	text, err := json.Marshal(r.Top())
	require.NoError(t, err)
	require.NotContains(t, string(text), "CANARY")
	for _, field := range strings.Fields("pid now started pauses in_flight tasks leaked tree id type state restart restarts mailbox since " +
		"phase phase_since turn children call conversation user agent skill") {
		require.Contains(t, string(text), `"`+field+`":`)
	}
	open()
	require.NoError(t, <-sent)
	require.Eventually(t, func() bool { return find("server").Phase == statusIdle }, eventually, tick)
	require.Empty(t, find("server").Turn)
}
