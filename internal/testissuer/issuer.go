// Package testissuer is an OpenID Connect issuer on the loopback, for tests: the authorization code flow with
// PKCE, real RSA keys, and each way to do it wrong.
//
//	is := testissuer.Start(t, "https://vedette.example.com/login/callback")
//	is.Set(testissuer.Claims(func(claims map[string]any) { claims["nonce"] = "another" }))
//
// The issuer signs people in at once, and asks no password.
//
// What not to do: don't start one outside of a test.
package testissuer

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// ClientID and ClientSecret are those of the one client that the issuer knows.
const (
	ClientID     = "vedette-pages"
	ClientSecret = "s3cret of the client"
)

// Issuer is a running issuer. Its methods are safe for concurrent use.
type Issuer struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	callback string
	key      *rsa.PrivateKey
	keyID    string
	now      func() time.Time
	change   func(map[string]any)
	sign     func(claims map[string]any) string
	answer   func(url.Values)
	form     bool // a person presses a button
	away     bool
	broken   string                      // what the token endpoint answers instead
	offline  bool                        // refresh tokens are given
	refused  bool                        // refresh tokens count no more
	userInfo func(w http.ResponseWriter) // nil where there is none
	signOut  string                      // the address at which people sign out; empty is none
	access   map[string]bool
	codes    map[string]grant
	renewals map[string]bool
	asked    []url.Values // of the token endpoint
	led      []url.Values // of the authorization endpoint
}

// grant is what a code stands for.
type grant struct{ challenge, nonce string }

// Start starts an issuer that leads back to callback, and ends it with the test.
func Start(t testing.TB, callback string) *Issuer {
	t.Helper()
	i := &Issuer{t: t, callback: callback, now: time.Now, codes: map[string]grant{}, renewals: map[string]bool{},
		access: map[string]bool{}}
	i.Rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.onDiscovery)
	mux.HandleFunc("GET /keys", i.onKeys)
	mux.HandleFunc("GET /authorize", i.onAuthorize)
	mux.HandleFunc("POST /token", i.onToken)
	mux.HandleFunc("GET /userinfo", i.onUserInfo)
	mux.HandleFunc("GET /end", i.onSignOut)
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.away {
			http.Error(w, "CANARY of a broken issuer", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	i.URL = strings.Replace(i.URL, "127.0.0.1", "localhost", 1) // another site than that of 127.0.0.1
	t.Cleanup(i.Close)
	return i
}

// Set changes the issuer. Options are below.
func (i *Issuer) Set(list ...Option) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, set := range list {
		set(i)
	}
}

// Option changes an issuer.
type Option func(*Issuer)

// Claims changes the claims of ID tokens from now on.
func Claims(change func(map[string]any)) Option { return func(i *Issuer) { i.change = change } }

// Signing makes ID tokens otherwise; nil is the issuer's own way.
func Signing(sign func(claims map[string]any) string) Option {
	return func(i *Issuer) { i.sign = sign }
}

// Answer changes what browsers bring back.
func Answer(change func(url.Values)) Option { return func(i *Issuer) { i.answer = change } }

// Away makes each answer a 502.
func Away(is bool) Option { return func(i *Issuer) { i.away = is } }

// Broken is what the token endpoint answers, with 400; empty is the issuer's own answer.
func Broken(body string) Option { return func(i *Issuer) { i.broken = body } }

// Offline gives refresh tokens.
func Offline() Option { return func(i *Issuer) { i.offline = true } }

// Refused ends all refresh tokens.
func Refused() Option { return func(i *Issuer) { i.refused = true } }

// UserInfo has the issuer tell of people besides, to those who bring an access token of its own; nil is none.
func UserInfo(answer func(w http.ResponseWriter)) Option {
	return func(i *Issuer) { i.userInfo = answer }
}

// SignOut is the address at which people sign out; "/end" of the issuer is one that does, and leads back.
func SignOut(address string) Option { return func(i *Issuer) { i.signOut = address } }

// Form has a person press a button before the issuer leads back.
func Form() Option { return func(i *Issuer) { i.form = true } }

// Callback is the address to which the issuer leads back.
func Callback(address string) Option { return func(i *Issuer) { i.callback = address } }

// Clock is the issuer's clock.
func Clock(now func() time.Time) Option { return func(i *Issuer) { i.now = now } }

// Rotate makes a new key; tokens of the one before count no more.
func (i *Issuer) Rotate() {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(i.t, err)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key, i.keyID = key, rand.Text()
}

// Asked are the requests at the token endpoint.
func (i *Issuer) Asked() []url.Values {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]url.Values(nil), i.asked...)
}

// Led are the requests at the authorization endpoint.
func (i *Issuer) Led() []url.Values {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]url.Values(nil), i.led...)
}

