package control

import (
	"context"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/access"
)

// keeper is a process that keeps tokens.
type keeper struct {
	desk
	wanted []WantedToken
	by     []string
	fail   error
}

func (k *keeper) ListTokens(context.Context) ([]Token, error) { return nil, k.fail }

func (k *keeper) CreateToken(_ context.Context, w WantedToken, by string) (MadeToken, error) {
	k.wanted, k.by = append(k.wanted, w), append(k.by, by)
	return MadeToken{Token: Token{ID: "t1", Wanted: w}, Secret: "vdt_x"}, k.fail
}

func (k *keeper) RevokeToken(_ context.Context, begin, by string) (Token, error) {
	k.by = append(k.by, by)
	return Token{ID: begin}, k.fail
}

// Tokens are made and revoked in the name of the user at the other end, whatever the caller sends.
func TestTokensAreTheCallers(t *testing.T) {
	k := &keeper{}
	c := serveDesk(t, k, fromOutside)
	w := WantedToken{Name: "a", User: "ann", Scopes: []access.Scope{access.Chat}, Skills: []string{"email.*"},
		Limits: access.Limits{PerMinute: 3}}
	made, err := c.CreateToken(t.Context(), w)
	require.NoError(t, err)
	require.Equal(t, "vdt_x", made.Secret)
	require.Equal(t, []WantedToken{w}, k.wanted)
	gone, err := c.RevokeToken(t.Context(), "a/b c")
	require.NoError(t, err)
	require.Equal(t, "a/b c", gone.ID)
	me := NameLocal(os.Getuid())
	require.Equal(t, []string{me, me}, k.by)
	list, err := c.ListTokens(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
	for _, body := range []any{map[string]any{"name": "a", "by": "eve"}, map[string]any{"name": "a", "created_by": "eve"}, "x", nil} {
		err := c.callProcess(t.Context(), http.MethodPost, "/v1/tokens", body, &struct{}{})
		require.ErrorContains(t, err, "the body must be one JSON object", "%v", body)
	}
	for _, want := range []error{access.ErrToken, access.ErrNotFound, access.ErrRevoked} {
		k.fail = want
		_, err = c.RevokeToken(t.Context(), "t1")
		require.ErrorIs(t, err, want)
	}
}

// Strangers make no token; a process without tokens says so.
func TestTokensForStrangers(t *testing.T) {
	k := &keeper{}
	stranger := serveDesk(t, k, func(net.Conn) (who, error) { return who{uid: os.Getuid() + 1}, nil })
	_, err := stranger.CreateToken(t.Context(), WantedToken{Name: "a"})
	require.ErrorContains(t, err, "only the user whose process this is, and root, may")
	require.Empty(t, k.wanted)
	none := serveDesk(t, &desk{}, fromOutside)
	_, err = none.CreateToken(t.Context(), WantedToken{Name: "a"})
	require.ErrorIs(t, err, ErrNoTokens)
	_, err = none.ListTokens(t.Context())
	require.ErrorIs(t, err, ErrNoTokens)
	_, err = none.RevokeToken(t.Context(), "a")
	require.ErrorIs(t, err, ErrNoTokens)
}
