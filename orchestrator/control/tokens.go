package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/vedette-dev/vedette/orchestrator/access"
)

type (
	// Token is a token of the HTTP API, without its secret.
	Token = access.Token
	// WantedToken is a token that is to be made.
	WantedToken = access.Wanted
	// MadeToken is a token that was just made, with its secret.
	MadeToken = access.Made
)

// ErrNoTokens is returned by a process that keeps no tokens.
var ErrNoTokens = errors.New("the process keeps no tokens of an HTTP API")

// TokenBackend is a Backend whose process keeps tokens. Its methods return the errors of
// access.Tokens.
type TokenBackend interface {
	ListTokens(ctx context.Context) ([]Token, error)
	CreateToken(ctx context.Context, w WantedToken, by string) (MadeToken, error)
	RevokeToken(ctx context.Context, begin, by string) (Token, error)
}

// errWanted refuses a body that is no token.
var errWanted = errors.New(`the body must be one JSON object: {"name":"…","scopes":["chat"]}`)

// serveTokens adds the paths of tokens.
func (s *Server) serveTokens(mux *http.ServeMux) {
	b, ok := s.b.(TokenBackend)
	if !ok {
		b = noTokens{}
	}
	mux.HandleFunc("GET /v1/tokens", s.newHandler(func(r *http.Request) (any, error) {
		list, err := b.ListTokens(r.Context())
		if list == nil {
			list = []Token{}
		}
		return list, err
	}))
	mux.HandleFunc("POST /v1/tokens", s.newHandler(func(r *http.Request) (any, error) { return onCreateToken(r, b) }))
	mux.HandleFunc("DELETE /v1/tokens/{id}", s.newHandler(func(r *http.Request) (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), writeTimeout)
		defer cancel()
		return b.RevokeToken(ctx, r.PathValue("id"), localName(r))
	}))
}

// onCreateToken makes a token in the name of the user at the other end. Where that caller leaves,
// so does the secret: a token that no caller has is harmless, and on record.
func onCreateToken(r *http.Request, b TokenBackend) (any, error) {
	var in WantedToken
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || d.More() {
		return nil, errWanted
	}
	ctx, cancel := context.WithTimeout(r.Context(), writeTimeout)
	defer cancel()
	return b.CreateToken(ctx, in, localName(r))
}

// The codes of errors about tokens on the wire.
const (
	codeNoTokens     = "no_tokens"
	codeTokenUnknown = "token_unknown"
	codeTokenRevoked = "token_revoked"
	codeTokenWanted  = "token_wanted"
)

// tokenErrors are the errors about tokens that a code says all of.
var tokenErrors = []plainError{
	{codeNoTokens, http.StatusNotFound, ErrNoTokens}, {codeTokenUnknown, http.StatusNotFound, access.ErrNotFound},
	{codeTokenRevoked, http.StatusConflict, access.ErrRevoked}, {codeTokenWanted, http.StatusBadRequest, access.ErrToken},
	{codeTokenWanted, http.StatusBadRequest, errWanted},
}

// encodeTokenError is an error about tokens as it goes over the wire; ok is false for others.
func encodeTokenError(err error) (status int, f failed, ok bool) {
	for _, p := range tokenErrors {
		if errors.Is(err, p.err) {
			return p.status, failed{Error: err.Error(), Code: p.code}, true
		}
	}
	return 0, failed{}, false
}

// noTokens are the tokens of a Backend that has none.
type noTokens struct{}

// ListTokens returns ErrNoTokens.
func (noTokens) ListTokens(context.Context) ([]Token, error) { return nil, ErrNoTokens }

// CreateToken returns ErrNoTokens.
func (noTokens) CreateToken(context.Context, WantedToken, string) (MadeToken, error) {
	return MadeToken{}, ErrNoTokens
}

// RevokeToken returns ErrNoTokens.
func (noTokens) RevokeToken(context.Context, string, string) (Token, error) {
	return Token{}, ErrNoTokens
}

// ListTokens returns the tokens of the process, the oldest first.
func (c *Client) ListTokens(ctx context.Context) (out []Token, err error) {
	return out, c.callProcess(ctx, http.MethodGet, "/v1/tokens", nil, &out)
}

// CreateToken makes a token in the name of this process's user. The errors wrap access.ErrToken
// where it can't be made.
func (c *Client) CreateToken(ctx context.Context, w WantedToken) (out MadeToken, err error) {
	return out, c.callProcess(ctx, http.MethodPost, "/v1/tokens", w, &out)
}

// RevokeToken ends a token by its id or the beginning of it, in the name of this process's user.
// The errors are access.ErrNotFound and access.ErrRevoked.
func (c *Client) RevokeToken(ctx context.Context, begin string) (out Token, err error) {
	return out, c.callProcess(ctx, http.MethodDelete, "/v1/tokens/"+url.PathEscape(begin), nil, &out)
}
