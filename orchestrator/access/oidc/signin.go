package oidc

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"github.com/vedette-dev/vedette/orchestrator/access"
)

// Client is this server as an issuer knows it.
type Client struct {
	// ID is its name there; an ID token must have it as aud.
	ID string
	// Secret proves that it is this server. It is empty for a public client.
	Secret string
	// Scopes are asked for besides openid: those that put user and groups into the ID token, and
	// offline_access where the issuer gives no refresh token without it.
	Scopes []string
	// UserInfo has user and groups asked for at the issuer's UserInfo where its ID token lacks them.
	UserInfo bool
	// SignOut has people signed out at the issuer too, where it says how.
	SignOut bool
}

const (
	attemptTime   = 10 * time.Minute // how long a person may take at the issuer
	recheckAfter  = 15 * time.Minute // after which the issuer is asked again about a person who signed in
	exchangeEvery = 200 * time.Millisecond
	exchangeBurst = 50
	maxField      = 4 << 10 // of what a browser brings back
)

// check refuses a client that no issuer would know.
func (c Client) check() error {
	if c.ID == "" && (c.Secret != "" || len(c.Scopes) > 0 || c.UserInfo || c.SignOut) {
		return errors.New("the client's id is missing: the issuer knows the server by it")
	}
	for _, s := range c.Scopes {
		if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			return errors.New("a scope of the client is empty, or has characters that no scope has")
		}
	}
	return nil
}

// choosePlace says where the secret goes, by what the issuer takes. It never tries both: the second try
// would be a code that was used already.
func (c Client) choosePlace(methods []string) oauth2.AuthStyle {
	if c.Secret == "" || len(methods) > 0 && !slices.Contains(methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// signIns are the sign-ins of people: how the issuer is asked, and which answers were taken.
type signIns struct {
	client *http.Client
	most   *rate.Limiter
	mu     sync.Mutex
	spent  map[[32]byte]time.Time // by the SHA-256 of an attempt's state: when it may be forgotten
}

// newSignIns bounds how often the issuer is asked: each visitor of the callback can have it asked. What
// is sent holds a code and the secret, so it follows no redirect.
func newSignIns(next http.RoundTripper, now func() time.Time) *signIns {
	most := rate.NewLimiter(rate.Every(exchangeEvery), exchangeBurst)
	c := &http.Client{Transport: boundAsking(next, most, now), Timeout: askTime, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	return &signIns{client: c, most: most, spent: map[[32]byte]time.Time{}}
}

// spend reports whether an attempt is used for the first time. The attempts that it remembers are bounded
// by the rate at which the issuer is asked.
func (s *signIns) spend(state string, now time.Time) (first bool, err error) {
	key := sha256.Sum256([]byte(state))
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, used := s.spent[key]; used {
		return false, nil
	}
	if s.most.TokensAt(now) < 1 {
		return false, errTooOften
	}
	for old, until := range s.spent {
		if now.After(until) {
			delete(s.spent, old)
		}
	}
	s.spent[key] = now.Add(attemptTime)
	return true, nil
}

// attempt is what a sign-in began with. The browser keeps it, sealed by who called Begin.
type attempt struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Begun    time.Time `json:"begun"`
}

// Begin returns the address at the issuer to which a browser is led, and an attempt that Finish wants
// again. The issuer leads the browser to callback. An attempt is a secret of the browser that began it:
// seal it, and bind it to that browser. The error is access.ErrAway.
func (i *Issuer) Begin(ctx context.Context, callback string) (address, kept string, err error) {
	d, err := i.findSignIn(ctx)
	if err != nil {
		return "", "", err
	}
	a := attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Begun: i.o.Now().UTC()}
	raw, err := json.Marshal(a)
	if err != nil {
		return "", "", err
	}
	address = i.configure(d, callback).AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier), gooidc.Nonce(a.Nonce))
	return address, string(raw), nil
}

// Name is the issuer's host, for people to read.
func (i *Issuer) Name() string {
	u, err := url.Parse(i.o.Issuer)
	if err != nil {
		return ""
	}
	return u.Host
}

// findSignIn is findIssuer for people: the places where they and codes go must be safe.
func (i *Issuer) findSignIn(ctx context.Context) (*discovery, error) {
	if i.o.Client.ID == "" {
		return nil, errors.New("the issuer knows no client of this server: set Options.Client")
	}
	d, err := i.findIssuer(ctx)
	if err != nil {
		return nil, err
	}
	if !isAddressOfKeys(d.oauth.AuthURL) || !isAddressOfKeys(d.oauth.TokenURL) {
		i.o.Log.Warn("the issuer names no safe address where people sign in; they can't until it does", "issuer", i.o.Issuer)
		return nil, access.ErrAway
	}
	return d, nil
}

// configure is the client for one callback.
func (i *Issuer) configure(d *discovery, callback string) *oauth2.Config {
	scopes := append([]string{gooidc.ScopeOpenID}, slices.DeleteFunc(slices.Clone(i.o.Client.Scopes), func(s string) bool {
		return s == gooidc.ScopeOpenID
	})...)
	return &oauth2.Config{ClientID: i.o.Client.ID, ClientSecret: i.o.Client.Secret, Endpoint: d.oauth, RedirectURL: callback, Scopes: scopes}
}

