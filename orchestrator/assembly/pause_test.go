package assembly_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/skills"
)

// What one process pauses is refused in the other, and works again once either
// of them has lifted it. How soon is the Switch's to show, by a clock of its own.
func TestProcessesShareAPause(t *testing.T) {
	url, prefix := redistest.Shared(t)
	text := onRedis(url, prefix, "10s", "agent: {calls: 1000}, turn: {calls: 1000}, conversation: {calls: 1000}")
	var parts []*assembly.Parts
	for range 2 {
		parts = append(parts, build(t, write(t, text), assembly.Options{Skills: []*skills.GoSkill{(&notes{}).skill(t)}}))
	}
	g := grant(t, "add notes", "notes.add")
	add := func() string { return invoke(t, parts[1], g, "notes.add", `{"text":"x"}`) }
	require.Empty(t, add())
	_, err := parts[0].Pauses.Pause(t.Context(), pause.Target{All: true}, "uid:1")
	require.NoError(t, err)
	require.Equal(t, sentinel.CodePaused, until(t, sentinel.CodePaused, add), "in the other process")

	lifted, err := parts[1].Pauses.Lift(t.Context(), pause.Target{All: true}, "uid:1")
	require.NoError(t, err)
	require.True(t, lifted)
	require.Empty(t, add())
	require.Empty(t, until(t, "", func() string { return invoke(t, parts[0], g, "notes.add", `{"text":"x"}`) }))
}

// until asks again for as long as it may take to be told, on a busy machine.
func until(t *testing.T, want string, ask func() string) (got string) {
	t.Helper()
	tick, late := time.NewTicker(50*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for {
		if got = ask(); got == want {
			return got
		}
		select {
		case <-late:
			return got
		case <-tick.C:
		}
	}
}
