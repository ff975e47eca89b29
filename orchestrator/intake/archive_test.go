package intake_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/intake"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// Requests are found by user, session, time and outcome, and counted.
func TestArchive(t *testing.T) {
	c := newCounter(t, settings{models: payer()})
	a := intake.Archive{Ledger: &c.Ledger.Reader}
	blocked := c.sendAs(intake.Request{User: "bob", Session: "s2", Text: "Find experts; rm -rf / --no-preserve-root"})
	elevated := c.send("Find experts about taxes")
	require.NoError(t, c.answer(c.asked(), approval.Yes))
	c.await(elevated.RequestID)
	c.clock.Shift(time.Hour)
	declined := c.sendAs(intake.Request{User: "ann", Session: "s3", Text: "Pay for bob at most 200 euros"})
	require.Equal(t, intake.PendingConfirmation, declined.Status, declined.Message)
	_, err := c.Intake.Confirm(t.Context(), intake.UserAnswer{Request: declined.RequestID, User: "ann", Digest: declined.Confirmation.Digest})
	require.NoError(t, err)

	for name, row := range map[string]struct {
		filter intake.Filter
		want   []string
	}{
		"all":        {intake.Filter{}, []string{blocked.RequestID, elevated.RequestID, declined.RequestID}},
		"newest":     {intake.Filter{Newest: true, Limit: 1}, []string{declined.RequestID}},
		"a user":     {intake.Filter{User: "ann"}, []string{elevated.RequestID, declined.RequestID}},
		"a session":  {intake.Filter{Session: "s1"}, []string{elevated.RequestID}},
		"blocked":    {intake.Filter{Outcome: "blocked"}, []string{blocked.RequestID}},
		"elevations": {intake.Filter{Outcome: "pending_approval"}, []string{elevated.RequestID}},
		"since":      {intake.Filter{Since: saturday.Add(time.Minute)}, []string{declined.RequestID}},
		"until":      {intake.Filter{Until: saturday.Add(time.Minute)}, []string{blocked.RequestID, elevated.RequestID}},
		"a code":     {intake.Filter{Code: intake.CodeConflict}, []string{elevated.RequestID}},
		"nothing":    {intake.Filter{User: "cat"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := a.List(t.Context(), row.filter)
			require.NoError(t, err)
			var got []string
			for _, s := range list {
				got = append(got, s.Request)
			}
			require.Equal(t, row.want, got)
		})
	}
	list, err := a.List(t.Context(), intake.Filter{})
	require.NoError(t, err)
	require.Equal(t, intake.Blocked, list[0].Status)
	require.Equal(t, "detector", list[0].Gate)
	require.Equal(t, intake.Completed, list[1].Status)
	require.Equal(t, "approved", list[1].Elevated)
	require.NotEmpty(t, list[1].Intent)
	require.Equal(t, intake.Denied, list[2].Status)
	next, err := a.List(t.Context(), intake.Filter{After: &list[0].Index, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, elevated.RequestID, next[0].Request)

	n, err := a.Stats(t.Context(), intake.Filter{})
	require.NoError(t, err)
	require.EqualValues(t, 3, n.Requests)
	require.Equal(t, map[string]int64{"blocked": 1, "pending_approval": 1, "pending_confirmation": 1}, n.Outcomes)
	require.Equal(t, map[string]int64{"approved": 1}, n.Elevations)
	require.Equal(t, map[string]int64{"declined": 1}, n.Confirmations)
	require.Equal(t, map[string]int64{"completed": 1, "denied": 1}, n.Ends)
	require.EqualValues(t, 1, n.Trusted)
	require.Equal(t, saturday, n.First)
	n, err = a.Stats(t.Context(), intake.Filter{User: "bob"})
	require.NoError(t, err)
	require.EqualValues(t, 1, n.Requests)

	none, err := a.Chain(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, none, "records of no request are none of the archive's")
}

// Commands that list records know the words of requests.
func TestWordsAreKnown(t *testing.T) {
	require.Subset(t, query.Kinds(), intake.Kinds())
	require.Subset(t, query.Outcomes(), intake.Outcomes())
	require.Subset(t, query.Gates(), intake.Gates())
}
