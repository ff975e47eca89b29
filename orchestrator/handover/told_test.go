package handover_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// Who is told that a call is pending can show its question and answer it at once.
func TestPendingQuestionIsThere(t *testing.T) {
	o := openOffice(t, asks)
	for n := range 50 {
		p := proposal()
		p.CallID, p.User = fmt.Sprint(n), fmt.Sprint("u", n)
		a, err := o.Handover.Propose(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, handover.Pending, a.State)
		_, err = o.Inbox.Answer(t.Context(), approval.Answer{Approval: a.Approval, Word: approval.Yes, By: "bob", Via: "test"})
		require.NoError(t, err, "call %d", n)
	}
}

// Where the question can't be put down, the call is pending all the same: its caller isn't kept waiting.
func TestPendingWhereTheQuestionFails(t *testing.T) {
	o := openOffice(t, asks)
	require.NoError(t, o.exec(`CREATE TRIGGER broken BEFORE INSERT ON approvals BEGIN SELECT RAISE(ABORT, 'full'); END`))
	a, err := o.Handover.Propose(t.Context(), proposal())
	require.NoError(t, err)
	require.Equal(t, handover.Pending, a.State)
	require.NoError(t, o.exec(`DROP TRIGGER broken`))
}
