package oidc_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/access/oidc"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(int) { http.DefaultTransport.(*http.Transport).CloseIdleConnections() }))
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// idp is an issuer on the loopback that signs tokens.
type idp struct {
	*httptest.Server
	key    *rsa.PrivateKey
	id     string
	fetchs atomic.Int32
	away   atomic.Bool
	now    atomic.Pointer[time.Time]
	log    bytes.Buffer
}

func newIDP(t *testing.T) *idp {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	p := &idp{key: key, id: "k1"}
	p.setNow(start)
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		if p.away.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL,
			"token_endpoint": p.URL, "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		p.fetchs.Add(1)
		if p.away.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{
			Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: p.id, Algorithm: "RS256", Use: "sig"}},
		})
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *idp) setNow(at time.Time) { p.now.Store(&at) }

func (p *idp) claims() map[string]any {
	return map[string]any{
		"iss": p.URL, "sub": "s-1", "aud": []string{"vedette", "other"}, "exp": start.Add(time.Hour).Unix(), "iat": start.Unix(),
		"email": "ann@example.com", "email_verified": true, "scope": "openid vedette:chat vedette:admin", "groups": []string{"staff", "others"},
	}
}

func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, id string, claims any) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	require.NoError(t, err)
	b, err := json.Marshal(claims)
	require.NoError(t, err)
	sig, err := s.Sign(b)
	require.NoError(t, err)
	out, err := sig.CompactSerialize()
	require.NoError(t, err)
	return out
}

func (p *idp) sign(t *testing.T, change func(map[string]any)) string {
	t.Helper()
	c := p.claims()
	if change != nil {
		change(c)
	}
	return sign(t, jose.RS256, p.key, p.id, c)
}

func (p *idp) open(t *testing.T, change func(*oidc.Options)) *oidc.Issuer {
	t.Helper()
	o := oidc.Options{Issuer: p.URL, Audience: "vedette", UserClaim: "email", Scopes: []access.Scope{access.Chat},
		Groups: map[string][]access.Scope{"staff": {access.Approve, access.Review}, "admins": {access.Admin}}, UserTurns: access.UserTurnsHuman,
		Limits: access.Limits{PerMinute: 30}, Now: func() time.Time { return *p.now.Load() }, Log: slog.New(slog.NewTextHandler(&p.log, nil))}
	if change != nil {
		change(&o)
	}
	i, err := oidc.New(o)
	require.NoError(t, err)
	return i
}

// A token says who calls, and what configuration and groups say that they may do.
func TestPrincipal(t *testing.T) {
	p := newIDP(t)
	i := p.open(t, nil)
	got, err := i.Authenticate(t.Context(), p.sign(t, nil))
	require.NoError(t, err)
	require.Equal(t, access.Principal{
		ID: "oidc:" + p.URL + "|s-1", Name: "ann@example.com", User: "ann@example.com",
		Scopes: []access.Scope{access.Approve, access.Chat,
			access.Review}, Limits: access.Limits{PerMinute: 30}, UserTurns: "human", Group: "staff",
		Expires: start.Add(time.Hour).Local(),
	}, got, "admin of the claim doesn't count")
	got, err = i.Authenticate(t.Context(), p.sign(t, func(c map[string]any) {
		c["scope"], c["groups"] = []string{"vedette:chat", "chat"}, "admins staff"
	}))
	require.NoError(t, err)
	require.Equal(t, []access.Scope{access.Admin, access.Approve, access.Chat, access.Review}, got.Scopes)
	got, err = i.Authenticate(t.Context(), p.sign(t, func(c map[string]any) {
		delete(c,
			"scope")
		c["groups"] = map[string]any{"staff": true}
	}))
	require.NoError(t, err)
	require.Empty(t, got.Scopes)
	require.Equal(t, int32(1), p.fetchs.Load(), "keys are asked for once")
}

// What isn't right in each respect lets no caller in.
func TestRefused(t *testing.T) {
	p := newIDP(t)
	i := p.open(t, nil)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	set := func(k string, v any) string { return p.sign(t, func(c map[string]any) { c[k] = v }) }
	good := p.sign(t, nil)
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"issuer":              set("iss", "https://evil.example.com"),
		"audience":            set("aud", "other"),
		"no audience":         p.sign(t, func(c map[string]any) { delete(c, "aud") }),
		"expired":             set("exp", start.Add(-time.Second).Unix()),
		"no expiry":           p.sign(t, func(c map[string]any) { delete(c, "exp") }),
		"not yet":             set("nbf", start.Add(time.Hour).Unix()),
		"another's key":       sign(t, jose.RS256, other, p.id, p.claims()),
		"another kind of key": sign(t, jose.ES256, ec, p.id, p.claims()),
		"shared secret":       sign(t, jose.HS256, crypto.PublicKey(bytes.Repeat([]byte("k"), 32)), p.id, p.claims()),
		"no signature":        parts[0] + "." + parts[1] + ".",
		"none":                "eyJhbGciOiJub25lIn0." + parts[1] + ".",
		"another's claims":    parts[0] + "." + strings.Split(set("email", "eve@example.com"), ".")[1] + "." + parts[2],
		"garbage":             "a.b.c",
		"unverified":          set("email_verified", false),
		"verified, as text":   set("email_verified", "true"),
		"no user":             p.sign(t, func(c map[string]any) { delete(c, "email") }),
		"user is a list":      set("email", []string{"ann"}),
		"user with a line":    set("email", "ann\nbob"),
		"user of the machine": set("email", "local:root"),
		"user of a token":     set("email", "token:ops"),
		"no subject":          set("sub", ""),
		"subject with a line": set("sub", "a\nb"),
		"long subject":        set("sub", strings.Repeat("s", 256)),
	} {
		_, err := i.Authenticate(t.Context(), token)
		require.ErrorIs(t, err, access.ErrUnauthenticated, name)
	}
	_, err = i.Authenticate(t.Context(), good)
	require.NoError(t, err)
	require.NotContains(t, p.log.String(), "ann")
	require.NotContains(t, p.log.String(), parts[1])
}

