package oidc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/vedette-dev/vedette/orchestrator/access"
)

// Options of an Issuer.
type Options struct {
	// Issuer is its address, as its tokens have it: https, or http on the loopback.
	Issuer string
	// Audience must stand in a token's aud.
	Audience string
	// UserClaim names the user; empty is "sub".
	UserClaim string
	// ScopesClaim holds scopes, as one text or a list; empty is "scope".
	ScopesClaim string
	// ScopePrefix begins the scopes that are ours there; empty is "vedette:".
	ScopePrefix string
	// Scopes are those of the claim that count; none means that the claim gives none.
	Scopes []access.Scope
	// GroupsClaim holds the user's groups; empty is "groups".
	GroupsClaim string
	// Groups are the scopes that each group gives.
	Groups map[string][]access.Scope
	// UserTurns is access.UserTurnsHuman where callers pass on what a person wrote.
	UserTurns string
	Limits    access.Limits
	// Client is this server as the issuer knows it, for people who sign in to its pages. Without an ID
	// the issuer's tokens count, and no person is led there.
	Client Client
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Transport sends requests to the issuer; nil is http.DefaultTransport.
	Transport http.RoundTripper
	// Log is told where the issuer can't be asked, and why tokens don't count; nil discards.
	Log *slog.Logger
}

const (
	refreshAfter = time.Hour      // after which the issuer's keys are asked for again
	trustedFor   = 24 * time.Hour // how long keys count while the issuer can't be asked
	askTime      = 10 * time.Second
	maxSubject   = 255
)

// algorithms are the signatures that count: none that shares a secret.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// Issuer checks the tokens of one issuer. It implements access.Authenticator and is safe for
// concurrent use.
type Issuer struct {
	o      Options
	client *http.Client

	asking chan struct{} // holds a token while the issuer is asked where its keys are
	tries  atomic.Int64  // questions that have ended
	mu     sync.Mutex
	found  *discovery // nil until it was asked
	asked  time.Time

	signIns *signIns
}

// discovery is what the issuer says of itself.
type discovery struct {
	tokens *gooidc.IDTokenVerifier // of bearer tokens
	people *gooidc.IDTokenVerifier // of those who sign in
	oauth  oauth2.Endpoint
	// namesItself says that its answers at the callback name it.
	namesItself bool
	// userInfo tells more of a person, and signOut signs them out there; empty where the issuer has none.
	userInfo, signOut string
}

// New checks the options. It asks the issuer nothing: one that is away keeps no server from
// starting.
func New(o Options) (*Issuer, error) {
	o.UserClaim, o.ScopesClaim = cmp.Or(o.UserClaim, "sub"), cmp.Or(o.ScopesClaim, "scope")
	o.GroupsClaim, o.ScopePrefix = cmp.Or(o.GroupsClaim, "groups"), cmp.Or(o.ScopePrefix, "vedette:")
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if !IsSafeAddress(o.Issuer) {
		return nil, errors.New("the issuer must be an https address, or http on the loopback, without a query")
	}
	if o.Audience == "" {
		return nil, errors.New("the audience is missing: a token for another service would count")
	}
	if len(o.Scopes) == 0 && len(o.Groups) == 0 {
		return nil, errors.New("neither scopes nor groups say what a principal may do: none could do anything")
	}
	for _, list := range slices.Concat([][]access.Scope{o.Scopes}, slices.Collect(maps.Values(o.Groups))) {
		for _, s := range list {
			if _, err := access.ParseScope(string(s)); err != nil {
				return nil, err
			}
		}
	}
	if err := o.Client.check(); err != nil {
		return nil, err
	}
	return &Issuer{
		o: o, client: newClient(o.Transport, o.Now), asking: make(chan struct{}, 1), signIns: newSignIns(o.Transport, o.Now),
	}, nil
}

// IsSafeAddress reports whether keys that come from the address are the issuer's: it is https, or
// on this machine.
func IsSafeAddress(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return false
	}
	if u.Scheme == "https" {
		return true
	}
	a, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && a.IsLoopback())
}