func (i *Issuer) onDiscovery(w http.ResponseWriter, _ *http.Request) {
	more := map[string]any{}
	if i.userInfo != nil {
		more["userinfo_endpoint"] = i.URL + "/userinfo"
	}
	if i.signOut != "" {
		more["end_session_endpoint"] = i.signOut
	}
	maps.Copy(more, map[string]any{
		"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
		"id_token_signing_alg_values_supported": []string{"RS256", "none"}, "authorization_response_iss_parameter_supported": true,
	})
	writeJSON(w, more)
}

func (i *Issuer) onUserInfo(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if i.userInfo == nil || !i.access[token] {
		http.Error(w, "CANARY of the issuer", http.StatusUnauthorized)
		return
	}
	i.userInfo(w)
}

// onSignOut ends a session, whose ID token is the hint, and leads back.
func (i *Issuer) onSignOut(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	i.led = append(i.led, q)
	if q.Get("client_id") != ClientID || strings.Count(q.Get("id_token_hint"), ".") != 2 {
		http.Error(w, "the issuer does not know whom to sign out", http.StatusBadRequest)
		return
	}
	http.Redirect(w, r, q.Get("post_logout_redirect_uri"), http.StatusFound)
}

func (i *Issuer) onKeys(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: i.keyID, Algorithm: "RS256", Use: "sig"}}})
}

func (i *Issuer) onAuthorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	i.led = append(i.led, q)
	if q.Get("client_id") != ClientID || q.Get("redirect_uri") != i.callback || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || !strings.Contains(" "+q.Get("scope")+" ", " openid ") {
		http.Error(w, "the issuer does not know this client", http.StatusBadRequest)
		return
	}
	if i.form && q.Get("pressed") == "" {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<form><button id="agree">I am Ann</button>`)
		for name := range q {
			_, _ = fmt.Fprintf(w, `<input type="hidden" name=%q value=%q>`, name, q.Get(name))
		}
		_, _ = io.WriteString(w, `<input type="hidden" name="pressed" value="1"></form>`)
		return
	}
	code := rand.Text()
	i.codes[code] = grant{q.Get("code_challenge"), q.Get("nonce")}
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.URL}}
	if i.answer != nil {
		i.answer(back)
	}
	http.Redirect(w, r, i.callback+"?"+back.Encode(), http.StatusFound)
}

func (i *Issuer) onToken(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil {
		refuse(w, "invalid_request")
		return
	}
	i.asked = append(i.asked, r.PostForm)
	id, secret, _ := r.BasicAuth()
	id, err1 := url.QueryUnescape(id)
	secret, err2 := url.QueryUnescape(secret)
	switch {
	case i.broken != "":
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, i.broken)
		return
	case err1 != nil || err2 != nil || id != ClientID || secret != ClientSecret:
		refuse(w, "invalid_client")
		return
	}
	nonce, ok := i.spend(r.PostForm)
	if !ok {
		refuse(w, "invalid_grant")
		return
	}
	out := map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 300}
	i.access[out["access_token"].(string)] = true
	out["id_token"] = i.makeToken(nonce, out["access_token"].(string))
	if i.offline {
		renewal := rand.Text()
		i.renewals[renewal], out["refresh_token"] = true, renewal
	}
	writeJSON(w, out)
}

// spend uses up a code or a refresh token.
func (i *Issuer) spend(q url.Values) (nonce string, ok bool) {
	switch q.Get("grant_type") {
	case "authorization_code":
		g, known := i.codes[q.Get("code")]
		delete(i.codes, q.Get("code"))
		sum := sha256.Sum256([]byte(q.Get("code_verifier")))
		return g.nonce, known && q.Get("redirect_uri") == i.callback && base64.RawURLEncoding.EncodeToString(sum[:]) == g.challenge
	case "refresh_token":
		known := i.renewals[q.Get("refresh_token")]
		delete(i.renewals, q.Get("refresh_token"))
		return "", known && !i.refused
	}
	return "", false
}

// makeToken makes an ID token.
func (i *Issuer) makeToken(nonce, access string) string {
	now, sum := i.now(), sha256.Sum256([]byte(access))
	claims := map[string]any{
		"iss": i.URL, "sub": "s-1", "aud": ClientID, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "email": "ann@example.com",
		"email_verified": true, "groups": []string{"staff"}, "at_hash": base64.RawURLEncoding.EncodeToString(sum[:16]),
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	if i.change != nil {
		i.change(claims)
	}
	if i.sign != nil {
		return i.sign(claims)
	}
	return Sign(i.t, jose.RS256, i.key, i.keyID, claims)
}

// Sign signs claims.
func Sign(t testing.TB, alg jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	require.NoError(t, err)
	raw, err := json.Marshal(claims)
	require.NoError(t, err)
	signed, err := s.Sign(raw)
	require.NoError(t, err)
	out, err := signed.CompactSerialize()
	require.NoError(t, err)
	return out
}

func refuse(w http.ResponseWriter, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = fmt.Fprintf(w, `{"error":%q,"error_description":"CANARY of the issuer"}`, code)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