// Tokens with made-up keys don't have the issuer asked each time.
func TestMadeUpKeys(t *testing.T) {
	p := newIDP(t)
	i := p.open(t, nil)
	_, err := i.Authenticate(t.Context(), p.sign(t, nil))
	require.NoError(t, err)
	for n := range 50 {
		_, err := i.Authenticate(t.Context(), sign(t, jose.RS256, p.key, "made-up-"+string(rune('a'+n)), p.claims()))
		require.ErrorIs(t, err, access.ErrUnauthenticated)
	}
	require.Less(t, p.fetchs.Load(), int32(7))
	_, err = i.Authenticate(t.Context(), p.sign(t, nil))
	require.NoError(t, err, "users whose key is known are not in the way of it")
}

// An issuer that is away is no denial, keeps no server from starting, and its keys count on for a day.
func TestIssuerAway(t *testing.T) {
	p := newIDP(t)
	p.away.Store(true)
	i := p.open(t, nil)
	_, err := i.Authenticate(t.Context(), p.sign(t, nil))
	require.ErrorIs(t, err, access.ErrAway)
	p.away.Store(false)
	_, err = i.Authenticate(t.Context(), p.sign(t, nil))
	require.NoError(t, err)
	p.away.Store(true)
	long := p.sign(t, func(c map[string]any) { c["exp"] = start.Add(100 * time.Hour).Unix() })
	p.setNow(start.Add(2 * time.Hour))
	_, err = i.Authenticate(t.Context(), long)
	require.NoError(t, err)
	p.setNow(start.Add(25 * time.Hour))
	_, err = i.Authenticate(t.Context(), long)
	require.ErrorIs(t, err, access.ErrAway)
}

// Requests that wait for an issuer which doesn't answer are all told so when the first of them is: tokens that
// anybody can make up would hold their connections up otherwise.
func TestIssuerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		i, err := oidc.New(oidc.Options{Issuer: "https://id.example.com", Audience: "v", Scopes: []access.Scope{access.Chat}, Transport: hang})
		require.NoError(t, err)
		began := time.Now()
		ended := make(chan error, 50)
		for range cap(ended) {
			go func() {
				_, err := i.Authenticate(t.Context(), "a.b.c")
				ended <- err
			}()
		}
		for range cap(ended) {
			require.ErrorIs(t, <-ended, access.ErrAway)
		}
		require.LessOrEqual(t, time.Since(began), 20*time.Second)
	})
}

// transport is a function that sends requests.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A key that the issuer took back ends within the hour; a new one counts at once.
func TestKeysChange(t *testing.T) {
	p := newIDP(t)
	i := p.open(t, nil)
	long := func(c map[string]any) { c["exp"] = start.Add(100 * time.Hour).Unix() }
	old := p.sign(t, long)
	_, err := i.Authenticate(t.Context(), old)
	require.NoError(t, err)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	p.key, p.id = key, "k2"
	p.setNow(start.Add(time.Hour))
	_, err = i.Authenticate(t.Context(), old)
	require.ErrorIs(t, err, access.ErrUnauthenticated)
	_, err = i.Authenticate(t.Context(), p.sign(t, long))
	require.NoError(t, err)
}

// Options that would let the wrong ones in are refused.
func TestOptions(t *testing.T) {
	chat := []access.Scope{access.Chat}
	for _, o := range []oidc.Options{
		{Issuer: "http://i.example.com", Audience: "v", Scopes: chat}, {Issuer: "https://u:p@i.example.com", Audience: "v", Scopes: chat},
		{Issuer: "https://i.example.com?a", Audience: "v", Scopes: chat}, {Issuer: "", Audience: "v", Scopes: chat},
		{Issuer: "https://i.example.com", Scopes: chat}, {Issuer: "https://i.example.com", Audience: "v"},
		{Issuer: "https://i.example.com", Audience: "v", Scopes: []access.Scope{"chats"}},
		{Issuer: "https://i.example.com", Audience: "v", Groups: map[string][]access.Scope{"a": {"chats"}}},
	} {
		_, err := oidc.New(o)
		require.Error(t, err, "%+v", o)
	}
}

// Whatever is sent as a token, the issuer's rules hold and nothing breaks.
func FuzzAuthenticate(f *testing.F) {
	for _, s := range []string{"", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", "eyJhbGciOiJSUzI1NiJ9.e30.AA", "..",
		"eyJhbGciOiJSUzI1NiIsImNyaXQiOlsiYjY0Il19.e30.AA"} {
		f.Add(s)
	}
	p := &idp{}
	p.setNow(start)
	p.Server = httptest.NewServer(http.NotFoundHandler())
	f.Cleanup(p.Close)
	i, err := oidc.New(oidc.Options{Issuer: p.URL, Audience: "v", Scopes: []access.Scope{access.Chat}, Now: func() time.Time { return start }})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, token string) {
		got, err := i.Authenticate(t.Context(), token)
		require.Error(t, err)
		require.Empty(t, got.ID)
	})
}
