package assembly_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/leak"
)

// A skill that leaves a goroutine behind, or that never returned, is reported
// under its call's id some time after the call has its outcome.
func TestSkillLeaksGoroutines(t *testing.T) {
	type in struct{ X string }
	free := make(chan struct{})
	defer close(free)
	for name, fn := range map[string]func(ctx context.Context, _ in) (string, error){
		"leaks": func(context.Context, in) (string, error) {
			go func() { <-free }()
			return "done", nil
		},
		"deaf": func(context.Context, in) (string, error) { <-free; return "done", nil },
	} {
		t.Run(name, func(t *testing.T) {
			g, err := skills.Func(skills.Spec{Name: "note.leaks", Effect: skills.Read, Reaches: skills.Self, Timeout: 20 * time.Millisecond}, fn)
			require.NoError(t, err)
			file := write(t, "")
			p, err := assembly.Build(t.Context(), load(t, file), assembly.Options{NoReview: true, Skills: []*skills.GoSkill{g}})
			require.NoError(t, err)
			defer func() { require.NoError(t, p.Close()) }()
			got := make(chan leak.Leak, 1)
			p.WatchLeaks(leak.Options{After: time.Millisecond, Report: func(l leak.Leak) { got <- l }})
			sc, err := skills.NewScope("note.leaks")
			require.NoError(t, err)
			grant, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", User: "ann", Conversation: "c", Turn: "t", Agent: "a", Scope: sc})
			require.NoError(t, err)
			_, _ = p.Checkpoint.Desk(grant).Invoke(t.Context(), "note.leaks", json.RawMessage(`{"X":"x"}`))
			l := <-got
			list, err := p.Ledger.List(t.Context(), ledger.Query{Kind: sentinel.RecordOutcome})
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.Equal(t, []any{list[0].Call, "note.leaks", 1}, []any{l.Call, l.Skill, l.Goroutines})
			require.Contains(t, l.Where, "TestSkillLeaksGoroutines")
			require.EqualValues(t, 1, p.Leaks())
		})
	}
}
