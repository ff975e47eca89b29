package approval_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/skills"
)

type permission struct{}

func (permission) Name() string { return sentinel.GatePermission }
func (permission) Check(context.Context, sentinel.Call) (sentinel.Verdict, error) {
	return sentinel.Pass(), nil
}
func (permission) Modify(_ context.Context, c sentinel.Call) (sentinel.Rewrite, error) {
	if c.Parsed()["body"] == "new\u202e" {
		return sentinel.Rewrite{}, nil
	}
	return sentinel.Rewrite{Args: []byte(`{"body":"new\u202e"}`), Rules: []string{"calm"}}, nil
}

type other string

func (o other) Name() string { return string(o) }
func (o other) Check(context.Context, sentinel.Call) (sentinel.Verdict, error) {
	return sentinel.Pass(), nil
}

// An approver sees the rewritten arguments, that they were rewritten and by which rule. The
// approver sees, too, that unseen characters stand in them.
func TestDescribeARewrittenCall(t *testing.T) {
	s, err := skills.Compile(skills.Spec{Name: "a.b", Effect: skills.Modify,
		Parameters: json.RawMessage(`{"type":"object","properties":{"body":{"type":"string","x-content":true}}}`)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	gs := []sentinel.Gate{permission{}}
	for _, n := range []string{"schema", "scope", "guard", "judge", "review"} {
		gs = append(gs, other(n))
	}
	cp, err := sentinel.New(sentinel.Options{Registry: reg, Gates: gs})
	require.NoError(t, err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a"})
	require.NoError(t, err)
	c, err := cp.NewCall(sentinel.Proposal{Skill: "a.b", Args: []byte(`{"body":"old"}`), Grant: g})
	require.NoError(t, err)
	require.NotContains(t, approval.Describe(c, sentinel.Decision{}), "changed")
	c, failed := cp.Rewrite(t.Context(), c)
	require.Nil(t, failed)
	text := approval.Describe(c, sentinel.Decision{})
	require.Contains(t, text, `changed  "body", by the rules "calm"`)
	require.Contains(t, text, `unseen   bidi characters in "body"`)
	require.NotContains(t, text, "old")
	require.NotContains(t, text, "\u202e")
}
