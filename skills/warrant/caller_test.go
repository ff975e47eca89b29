package warrant

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	plainHead  = `{"alg":"EdDSA","kid":"k1","typ":"vedette-warrant+jwt"}`
	callerHead = `{"alg":"EdDSA","kid":"k1","typ":"vedette-warrant.caller+jwt"}`
)

// A token names its user, and a receiver reads the name from it alone.
func TestVerifyCaller(t *testing.T) {
	w := newWire(t)
	c := w.claims()
	c.User, c.Conversation = "alice@example.com", "conv-1"
	token := w.token(c)
	r := request(token)
	caller, got, err := VerifyCaller(r, w.opts)
	require.NoError(t, err)
	require.Equal(t, Caller{User: "alice@example.com", Conversation: "conv-1", CallID: "c1", IdempotencyKey: "c1"}, caller)
	require.Equal(t, c, got)
	_, _, err = VerifyCaller(request(token), w.opts)
	require.ErrorIs(t, err, ErrSpent)
}

// Without a user there is no caller, and the refusal uses no id up.
func TestVerifyCallerNeedsAUser(t *testing.T) {
	w := newWire(t)
	token := w.token(w.claims())
	caller, c, err := VerifyCaller(request(token), w.opts)
	require.ErrorIs(t, err, ErrNoCaller)
	require.Zero(t, caller)
	require.Zero(t, c)
	c, err = VerifyHTTP(request(token), w.opts)
	require.NoError(t, err)
	_, named := c.Caller()
	require.False(t, named)
}

// A token without a user is written as it always was.
func TestTokenWithoutUserIsUnchanged(t *testing.T) {
	w := newWire(t)
	parts := strings.Split(w.token(w.claims()), ".")
	head, err := encoding.DecodeString(parts[0])
	require.NoError(t, err)
	require.Equal(t, plainHead, string(head))
	raw, err := encoding.DecodeString(parts[1])
	require.NoError(t, err)
	require.NotContains(t, string(raw), `"sub"`)
	require.NotContains(t, string(raw), `"cid"`)
}

// Type and claims agree, both ids or none are there, and neither is too long.
func TestCallerClaimsMustAgree(t *testing.T) {
	w := newWire(t)
	c := w.claims()
	plain, err := json.Marshal(c.toPayload())
	require.NoError(t, err)
	c.User, c.Conversation = "u", "v"
	named, err := json.Marshal(c.toPayload())
	require.NoError(t, err)
	for name, token := range map[string]string{
		"a user in a token of the plain type": sign(plainHead, string(named)),
		"no user in a token of the other":     sign(callerHead, string(plain)),
		"a user alone":                        sign(callerHead, strings.Replace(string(named), `,"cid":"v"`, "", 1)),
		"a conversation alone":                sign(plainHead, strings.Replace(string(named), `"sub":"u",`, "", 1)),
		"another user than was signed":        strings.Replace(w.token(c), ".", "x.", 1),
	} {
		require.ErrorIs(t, w.verify(request(token)), ErrInvalid, name)
	}
	require.NoError(t, w.verify(request(sign(callerHead, string(named)))))
	for _, bad := range []Claims{{User: "u"}, {Conversation: "v"}, {User: strings.Repeat("u", 257), Conversation: "v"},
		{User: "\xff", Conversation: "v"}} {
		c := w.claims()
		c.User, c.Conversation = bad.User, bad.Conversation
		_, err := w.signer.Token(c)
		require.ErrorIs(t, err, ErrOptions)
	}
	c.User = strings.Repeat("ü", 128)
	_, _, err = VerifyCaller(func() *http.Request { c.ID = "j2"; return request(w.token(c)) }(), w.opts)
	require.NoError(t, err)
}
