package handover_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// A token that is revoked takes its calls with it: the one that a person was asked about and said yes to, and the
// warrant that lies here.
func TestRevokedTokenEndsItsCalls(t *testing.T) {
	for _, lying := range []bool{false, true} {
		o := openOffice(t, asks)
		tok, err := o.Tokens.Create(t.Context(), access.Wanted{Name: "a", User: "ann", Scopes: []access.Scope{access.Call}}, "local:root")
		require.NoError(t, err)
		p := proposal()
		p.Principal = "token:" + tok.ID
		id := o.propose(p).Approval
		o.answer(id, approval.Yes)
		o.awaitPhase(sentinel.PhasePlaces)
		if lying {
			require.NoError(t, o.Handover.Collect(t.Context(), p))
		}
		_, err = o.Tokens.Revoke(t.Context(), tok.ID, "local:root")
		require.NoError(t, err)
		a := o.propose(p)
		require.Equal(t, handover.Denied, a.State)
		require.Equal(t, sentinel.CodeRevoked, a.Refusal.Code)
		require.Empty(t, a.Warrant)
	}
}
