package slots_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/fallback"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/slots"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newSlot(id, skill string) sentinel.Slot {
	return sentinel.Slot{CallID: id, User: "ann", Conversation: "c", Turn: "t", Agent: "a", Skill: skill}
}

// Each limit is told in the checkpoint's words: what is used up denies, an open breaker
// defers, and each refusal says why.
func TestVerdicts(t *testing.T) {
	for code, row := range map[string]struct {
		cfg     limits.Config
		skill   string
		outcome sentinel.Outcome
		advised bool
	}{
		limits.CodeAgentCalls:        {limits.Config{Agent: limits.AgentConfig{Calls: 1}}, "notes.add", sentinel.Deny, false},
		limits.CodeTurnCalls:         {limits.Config{Turn: limits.TurnConfig{Calls: 1}}, "notes.add", sentinel.Deny, false},
		limits.CodeConversationCalls: {limits.Config{Conversation: limits.ConversationConfig{Calls: 1}}, "notes.add", sentinel.Deny, true},
		limits.CodeTurnAgents:        {limits.Config{Turn: limits.TurnConfig{Agents: 1}}, "agent.dispatch", sentinel.Deny, false},
		limits.CodeSkillOpen: {
			limits.Config{Skill: limits.SkillConfig{Failures: 1, OpenFor: time.Hour}}, "notes.add", sentinel.Defer, true,
		},
	} {
		t.Run(code, func(t *testing.T) {
			memory, err := limits.New(row.cfg, limits.NewMemory(limits.MemoryOptions{}))
			require.NoError(t, err)
			counts := fallback.New(fallback.Options{Shared: memory})
			l := slots.New(slots.Options{Counts: counts, Breakers: counts, AgentSkills: []string{"agent.dispatch"}})
			v, err := l.Reserve(t.Context(), newSlot("1", row.skill))
			require.NoError(t, err)
			require.Equal(t, sentinel.Allow, v.Outcome)
			l.Report(t.Context(), row.skill, "1", false)
			v, err = l.Reserve(t.Context(), newSlot("2", row.skill))
			require.NoError(t, err)
			require.Equal(t, []any{code, row.outcome, row.advised}, []any{v.Code, v.Outcome, v.WhatYouCanDo != ""})
			require.NotEmpty(t, v.Reason)
		})
	}
}

// An unreachable store is named as such to the checkpoint, which knows what follows for
// each effect; what can't be counted is logged without the call's own words.
func TestUnreachableStore(t *testing.T) {
	server, err := redisstore.Open(redisstore.Options{URL: "redis://127.0.0.1:1", Timeout: 20 * time.Second})
	require.NoError(t, err)
	shared, err := limits.New(limits.Config{}, server)
	require.NoError(t, err)
	counts, log := fallback.New(fallback.Options{Shared: shared}), &bytes.Buffer{}
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	l := slots.New(slots.Options{Counts: counts, Breakers: counts, Log: slog.New(slog.NewTextHandler(log, nil))})
	_, err = l.Reserve(t.Context(), newSlot("1", "notes.add"))
	require.ErrorIs(t, err, sentinel.ErrLimitsAway)
	require.ErrorIs(t, err, limits.ErrAway)
	for i, tell := range []func(){
		func() { l.Report(t.Context(), "notes.add", "1", true) },
		func() { l.Release(t.Context(), "notes.add", "1") },
	} {
		log.Reset()
		tell()
		require.Contains(t, log.String(), "could not be told", fmt.Sprint(i))
	}
}
