package vedettetest_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/vedettetest"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// The calls of a turn end with the token that sent its request: the one that runs ends, and the next one is denied.
func TestRevokedTokenEndsTheRestOfItsTurn(t *testing.T) {
	var k *vedettetest.Kit
	var token string
	var ran atomic.Int64
	note, err := skills.Func(skills.Spec{Name: "note.add", Description: "Add a note.", Effect: skills.Create},
		func(ctx context.Context, _ struct{ Text string }) (string, error) {
			if ran.Add(1) == 1 {
				_, err := k.Parts().Tokens.Revoke(ctx, token, "local:root")
				return "ok", err
			}
			return "ok", nil
		})
	require.NoError(t, err)
	k = vedettetest.New(t, vedettetest.Options{Skills: []*skills.GoSkill{note}},
		vedettetest.Orchestrator("add notes", vedettetest.Dispatch("noter", "add notes for the user", "note.add"), vedettetest.Await(), "Done."),
		vedettetest.Agent("add notes", vedettetest.Use("note.add", map[string]any{"Text": "one"}),
			vedettetest.Use("note.add", map[string]any{"Text": "two"}), "ok"))
	made, err := k.Parts().Tokens.Create(t.Context(), access.Wanted{
		Name: "a", User: "tester", Scopes: []access.Scope{access.Chat},
	}, "local:root")
	require.NoError(t, err)
	token = made.ID
	c, err := k.Open(t.Context(), orchestrator.ConversationOptions{ID: "a", User: "tester", Principal: "token:" + token})
	require.NoError(t, err)
	_, err = c.Send(t.Context(), "add notes")
	require.NoError(t, err)
	require.EqualValues(t, 1, ran.Load())
	list, err := k.Parts().Ledger.List(t.Context(), ledger.Query{Skill: "note.add", Code: sentinel.CodeRevoked})
	require.NoError(t, err)
	require.Len(t, list, 1)
}
