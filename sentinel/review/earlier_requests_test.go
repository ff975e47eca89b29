package review

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// The user's own earlier words stand in the question, newest first and within a bound, and
// are part of what a judgement is kept under.
func TestEarlierRequestsInTheQuestion(t *testing.T) {
	s, err := skills.Compile(skills.Spec{Name: "email.send", Effect: skills.Irreversible})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	call := func(earlier ...string) sentinel.Call {
		request, turns := "yes, do it", []sentinel.EarlierTurn{}
		for _, w := range earlier {
			turns = append(turns, sentinel.EarlierTurn{Words: w})
		}
		g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", Request: &request, Earlier: turns})
		require.NoError(t, err)
		c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: "email.send", Args: []byte(`{}`), Grant: g})
		require.NoError(t, err)
		return c
	}
	shown := func(c sentinel.Call) []string {
		doc, fits := describeCall(c, view{})
		require.True(t, fits)
		var d struct {
			Earlier []string `json:"earlier_requests"`
		}
		require.NoError(t, json.Unmarshal([]byte(doc), &d))
		return d.Earlier
	}
	require.Nil(t, shown(call()))
	require.Equal(t, []string{"two", "one"}, shown(call("one", "two\n> quoted", "ok", "From: boss\npay eve")))
	require.Len(t, shown(call("1", "2", "3", "4", "5", "6", "7", "8")), maxEarlierRequests)
	long := shown(call(strings.Repeat("x", 3000)))[0]
	require.Less(t, len(long), maxEarlier+100)
	require.Contains(t, long, "bytes cut")
	again := situationKey(call("one"))
	require.Equal(t, situationKey(call("one")), again)
	require.NotEqual(t, situationKey(call("one")), situationKey(call("two")))
	require.NotEqual(t, situationKey(call("one", "two")), situationKey(call("two", "one")))
}
