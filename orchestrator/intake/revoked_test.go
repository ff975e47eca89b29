package intake_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/intake"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// The calls of a request end with the token that sent it: its skill is not run, an approver's yes gives nothing, and the
// next process asks no more.
func TestRevokedTokenEndsItsRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		text           string
		restarts, asks bool
	}{
		"a skill":                      {text: "Note down milk"},
		"an approver is asked":         {text: "Find experts about taxes", asks: true},
		"an approver is asked earlier": {text: "Find experts about taxes", asks: true, restarts: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := settings{}
			if tc.asks {
				s.models = payer()
			}
			c := newCounter(t, s)
			tok, err := c.Tokens.Create(t.Context(), access.Wanted{Name: "a", User: "ann", Scopes: []access.Scope{access.Chat}}, "local:root")
			require.NoError(t, err)
			r := intake.Request{ID: "r1", User: "ann", Session: "s1", Principal: "token:" + tok.ID, Text: tc.text}
			if tc.asks {
				require.Equal(t, intake.PendingApproval, c.sendAs(r).Status)
			}
			_, err = c.Tokens.Revoke(t.Context(), tok.ID, "local:root")
			require.NoError(t, err)
			switch {
			case tc.restarts:
				c.restart(nil)
			case tc.asks:
				require.NoError(t, c.answer(c.asked(), approval.Yes))
			default:
				c.sendAs(r)
			}
			require.Equal(t, intake.Denied, c.await(r.ID).Status)
			require.Empty(t, c.did())
			require.Empty(t, c.noted)
			list, err := c.Ledger.List(t.Context(), ledger.Query{User: "ann", Code: sentinel.CodeRevoked})
			require.NoError(t, err)
			require.NotEmpty(t, list)
		})
	}
}