// Authenticate returns who calls with the token. The errors are access.ErrUnauthenticated, and
// access.ErrAway where the issuer can't be asked.
func (i *Issuer) Authenticate(ctx context.Context, bearer string) (access.Principal, error) {
	if strings.Count(bearer, ".") != 2 {
		return access.Principal{}, access.ErrUnauthenticated
	}
	d, err := i.findIssuer(ctx)
	if err != nil {
		return access.Principal{}, err
	}
	t, err := i.verify(ctx, d.tokens, bearer)
	if err != nil {
		return access.Principal{}, err
	}
	return i.admit(t, nil)
}

// verify checks a token's signature, issuer, audience and times. The errors are those of Authenticate.
func (i *Issuer) verify(ctx context.Context, verifier *gooidc.IDTokenVerifier, raw string) (*gooidc.IDToken, error) {
	var keys keyTrouble
	t, err := verifier.Verify(context.WithValue(ctx, troubleKey{}, &keys), raw)
	switch {
	case err != nil && keys.away:
		i.o.Log.Warn("the keys of the issuer can't be had; users whose keys are not known yet can't sign in", "issuer", i.o.Issuer)
		return nil, access.ErrAway
	case err != nil:
		return nil, access.ErrUnauthenticated
	}
	return t, nil
}

// admit returns who a token that was checked is of. more are claims that the issuer told besides.
func (i *Issuer) admit(t *gooidc.IDToken, more map[string]json.RawMessage) (access.Principal, error) {
	p, err := i.readPrincipal(t, more)
	if err != nil {
		i.o.Log.Warn("a token of the issuer names no user that counts", "issuer", i.o.Issuer, "claim", i.o.UserClaim, "reason", err.Error())
		return access.Principal{}, access.ErrUnauthenticated
	}
	return p, nil
}

// findIssuer returns what the issuer says of itself, and asks it once an hour. The error is access.ErrAway.
func (i *Issuer) findIssuer(ctx context.Context) (*discovery, error) {
	d, err := i.askIssuer(ctx)
	if err != nil {
		i.o.Log.Warn("the issuer of tokens can't be asked; its users can't sign in until it answers", "issuer", i.o.Issuer)
		return nil, access.ErrAway
	}
	return d, nil
}

// errAskedMeanwhile is told to requests that waited for a question which got no answer. Each asking again in
// turn would hold them up for as long as there are of them.
var errAskedMeanwhile = errors.New("the issuer was asked meanwhile and did not answer")

