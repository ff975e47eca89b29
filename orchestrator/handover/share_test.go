package handover_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// A principal that fills its share of the calls under way keeps no other one out, and has room again
// once one of its calls is over.
func TestShareOfAPrincipal(t *testing.T) {
	o := openOffice(t, asks)
	o.Handover.SetShare(3)
	var first handover.Answer
	for n := range 3 {
		p := proposal()
		p.CallID, p.User, p.Conversation = fmt.Sprint(n), fmt.Sprint("u", n), fmt.Sprint("c", n) // other users are no other principals
		a := o.propose(p)
		require.Equal(t, handover.Pending, a.State)
		if n == 0 {
			first = a
		}
	}
	p := proposal()
	_, err := o.Handover.Propose(t.Context(), p)
	require.ErrorIs(t, err, handover.ErrShare)
	require.ErrorIs(t, err, handover.ErrBusy)
	p.Principal = "token:b"
	require.Equal(t, handover.Pending, o.propose(p).State)

	o.answer(first.Approval, approval.No)
	q := proposal()
	q.CallID, q.User, q.Conversation = "0", "u0", "c0"
	require.Equal(t, handover.Denied, o.propose(waiting(q)).State)
	require.Equal(t, handover.Pending, o.propose(proposal()).State)
}

// Calls that were handed over are in flight until they are reported or their time is over.
func TestHandedOverCallsAreInFlight(t *testing.T) {
	o := openOffice(t, lenient)
	a, b := proposal(), proposal()
	b.CallID = "call_2"
	one, two := o.propose(a), o.propose(b)
	list := o.InFlight()
	require.Len(t, list, 2)
	for _, c := range list {
		require.Contains(t, []string{one.ID, two.ID}, c.CallID)
		require.Equal(t, sentinel.InFlight{CallID: c.CallID, Conversation: handover.ConversationID("token:a", "ann", "talk"), User: "ann",
			Agent: handover.DefaultAgent, Skill: "crm.update", Remote: "token:a", Phase: sentinel.PhaseHanded, Since: o.clock.now()}, c)
	}
	o.report(one.ID, handover.OK, "done")
	require.Len(t, o.InFlight(), 1)
	o.restart(lenient)
	o.propose(b)
	require.Len(t, o.InFlight(), 1, "the next process knows of it once its conversation is used")
	o.clock.move(handover.MaxLifetime)
	require.Empty(t, o.InFlight())
}