// Finish returns who came back to the callback with an answer of the issuer, for the attempt that Begin
// gave. The errors are access.ErrDeclined where the issuer signed no person in, access.ErrUnauthenticated where
// the answer isn't what the attempt waits for, and access.ErrAway.
func (i *Issuer) Finish(ctx context.Context, callback, kept string, answer url.Values) (out access.Arrival, err error) {
	d, err := i.findSignIn(ctx)
	if err != nil {
		return out, err
	}
	var a attempt
	if json.Unmarshal([]byte(kept), &a) != nil || a.State == "" || a.Nonce == "" || a.Verifier == "" {
		return out, access.ErrUnauthenticated
	}
	code, err := i.readAnswer(d, a, answer)
	if err != nil {
		return out, err
	}
	switch first, err := i.signIns.spend(a.State, i.o.Now()); {
	case err != nil:
		return out, access.ErrAway
	case !first:
		return out, access.ErrUnauthenticated
	}
	t, err := i.configure(d, callback).Exchange(i.withClient(ctx), code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return out, i.readTrouble(err)
	}
	return i.readPerson(ctx, d, t, func(id *gooidc.IDToken) bool { return isSame(id.Nonce, a.Nonce) })
}

// readAnswer returns the code of an answer that the attempt waits for.
func (i *Issuer) readAnswer(d *discovery, a attempt, answer url.Values) (code string, err error) {
	for _, list := range answer {
		if len(list) != 1 || len(list[0]) > maxField {
			return "", access.ErrUnauthenticated
		}
	}
	age := i.o.Now().Sub(a.Begun)
	if !isSame(answer.Get("state"), a.State) || age < 0 || age > attemptTime {
		return "", access.ErrUnauthenticated
	}
	if by := answer.Get("iss"); by != i.o.Issuer && (by != "" || d.namesItself) {
		i.o.Log.Warn("an answer at the callback names another issuer, or none", "issuer", i.o.Issuer)
		return "", access.ErrUnauthenticated
	}
	if trouble := answer.Get("error"); trouble != "" {
		i.o.Log.Info("the issuer signed no person in", "issuer", i.o.Issuer, "error", shortenCode(trouble))
		return "", access.ErrDeclined
	}
	if code = answer.Get("code"); code == "" {
		return "", access.ErrUnauthenticated
	}
	return code, nil
}

// Renew asks the issuer about a person who signed in earlier: who they are now, and what they may do. The
// renewal that it was given is used up. The errors are those of Finish; each ends the session.
func (i *Issuer) Renew(ctx context.Context, old access.Principal, renewal string) (p access.Principal, next string, err error) {
	d, err := i.findSignIn(ctx)
	if err != nil {
		return p, "", err
	}
	source := i.configure(d, "").TokenSource(i.withClient(ctx), &oauth2.Token{RefreshToken: renewal})
	t, err := source.Token()
	if err != nil {
		return p, "", i.readTrouble(err)
	}
	now, err := i.readPerson(ctx, d, t, func(*gooidc.IDToken) bool { return true })
	if err == nil && now.Principal.ID != old.ID {
		err = access.ErrUnauthenticated
	}
	if err != nil {
		return access.Principal{}, "", err
	}
	return now.Principal, cmp.Or(now.Renewal, renewal), nil
}

// withClient is the context of a question with a code or a secret.
func (i *Issuer) withClient(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, i.signIns.client)
}

// readPerson reads who the issuer's answer is about, once its ID token was checked.
func (i *Issuer) readPerson(
	ctx context.Context, d *discovery, t *oauth2.Token, fits func(*gooidc.IDToken) bool,
) (out access.Arrival, err error) {
	raw, _ := t.Extra("id_token").(string)
	if raw == "" {
		i.o.Log.Warn("the issuer gave no ID token, so nothing says who signs in", "issuer", i.o.Issuer)
		return out, access.ErrUnauthenticated
	}
	id, err := i.verify(ctx, d.people, raw)
	if err != nil {
		i.o.Log.Warn("an ID token of the issuer does not count", "issuer", i.o.Issuer)
		return out, err
	}
	var claims struct {
		For string `json:"azp"`
	}
	if id.Claims(&claims) != nil || claims.For != i.o.Client.ID && (claims.For != "" || len(id.Audience) > 1) || !fits(id) ||
		id.AccessTokenHash != "" && id.VerifyAccessToken(t.AccessToken) != nil {
		i.o.Log.Warn("an ID token of the issuer was made for something else", "issuer", i.o.Issuer)
		return out, access.ErrUnauthenticated
	}
	more, err := i.askUserInfo(ctx, d, id, t)
	if err != nil {
		return out, err
	}
	p, err := i.admit(id, more)
	if err != nil {
		return out, err
	}
	if soon := i.o.Now().Add(recheckAfter); t.RefreshToken != "" && soon.Before(p.Expires) {
		p.Expires = soon
	}
	out = access.Arrival{Principal: p, Renewal: t.RefreshToken}
	if i.o.Client.SignOut {
		out.Session = raw
	}
	return out, nil
}

// readTrouble says what a question about a person came to. What the issuer wrote stays out of it: it may
// hold what was sent.
func (i *Issuer) readTrouble(err error) error {
	var said *oauth2.RetrieveError
	if !errors.As(err, &said) || said.Response.StatusCode >= http.StatusInternalServerError ||
		said.Response.StatusCode == http.StatusTooManyRequests {
		i.o.Log.Warn("the issuer can't be asked who signs in; people can't sign in until it answers", "issuer", i.o.Issuer)
		return access.ErrAway
	}
	i.o.Log.Warn("the issuer refused to say who signs in", "issuer", i.o.Issuer, "status", said.Response.StatusCode,
		"error", shortenCode(said.ErrorCode))
	return access.ErrUnauthenticated
}

// shortenCode is an error's code as the log may have it: words of OAuth 2.0, nothing else.
func shortenCode(code string) string {
	if len(code) > 64 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return "unknown"
	}
	return code
}

// isSame compares two secrets in constant time.
func isSame(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
