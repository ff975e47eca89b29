package sentinel_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

func grantOf(t testing.TB, user, conversation string) sentinel.Grant {
	sc, err := skills.NewScope("test.*")
	require.NoError(t, err)
	req := "please do it"
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: user + conversation, User: user, Conversation: conversation, Turn: "t1", Agent: "a1", Mission: "do it",
		MissionBy: sentinel.ByOrchestrator, Request: &req, Scope: sc,
	})
	require.NoError(t, err)
	return g
}

// counted adds up what the records of refused proposals stand for, by
// conversation: one each, and those that they say were left out.
func counted(t testing.TB, list []sentinel.Record) map[string]int {
	out := map[string]int{}
	for _, r := range list {
		require.Equal(t, sentinel.RecordRefused, r.Kind)
		var b struct {
			Suppressed int               `json:"suppressed"`
			Gates      []json.RawMessage `json:"gates"`
		}
		require.NoError(t, json.Unmarshal(r.Body, &b))
		require.Len(t, b.Gates, len(sentinel.GateNames()))
		require.NotEmpty(t, r.DecisionID)
		key := r.User + "/" + r.Conversation
		out[key] += b.Suppressed
		if r.Code != sentinel.CodeSuppressed {
			out[key]++
		}
	}
	return out
}

// Every proposal that became no Call is on record of its own conversation: one by
// one at first, as a count then. What couldn't be written is told later.
func TestSuppressedByConversation(t *testing.T) {
	now := time.Unix(1e9, 0)
	b := newBench(t, func(o *sentinel.Options, _ *bench) { o.Now = func() time.Time { return now } })
	propose := func(user, conversation string, n int) {
		d := b.Desk(grantOf(t, user, conversation))
		for range n {
			_, err := d.Invoke(t.Context(), "", nil)
			require.Equal(t, sentinel.CodeNoSkill, refusalOf(t, err).Code)
		}
	}
	propose("ann", "c1", 50)
	propose("bob", "c1", 30)
	propose("ann", "c2", 3)
	require.Equal(t, 30, b.Suppressed("ann", "c1"))
	require.Equal(t, map[string]int{"ann/c1": 20, "bob/c1": 20, "ann/c2": 3}, counted(t, b.rec.records),
		"nobody else's count is told with one's record")
	b.rec.fail = func(sentinel.Record) error { return errors.New("the store is away") }
	require.ErrorIs(t, b.TellSuppressed(t.Context()), sentinel.ErrNotRecorded)
	require.Equal(t, []int{30, 10}, []int{b.Suppressed("ann", "c1"), b.Suppressed("bob", "c1")}, "nothing is lost")
	b.rec.fail = nil
	require.NoError(t, b.TellSuppressed(t.Context()))
	require.Equal(t, map[string]int{"ann/c1": 50, "bob/c1": 30, "ann/c2": 3}, counted(t, b.rec.records))
	require.Len(t, b.rec.records, 45, "one record a conversation")
	require.NoError(t, b.TellSuppressed(t.Context()))
	require.Len(t, b.rec.records, 45, "once")
	propose("ann", "c1", 7)
	now = now.Add(time.Minute)
	propose("ann", "c1", 1)
	require.Equal(t, 58, counted(t, b.rec.records)["ann/c1"], "the next record of the conversation tells it too")
	require.Len(t, b.rec.records, 46)
	require.Zero(t, b.Suppressed("ann", "c1"))
}
