package limits_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
)

// Zero fields are the defaults, and the defaults are valid.
func TestConfigDefaults(t *testing.T) {
	want := limits.Config{
		Agent:        limits.AgentConfig{Calls: 5, Max: 20},
		Turn:         limits.TurnConfig{Agents: 8, Calls: 30},
		Conversation: limits.ConversationConfig{Calls: 50, Window: 5 * time.Minute},
		Skill:        limits.SkillConfig{Failures: 3, Window: time.Minute, OpenFor: 30 * time.Second},
	}
	require.Equal(t, want, limits.Config{}.Effective())
	require.Equal(t, want, want.Effective())
	require.Empty(t, limits.Config{}.Validate())
	require.Empty(t, want.Validate())
	require.Equal(t, 40, limits.Config{Agent: limits.AgentConfig{Calls: 40}}.Effective().Agent.Max)
}

// Every fault is reported at once, each under the path of its field, and New refuses.
func TestConfigFaults(t *testing.T) {
	for _, row := range []struct {
		cfg   limits.Config
		paths []string
	}{
		{limits.Config{Agent: limits.AgentConfig{Calls: -1}}, []string{"limits.agent.calls"}},
		{limits.Config{Agent: limits.AgentConfig{Max: -1}}, []string{"limits.agent.max"}},
		{limits.Config{Agent: limits.AgentConfig{Calls: 10, Max: 9}}, []string{"limits.agent.max"}},
		{limits.Config{Agent: limits.AgentConfig{Calls: 10_001}}, []string{"limits.agent.calls"}},
		{limits.Config{Turn: limits.TurnConfig{Agents: -8, Calls: 1_000_000}}, []string{"limits.turn.agents", "limits.turn.calls"}},
		{limits.Config{Conversation: limits.ConversationConfig{Calls: -1, Window: -time.Second}},
			[]string{"limits.conversation.calls", "limits.conversation.window"}},
		{limits.Config{Conversation: limits.ConversationConfig{Window: 5}}, []string{"limits.conversation.window"}},
		{limits.Config{Conversation: limits.ConversationConfig{Window: 25 * time.Hour}}, []string{"limits.conversation.window"}},
		{
			limits.Config{Skill: limits.SkillConfig{Failures: 1001, Window: time.Nanosecond, OpenFor: 1000 * time.Hour}},
			[]string{"limits.skill.failures", "limits.skill.window", "limits.skill.open_for"},
		},
	} {
		var paths []string
		for _, fault := range row.cfg.Validate() {
			paths = append(paths, fault.Path)
			require.NotEmpty(t, fault.Msg)
		}
		require.Equal(t, row.paths, paths)
		_, err := limits.New(row.cfg, limits.NewMemory(limits.MemoryOptions{}))
		var fault limits.PathError
		require.ErrorAs(t, err, &fault)
		require.Equal(t, row.paths[0], fault.Path)
	}
}
