package sentinel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
)

// A child has its parent's user, conversation, turn, request and taint, whatever
// it was asked to be.
func TestChildInherits(t *testing.T) {
	request := "what the user said"
	parent, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "p", User: "u", Conversation: "c", Turn: "t", Agent: "orchestrator", Request: &request,
		Scope: scope(t, "email.*"), Tainted: true,
	})
	require.NoError(t, err)
	child, err := parent.Narrow(sentinel.Child{ID: "k", Agent: "a", Mission: "another text", Scope: scope(t, "email.read"),
		Deadline: time.Unix(1, 0)})
	require.NoError(t, err)
	said, ok := child.Request()
	require.True(t, ok)
	require.Equal(t, request, said)
	require.Equal(t, []string{"u", "c", "t"}, []string{child.User(), child.Conversation(), child.Turn()})
	require.True(t, child.Tainted())
	require.True(t, child.MissionTainted())
}

// A grant without an id, a conversation or an agent is none.
func TestGrantNeedsItsIDs(t *testing.T) {
	full := sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a"}
	_, err := sentinel.NewGrant(full)
	require.NoError(t, err)
	for name, empty := range map[string]func(*sentinel.GrantOptions){
		"id":           func(o *sentinel.GrantOptions) { o.ID = "" },
		"conversation": func(o *sentinel.GrantOptions) { o.Conversation = "" },
		"agent":        func(o *sentinel.GrantOptions) { o.Agent = "" },
	} {
		o := full
		empty(&o)
		_, err := sentinel.NewGrant(o)
		require.ErrorContains(t, err, "grant: "+name+" is missing")
	}
}

// Arguments are nested MaxDepth levels deep at most, to the level.
func TestDepthToTheLevel(t *testing.T) {
	nested := func(levels int) sentinel.Proposal {
		g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a"})
		require.NoError(t, err)
		inner := strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1)
		return sentinel.Proposal{Skill: "no.such", Args: []byte(`{"a":` + inner + `}`), Grant: g}
	}
	_, err := sentinel.NewCall(registry(t), touch.Env{NoFS: true}, nested(sentinel.MaxDepth))
	require.NoError(t, err)
	_, err = sentinel.NewCall(registry(t), touch.Env{NoFS: true}, nested(sentinel.MaxDepth+1))
	var refused *sentinel.CallError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, sentinel.CodeTooDeep, refused.Code)
}
