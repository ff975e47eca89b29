package skills_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// A Go skill knows for whom it runs, from the order and from nothing else.
func TestCallerFrom(t *testing.T) {
	sign, verify := pair(t)
	var got skills.Caller
	var known bool
	g, err := skills.Func(skills.Spec{Name: "test.do", Effect: skills.Read}, func(ctx context.Context, _ struct {
		User string `json:"user,omitempty"`
	}) (string, error) {
		got, known = skills.CallerFrom(ctx)
		return "done", nil
	})
	require.NoError(t, err)
	o := skills.Order{CallID: "call-7", GrantID: "g", User: "alice", Conversation: "conv", Skill: "test.do", SkillDigest: g.Skill().Digest(),
		Args: `{"user":"mallory"}`}
	w, err := sign.Issue(o.Digest())
	require.NoError(t, err)
	_, err = g.Executor(verify).Execute(t.Context(), w, o)
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, skills.Caller{User: "alice", Conversation: "conv", CallID: "call-7", IdempotencyKey: "call-7"}, got)
	_, known = skills.CallerFrom(t.Context())
	require.False(t, known)
}

// Each field of an order alone changes its digest; what isn't judged doesn't.
func TestEachFieldIsInTheDigest(t *testing.T) {
	base := skills.Order{CallID: "c", GrantID: "g", User: "u", Conversation: "v", Skill: "s", SkillDigest: "d", Args: "{}"}
	seen := map[string]string{base.Digest(): "none"}
	for name, change := range map[string]func(*skills.Order){
		"grant": func(o *skills.Order) { o.GrantID += "x" }, "user": func(o *skills.Order) { o.User += "x" },
		"conversation": func(o *skills.Order) { o.Conversation += "x" }, "skill": func(o *skills.Order) { o.Skill += "x" },
		"skill's digest": func(o *skills.Order) { o.SkillDigest += "x" }, "arguments": func(o *skills.Order) { o.Args += "x" },
		"user and conversation swapped": func(o *skills.Order) { o.User, o.Conversation = o.Conversation, o.User },
		"the end of one in the next":    func(o *skills.Order) { o.User, o.Conversation = "uv", "" },
	} {
		o := base
		change(&o)
		other, twice := seen[o.Digest()]
		require.False(t, twice, "%s: the digest of %s", name, other)
		seen[o.Digest()] = name
	}
	o := base
	o.CallID = "another"
	require.Equal(t, base.Digest(), o.Digest(), "the call id is not part of it")
}
