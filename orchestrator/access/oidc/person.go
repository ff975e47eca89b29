package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/vedette-dev/vedette/orchestrator/access"
)

// maxUserInfo is how long the issuer's word of a person is at most.
const maxUserInfo = 64 << 10

// askUserInfo returns what the ID token doesn't say of a person and the issuer tells besides (OpenID Connect Core,
// section 5.3): the user with whether their address is verified, and the groups. What the ID token says is left as it is, and
// scopes are never taken from here. The errors are those of Finish.
func (i *Issuer) askUserInfo(ctx context.Context, d *discovery, id *gooidc.IDToken, t *oauth2.Token) (map[string]json.RawMessage, error) {
	var said map[string]json.RawMessage
	if err := id.Claims(&said); err != nil {
		return nil, access.ErrUnauthenticated
	}
	lacks := func(claim string) bool { return said[claim] == nil }
	if !i.o.Client.UserInfo || !lacks(i.o.UserClaim) && !lacks(i.o.GroupsClaim) {
		return nil, nil
	}
	told, err := i.fetchUserInfo(ctx, d, t)
	if err != nil {
		return nil, err
	}
	var subject string
	if json.Unmarshal(told["sub"], &subject) != nil || subject != id.Subject {
		i.o.Log.Warn("the issuer's UserInfo is about another person than its ID token", "issuer", i.o.Issuer)
		return nil, access.ErrUnauthenticated
	}
	more := map[string]json.RawMessage{}
	if lacks(i.o.GroupsClaim) && told[i.o.GroupsClaim] != nil {
		more[i.o.GroupsClaim] = told[i.o.GroupsClaim]
	}
	if lacks(i.o.UserClaim) && told[i.o.UserClaim] != nil {
		more[i.o.UserClaim] = told[i.o.UserClaim]
		more["email_verified"] = told["email_verified"] // the address and this are of one source
	}
	return more, nil
}

// fetchUserInfo asks the issuer with a person's access token. The errors are those of Finish.
func (i *Issuer) fetchUserInfo(ctx context.Context, d *discovery, t *oauth2.Token) (told map[string]json.RawMessage, err error) {
	away := func(why string) error {
		i.o.Log.Warn("the issuer's UserInfo can't be had; people whose ID token lacks user or groups can't sign in until it answers",
			"issuer", i.o.Issuer, "reason", why)
		return access.ErrAway
	}
	if !isAddressOfKeys(d.userInfo) {
		return nil, away("the issuer names no safe address of it")
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.userInfo, nil)
	if err != nil {
		return nil, away("its address is none")
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Authorization", "Bearer "+t.AccessToken)
	res, err := i.signIns.client.Do(r)
	if err != nil {
		return nil, away("no answer")
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxUserInfo+1))
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case err != nil || res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusTooManyRequests:
		return nil, away("no whole answer")
	case res.StatusCode != http.StatusOK || kind != "application/json" || len(raw) > maxUserInfo || json.Unmarshal(raw, &told) != nil:
		i.o.Log.Warn("the issuer's UserInfo is no answer that counts: it must be JSON, unsigned, of at most 64 KiB", "issuer", i.o.Issuer,
			"status", res.StatusCode)
		return nil, access.ErrUnauthenticated
	}
	return told, nil
}

// SignOut returns the address at the issuer that ends its session of a person and leads the browser to home (OpenID Connect
// RP-Initiated Logout 1.0). session is Arrival.Session. It is empty where the issuer isn't asked so, or can't be.
func (i *Issuer) SignOut(ctx context.Context, home, session string) string {
	if !i.o.Client.SignOut || session == "" {
		return ""
	}
	d, err := i.findSignIn(ctx)
	if err != nil {
		return ""
	}
	u, err := url.Parse(d.signOut)
	if err != nil || !isAddressOfKeys(d.signOut) {
		i.o.Log.Warn("the issuer names no safe address where people sign out; they stay signed in there", "issuer", i.o.Issuer)
		return ""
	}
	q := u.Query()
	for name, value := range map[string]string{
		"id_token_hint": session, "client_id": i.o.Client.ID, "post_logout_redirect_uri": home,
	} {
		q.Set(name, value)
	}
	u.RawQuery = q.Encode()
	return u.String()
}
