package handover_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// What is purged leaves the memory too, or the next call would write it down again. A conversation in which a
// call is under way leaves after it, and other users keep theirs.
func TestForgetDropsWhatIsPurged(t *testing.T) {
	o := openOffice(t, asks)
	p, other := proposal(), proposal()
	other.User, other.Conversation = "bob", "c-bob"
	mine := o.propose(p)
	require.Equal(t, handover.Pending, mine.State)
	theirs := o.propose(other)
	o.answer(theirs.Approval, approval.No)
	require.Equal(t, handover.Denied, o.propose(waiting(other)).State)

	o.Handover.Forget(p.User, "")
	require.Equal(t, 1, o.Handover.CountInMemory(p.User), "a call is under way")
	require.Equal(t, 1, o.Handover.CountInMemory("bob"))
	o.answer(mine.Approval, approval.No)
	require.Equal(t, handover.Denied, o.propose(waiting(p)).State)
	require.Eventually(t, func() bool { return o.Handover.CountInMemory(p.User) == 0 }, time.Minute, time.Millisecond)
	o.Handover.Forget("bob", "")
	require.Zero(t, o.Handover.CountInMemory("bob"))
	require.Equal(t, handover.Denied, o.propose(waiting(other)).State, "it is read back")
}