// askIssuer asks the issuer where nothing is known of it, or what is known is older than an hour.
func (i *Issuer) askIssuer(ctx context.Context) (*discovery, error) {
	now := i.o.Now()
	d, age := i.known(now)
	if d != nil && age < refreshAfter {
		return d, nil
	}
	tries := i.tries.Load()
	if d != nil {
		select {
		case i.asking <- struct{}{}:
		default:
			return d, nil // another request is asking
		}
	} else {
		select {
		case i.asking <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-i.asking }()
	if d, age = i.known(now); d != nil && age < refreshAfter {
		return d, nil
	}
	if d == nil && i.tries.Load() != tries {
		return nil, errAskedMeanwhile
	}
	return i.refresh(ctx, d, age, now)
}

// refresh asks the issuer. Where it can't be asked, what was known counts on for a day.
func (i *Issuer) refresh(ctx context.Context, d *discovery, age time.Duration, now time.Time) (*discovery, error) {
	defer i.tries.Add(1)
	fresh, err := i.discover(ctx)
	switch {
	case err == nil:
		i.mu.Lock()
		i.found, i.asked = fresh, now
		i.mu.Unlock()
		return fresh, nil
	case d != nil && age < trustedFor:
		return d, nil
	}
	return nil, err
}

// known returns what the issuer said of itself, and how long ago.
func (i *Issuer) known(now time.Time) (*discovery, time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.found, now.Sub(i.asked)
}

// discover asks the issuer where its keys are, and where people sign in.
func (i *Issuer) discover(ctx context.Context) (*discovery, error) {
	ctx, cancel := context.WithTimeout(gooidc.ClientContext(context.WithoutCancel(ctx), i.client), askTime)
	defer cancel()
	p, err := gooidc.NewProvider(ctx, i.o.Issuer)
	if err != nil {
		return nil, err
	}
	var said struct {
		Keys        string   `json:"jwks_uri"`
		Methods     []string `json:"token_endpoint_auth_methods_supported"`
		NamesItself bool     `json:"authorization_response_iss_parameter_supported"`
		UserInfo    string   `json:"userinfo_endpoint"`
		SignOut     string   `json:"end_session_endpoint"`
	}
	if err := p.Claims(&said); err != nil || !isAddressOfKeys(said.Keys) {
		return nil, errors.New("the issuer names no safe address of its keys")
	}
	set := watchedKeys{gooidc.NewRemoteKeySet(gooidc.ClientContext(context.Background(), i.client), said.Keys)}
	verifier := func(audience string) *gooidc.IDTokenVerifier {
		return gooidc.NewVerifier(i.o.Issuer, set, &gooidc.Config{ClientID: audience, SupportedSigningAlgs: algorithms, Now: i.o.Now})
	}
	d := &discovery{
		tokens: verifier(i.o.Audience), oauth: p.Endpoint(), namesItself: said.NamesItself, userInfo: said.UserInfo, signOut: said.SignOut,
	}
	if i.o.Client.ID != "" {
		d.people, d.oauth.AuthStyle = verifier(i.o.Client.ID), i.o.Client.choosePlace(said.Methods)
	}
	return d, nil
}

// isAddressOfKeys reports whether keys may come from there; a query is usual at some issuers.
func isAddressOfKeys(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	u.RawQuery, u.ForceQuery = "", false
	return IsSafeAddress(u.String())
}

// readPrincipal reads who calls out of a token that was checked. more fills in what it lacks.
func (i *Issuer) readPrincipal(t *gooidc.IDToken, more map[string]json.RawMessage) (access.Principal, error) {
	var claims map[string]json.RawMessage
	if err := t.Claims(&claims); err != nil {
		return access.Principal{}, err
	}
	maps.Copy(claims, more)
	if t.Subject == "" || len(t.Subject) > maxSubject || strings.ContainsFunc(t.Subject, unicode.IsControl) {
		return access.Principal{}, errors.New("the subject is empty, too long or no single line")
	}
	user, err := i.readUser(claims)
	if err != nil {
		return access.Principal{}, err
	}
	p := access.Principal{
		ID: "oidc:" + i.o.Issuer + "|" + t.Subject, Name: user, User: user, Limits: i.o.Limits, UserTurns: i.o.UserTurns, Expires: t.Expiry,
	}
	for _, text := range readWords(claims[i.o.ScopesClaim]) {
		name, ours := strings.CutPrefix(text, i.o.ScopePrefix)
		if s := access.Scope(name); ours && slices.Contains(i.o.Scopes, s) {
			p.Scopes = append(p.Scopes, s)
		}
	}
	groups := readWords(claims[i.o.GroupsClaim])
	for _, name := range slices.Sorted(maps.Keys(i.o.Groups)) {
		if slices.Contains(groups, name) {
			p.Group = cmp.Or(p.Group, name)
			p.Scopes = append(p.Scopes, i.o.Groups[name]...)
		}
	}
	slices.Sort(p.Scopes)
	p.Scopes = slices.Compact(p.Scopes)
	return p, nil
}

// readUser reads the user's id.
func (i *Issuer) readUser(claims map[string]json.RawMessage) (string, error) {
	var user string
	if json.Unmarshal(claims[i.o.UserClaim], &user) != nil {
		return "", errors.New("the claim is missing, or no text")
	}
	if i.o.UserClaim == "email" && string(claims["email_verified"]) != "true" {
		return "", errors.New("the issuer has not verified the address")
	}
	if err := access.CheckUser(user); err != nil {
		return "", fmt.Errorf("the claim is no user's id: %w", err)
	}
	return user, nil
}

// readWords reads a claim that is a list of texts, or one text with blanks between words. What is
// neither holds none.
func readWords(raw json.RawMessage) []string {
	var list []string
	var text string
	switch {
	case len(raw) == 0:
		return nil
	case json.Unmarshal(raw, &list) == nil:
		return list
	case json.Unmarshal(raw, &text) == nil:
		return strings.Fields(text)
	}
	return nil
}
