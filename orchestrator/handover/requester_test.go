package handover_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/approval"
)

const asksAnother = asks + "approvals: {inbox: true, timeout: 5m, who: [{exclude_requester: true}]}\n"

// Where the requester may not approve, neither may the person behind the token that proposed the call in
// the user's name, with that token or with another one. It stays so over a restart.
func TestRequesterIsWhoProposedToo(t *testing.T) {
	o := openOffice(t, asksAnother)
	p := proposal()
	p.By, p.User = "Carl", "ann" // carl's token has act_as
	first := o.propose(p)
	refused := func(by, principal string) {
		_, err := o.Inbox.Answer(context.Background(), approval.Answer{Approval: first.Approval, Word: approval.Yes, By: by, Via: "test",
			Principal: principal})
		require.ErrorIs(t, err, approval.ErrNotAllowed, by)
		item, err := approval.Get(context.Background(), o.Store.Reader(), first.Approval, o.clock.now())
		require.NoError(t, err)
		require.Equal(t, "Carl", item.Proposer)
		require.False(t, o.Inbox.May(by, item))
	}
	for range 2 {
		refused("ann", "token:ann")
		refused("carl", "token:carls-other")
		refused("local:carl", "")
		refused("Carl", "token:a")
		o.restart(asksAnother)
		require.Equal(t, first.Approval, o.propose(p).Approval)
	}
	o.answer(first.Approval, approval.Yes) // bob's
	require.NotEmpty(t, o.propose(waiting(p)).Warrant)
}
