package web_test

import (
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/testissuer"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/access/oidc"
	"github.com/vedette-dev/vedette/orchestrator/web"
)

// openAtIssuer is a house whose people sign in at an issuer on the loopback: staff may approve, readers may
// do nothing here.
func openAtIssuer(t *testing.T, change func(*web.Options)) (*house, *testissuer.Issuer) {
	t.Helper()
	return openAtClient(t, oidc.Client{}, change)
}

// openAtClient is openAtIssuer with more of the client.
func openAtClient(t *testing.T, client oidc.Client, change func(*web.Options)) (*house, *testissuer.Issuer) {
	t.Helper()
	client.ID, client.Secret = testissuer.ClientID, testissuer.ClientSecret
	client.Scopes = []string{"email", "groups", "offline_access"}
	is, c := testissuer.Start(t, ""), &clock{}
	is.Set(testissuer.Clock(c.now))
	log := &syncBuffer{}
	issuer, err := oidc.New(oidc.Options{
		Issuer: is.URL, Audience: "vedette", UserClaim: "email", Now: c.now, Log: slog.New(slog.NewTextHandler(log, nil)),
		Transport: is.Client().Transport, // it ends with the issuer
		Groups:    map[string][]access.Scope{"staff": {access.Approve, access.Chat}, "readers": {access.Check}},
		Client:    client,
	})
	require.NoError(t, err)
	o := web.Options{Issuer: issuer, Idle: 2 * time.Hour}
	if change != nil {
		change(&o)
	}
	h := open(t, changes{pages: o, clock: c})
	is.Set(testissuer.Callback(h.server.URL + "/login/callback"))
	t.Cleanup(func() {
		for _, text := range []string{testissuer.ClientSecret, "CANARY", "ann@example.com"} {
			require.NotContains(t, log.String()+h.log.String(), text)
		}
	})
	return h, is
}

var href = regexp.MustCompile(`<a href="([^"]*)"`)

// leave presses the button, and returns the issuer's address to which the browser is led.
func (b *browser) leave(next string) string {
	b.h.t.Helper()
	p := b.get("/login?next=" + url.QueryEscape(next))
	p = b.post("/login/issuer", url.Values{"csrf": {p.field("csrf")}, "next": {p.field("next")}})
	require.Equal(b.h.t, 200, p.StatusCode, p.body)
	to := html.UnescapeString(href.FindStringSubmatch(p.body)[1])
	require.Contains(b.h.t, html.UnescapeString(p.body), `content="0;url=`+to+`"`)
	return to
}

// follow goes to an address, of any host, and where it leads.
func (b *browser) follow(address string) shown {
	b.h.t.Helper()
	own, ok := strings.CutPrefix(address, b.h.server.URL)
	if ok {
		return b.get(own, "Sec-Fetch-Site", "cross-site")
	}
	r, err := http.NewRequestWithContext(b.h.t.Context(), http.MethodGet, address, nil)
	require.NoError(b.h.t, err)
	c := *b.client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := c.Do(r)
	require.NoError(b.h.t, err)
	require.NoError(b.h.t, res.Body.Close())
	require.Equal(b.h.t, http.StatusFound, res.StatusCode)
	return b.follow(res.Header.Get("Location"))
}

// signInAtIssuer is a browser in which the issuer has signed a person in.
func (h *house) signInAtIssuer() *browser {
	h.t.Helper()
	b := h.browser()
	p := b.follow(b.leave(""))
	require.Equal(h.t, 200, p.StatusCode, p.body)
	return b
}

// isIn reports whether the browser is signed in.
func (b *browser) isIn() bool {
	b.h.t.Helper()
	return b.get("/approvals").Request.URL.Path == "/approvals"
}

// A person signs in at the issuer and answers an approval in the name that the issuer gives. Everything that
// goes to the issuer is for this attempt alone.
func TestIssuerSignIn(t *testing.T) {
	h, is := openAtIssuer(t, nil)
	item, ended := h.ask("ann", map[string]any{"to": "a@example.com"})
	b := h.signIn("bob") // the session before ends
	u, err := url.Parse(h.server.URL)
	require.NoError(t, err)
	before := b.jar.Cookies(u)
	p := b.get("/login")
	require.Contains(t, p.text(), "Sign in at "+strings.TrimPrefix(is.URL, "http://"))
	require.Contains(t, p.body, `name="token"`)
	to := b.leave("/approvals/" + item.ID)
	old := h.browser()
	old.jar.SetCookies(u, before)
	require.False(t, old.isIn(), "on the way back a browser does not send the cookie of a session")
	p = b.follow(to)
	require.Equal(t, 200, p.StatusCode)
	require.Contains(t, p.body, `content="0;url=/approvals/`+item.ID+`"`)
	require.Equal(t, "no-referrer", p.Header.Get("Referrer-Policy"))
	for _, c := range p.Cookies() {
		require.True(t, c.HttpOnly)
		require.Equal(t, "/", c.Path)
		if c.Name == "vedette-session" {
			require.Equal(t, http.SameSiteStrictMode, c.SameSite)
		}
	}
	require.Contains(t, b.answer(item.ID, url.Values{"do": {"approve"}}).text(), "ann@example.com")
	require.NoError(t, <-ended)

	led, asked := is.Led()[0], is.Asked()[0]
	require.Equal(t, "openid email groups offline_access", led.Get("scope"))
	require.NotEqual(t, led.Get("state"), led.Get("nonce"))
	require.NotContains(t, led.Encode(), url.QueryEscape(testissuer.ClientSecret))
	require.NotContains(t, led.Encode(), asked.Get("code_verifier"))
	b.follow(b.leave(""))
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		require.GreaterOrEqual(t, len(led.Get(name)), 26, name)
		require.NotEqual(t, led.Get(name), is.Led()[1].Get(name), name)
	}
	require.Equal(t, "/login", b.post("/logout", url.Values{"csrf": {b.get("/chat").field("csrf")}}).Request.URL.Path)
	require.False(t, b.isIn())
}

// The cookie of a person at the issuer comes along on the way back, is for this browser alone, and belongs to
// the host with TLS.
func TestIssuerCookie(t *testing.T) {
	h, _ := openAtIssuer(t, func(o *web.Options) { o.PublicURL = "https://vedette.example.com" })
	b := h.browser()
	p := b.get("/login")
	p = b.post("/login/issuer", url.Values{"csrf": {p.field("csrf")}})
	require.Equal(t, 200, p.StatusCode, p.text())
	require.Len(t, p.Cookies(), 1)
	c := p.Cookies()[0]
	require.Equal(t, "__Host-vedette-journey", c.Name)
	require.True(t, c.Secure && c.HttpOnly)
	require.Equal(t, http.SameSiteLaxMode, c.SameSite)
	require.Contains(t, html.UnescapeString(p.body), url.QueryEscape("https://vedette.example.com/login/callback"))
	for _, name := range []string{"nonce", "state", "verifier"} {
		require.NotContains(t, c.Value, name, "it is sealed")
	}
}

// What isn't an answer to this browser's own attempt, or is about somebody else, signs no person in.
func TestIssuerAnswersThatDoNotCount(t *testing.T) {
	h, is := openAtIssuer(t, nil)
	claim := func(name string, value any) testissuer.Option {
		return testissuer.Claims(func(c map[string]any) { c[name] = value })
	}
	answer := func(name string, values ...string) testissuer.Option {
		return testissuer.Answer(func(q url.Values) { q[name] = values })
	}
	for name, c := range map[string]struct {
		set    testissuer.Option
		status int
	}{
		"wrong state":        {answer("state", "x"), 401},
		"no state":           {answer("state"), 401},
		"two states":         {answer("state", "x", "y"), 401},
		"no code":            {answer("code"), 401},
		"wrong code":         {answer("code", "x"), 401},
		"long code":          {answer("code", strings.Repeat("x", 5000)), 401},
		"another issuer":     {answer("iss", "https://evil.example.com"), 401},
		"no issuer":          {answer("iss"), 401},
		"error":              {answer("error", "access_denied"), 403},
		"error as an attack": {answer("error", "<script>CANARY</script>"), 403},
		"wrong nonce":        {claim("nonce", "x"), 401},
		"no nonce":           {testissuer.Claims(func(c map[string]any) { delete(c, "nonce") }), 401},
		"wrong audience":     {claim("aud", "vedette"), 401},
		"more audiences":     {claim("aud", []string{testissuer.ClientID, "other"}), 401},
		"made for another":   {claim("azp", "other"), 401},
		"wrong issuer":       {claim("iss", "https://evil.example.com"), 401},
		"expired":            {claim("exp", time.Now().Add(-time.Minute).Unix()), 401},
		"another's access":   {claim("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"), 401},
		"unverified":         {claim("email_verified", false), 401},
		"no user":            {testissuer.Claims(func(c map[string]any) { delete(c, "email") }), 401},
		"a token as a user":  {claim("email", "token:ops"), 401},
		"no scope":           {claim("groups", []string{"readers"}), 403},
		"no group":           {testissuer.Claims(func(c map[string]any) { delete(c, "groups") }), 403},
		"group of another":   {claim("groups", []string{"Staff", "staff "}), 403},
		"alg none": {testissuer.Signing(func(map[string]any) string {
			return "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzLTEifQ."
		}), 401},
		"no ID token": {testissuer.Signing(func(map[string]any) string { return "" }), 401},
		"shared secret": {testissuer.Signing(func(c map[string]any) string {
			return testissuer.Sign(t, jose.HS256, []byte(testissuer.ClientSecret+strings.Repeat("x", 32)), "", c)
		}), 401},
		"refused":   {testissuer.Broken(`{"error":"invalid_grant","error_description":"CANARY"}`), 401},
		"no answer": {testissuer.Broken(`CANARY<html>`), 401},
	} {
		t.Run(name, func(t *testing.T) {
			is.Set(testissuer.Claims(nil), testissuer.Answer(nil), testissuer.Signing(nil), testissuer.Broken(""), c.set)
			b := h.browser()
			p := b.follow(b.leave("/approvals"))
			require.Equal(t, c.status, p.StatusCode)
			require.Contains(t, p.text(), "Sign in")
			require.NotContains(t, p.body, "CANARY")
			require.NotContains(t, p.body, "evil.example.com")
			for _, c := range p.Cookies() {
				require.NotEqual(t, "vedette-session", c.Name)
			}
			require.False(t, b.isIn())
		})
	}
}

// An answer counts once, and in the browser that began.
func TestIssuerAnswerIsUsedOnce(t *testing.T) {
	h, is := openAtIssuer(t, nil)
	u, err := url.Parse(h.server.URL)
	require.NoError(t, err)
	b := h.browser()
	to := b.leave("")
	own := b.jar.Cookies(u)
	c := *b.client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
	require.NoError(t, err)
	res, err := c.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	back := res.Header.Get("Location")

	require.Equal(t, 401, h.browser().follow(back).StatusCode, "a browser that began nothing")
	other := h.browser()
	other.leave("")
	require.Equal(t, 401, other.follow(back).StatusCode, "a browser with an attempt of its own")
	forged := h.browser()
	forged.jar.SetCookies(u, []*http.Cookie{{Name: "vedette-journey", Value: strings.Repeat("A", 400), Path: "/"}})
	require.Equal(t, 401, forged.follow(back).StatusCode)
	require.Empty(t, is.Asked(), "the issuer is not asked about what isn't this browser's")

	require.Equal(t, 200, b.follow(back).StatusCode)
	require.True(t, b.isIn())
	again := h.browser()
	again.jar.SetCookies(u, own)
	require.Equal(t, 401, again.follow(back).StatusCode, "the code again")
	require.Len(t, is.Asked(), 1)
	require.False(t, again.isIn())

	late := h.browser()
	to = late.leave("")
	h.clock.advance(11 * time.Minute)
	require.Equal(t, 401, late.follow(to).StatusCode)
}

// The way to the issuer begins with a form of ours alone, and leads nowhere else afterwards.
func TestIssuerWaysElsewhere(t *testing.T) {
	h, is := openAtIssuer(t, nil)
	b := h.browser()
	p := b.get("/login")
	good := url.Values{"csrf": {p.field("csrf")}}
	require.Equal(t, 403, b.post("/login/issuer", url.Values{"csrf": {"x"}}).StatusCode)
	require.Equal(t, 403, b.post("/login/issuer", good, "Sec-Fetch-Site", "cross-site").StatusCode)
	require.Equal(t, 403, b.post("/login/issuer", good, "Origin", "https://evil.example.com").StatusCode)
	require.Equal(t, 403, h.browser().post("/login/issuer", good).StatusCode)
	require.Equal(t, 400, b.post("/login/issuer", url.Values{"csrf": good["csrf"], "callback": {"https://evil.example.com"}}).StatusCode)
	require.NotEqual(t, 200, b.get("/login/issuer").StatusCode)
	require.Empty(t, is.Led())
	for _, evil := range []string{"//evil.example.com", "https://evil.example.com", "/\\evil.example.com", "javascript:x",
		"/approvals/../../x"} {
		b := h.browser()
		p := b.get("/login")
		p = b.post("/login/issuer", url.Values{"csrf": {p.field("csrf")}, "next": {evil}})
		p = b.follow(html.UnescapeString(href.FindStringSubmatch(p.body)[1]))
		require.Equal(t, 200, p.StatusCode)
		require.Contains(t, p.body, `content="0;url=/"`, evil)
	}
}

// An issuer that is away is no denial, at the beginning and at the end, and nothing of its answer is shown.
func TestIssuerIsAway(t *testing.T) {
	h, is := openAtIssuer(t, nil)
	is.Set(testissuer.Away(true))
	b := h.browser()
	p := b.get("/login")
	p = b.post("/login/issuer", url.Values{"csrf": {p.field("csrf")}, "next": {"/standing"}})
	require.Equal(t, 503, p.StatusCode)
	require.NotContains(t, p.body, "CANARY")
	require.Equal(t, "/standing", p.field("next"))
	is.Set(testissuer.Away(false))
	to := b.leave("/standing")
	is.Set(testissuer.Answer(func(q url.Values) { q.Set("iss", is.URL) }))
	c := *b.client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
	require.NoError(t, err)
	res, err := c.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	is.Set(testissuer.Away(true))
	p = b.follow(res.Header.Get("Location"))
	require.Equal(t, 503, p.StatusCode)
	require.NotContains(t, p.body, "CANARY")
	require.Equal(t, "/standing", p.field("next"))
	require.Equal(t, 200, b.post("/login", url.Values{"csrf": {p.field("csrf")}, "token": {h.secret["bob"]}}).StatusCode,
		"tokens count all the same")
}

// A new key of the issuer counts at once.
func TestIssuerChangesItsKey(t *testing.T) {
	h, is := openAtIssuer(t, nil)
	require.True(t, h.signInAtIssuer().isIn())
	is.Rotate()
	require.True(t, h.signInAtIssuer().isIn())
}

// Without a refresh token a session ends with its ID token.
func TestIssuerSessionEnds(t *testing.T) {
	h, _ := openAtIssuer(t, nil)
	b := h.signInAtIssuer()
	h.clock.advance(59 * time.Minute)
	require.True(t, b.isIn())
	h.clock.advance(time.Minute)
	require.False(t, b.isIn())
}

// With one, the issuer is asked again every quarter of an hour. What it took back ends, and a session whose
// person it no longer knows, or now knows as another, ends as a whole.
func TestIssuerIsAskedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		set    testissuer.Option
		status int
		path   string
	}{
		"as before":      {testissuer.Form(), 200, "/approvals"},
		"without rights": {testissuer.Claims(func(c map[string]any) { c["groups"] = []string{"readers"} }), 403, "/approvals"},
		"refused":        {testissuer.Refused(), 200, "/login"},
		"away":           {testissuer.Away(true), 200, "/login"},
		"another person": {testissuer.Claims(func(c map[string]any) { c["sub"] = "s-2" }), 200, "/login"},
		"expired token":  {testissuer.Claims(func(c map[string]any) { c["exp"] = c["iat"] }), 200, "/login"},
	} {
		t.Run(name, func(t *testing.T) {
			h, is := openAtIssuer(t, nil)
			is.Set(testissuer.Offline())
			b := h.signInAtIssuer()
			for range 3 {
				h.clock.advance(16 * time.Minute)
				require.True(t, b.isIn())
			}
			require.Len(t, is.Asked(), 4)
			is.Set(c.set)
			h.clock.advance(14 * time.Minute)
			require.True(t, b.isIn())
			h.clock.advance(2 * time.Minute)
			p := b.get("/approvals")
			require.Equal(t, c.path, p.Request.URL.Path)
			require.Equal(t, c.status, p.StatusCode)
		})
	}
}

// Requests that come at one time ask the issuer once: a refresh token is used once.
func TestIssuerIsAskedOnceForAll(t *testing.T) {
	h, is := openAtIssuer(t, nil)
	is.Set(testissuer.Offline())
	b := h.signInAtIssuer()
	h.clock.advance(16 * time.Minute)
	var all sync.WaitGroup
	in := make(chan bool, 8)
	for range cap(in) {
		all.Go(func() { in <- b.isIn() })
	}
	all.Wait()
	for range cap(in) {
		require.True(t, <-in)
	}
	require.Len(t, is.Asked(), 2)
}

// Where the issuer alone signs people in, no token does.
func TestIssuerOnly(t *testing.T) {
	h, _ := openAtIssuer(t, func(o *web.Options) { o.IssuerOnly = true })
	b := h.browser()
	p := b.get("/login")
	require.NotContains(t, p.body, `name="token"`)
	require.Equal(t, 403, b.post("/login", url.Values{"csrf": {p.field("csrf")}, "token": {h.secret["bob"]}}).StatusCode)
	require.False(t, b.isIn())
	require.True(t, h.signInAtIssuer().isIn())
	_, err := web.New(web.Options{Orchestrator: h.o, Guard: h.guard, IssuerOnly: true})
	require.Error(t, err)
}

// What the ID token lacks of user and groups comes from the issuer's UserInfo, about the same person alone. What
// the ID token says stays.
func TestIssuerUserInfo(t *testing.T) {
	told := func(status int, kind, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	says := func(body string) func(http.ResponseWriter) { return told(200, "application/json;charset=utf-8", body) }
	const whole = `{"sub":"s-1","email":"zoe@example.com","email_verified":true,"groups":["staff"]}`
	for name, c := range map[string]struct {
		lacks  string
		info   func(http.ResponseWriter)
		status int
		user   string
	}{
		"all of it":           {"email email_verified groups", says(whole), 200, "zoe@example.com"},
		"groups alone":        {"groups", says(whole), 200, "ann@example.com"},
		"nothing":             {"", says(whole), 200, "ann@example.com"},
		"no groups":           {"groups", says(`{"sub":"s-1"}`), 403, ""},
		"no user":             {"email", says(`{"sub":"s-1","groups":["staff"]}`), 401, ""},
		"not verified there":  {"email", says(`{"sub":"s-1","email":"zoe@example.com"}`), 401, ""},
		"another person":      {"email", says(strings.Replace(whole, "s-1", "s-2", 1)), 401, ""},
		"no person":           {"groups", says(`{"groups":["staff"]}`), 401, ""},
		"scopes are no claim": {"groups", says(`{"sub":"s-1","scope":"vedette:approve"}`), 403, ""},
		"refused":             {"groups", told(403, "application/json", whole), 401, ""},
		"led elsewhere":       {"groups", told(302, "application/json", whole), 401, ""},
		"no JSON":             {"groups", told(200, "application/json", "CANARY"), 401, ""},
		"signed":              {"groups", told(200, "application/jwt", whole), 401, ""},
		"too long":            {"groups", says(whole + strings.Repeat(" ", 64<<10)), 401, ""},
		"broken":              {"groups", told(502, "text/plain", "CANARY"), 503, ""},
		"none there":          {"groups", nil, 503, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, is := openAtClient(t, oidc.Client{UserInfo: true}, nil)
			is.Set(testissuer.UserInfo(c.info), testissuer.Claims(func(claims map[string]any) {
				for _, name := range strings.Fields(c.lacks) {
					delete(claims, name)
				}
			}))
			b := h.browser()
			p := b.follow(b.leave(""))
			require.Equal(t, c.status, p.StatusCode, p.body)
			require.NotContains(t, p.body, "CANARY")
			require.Equal(t, c.user != "", b.isIn())
			if c.user != "" {
				require.Contains(t, b.get("/approvals").text(), c.user)
			}
		})
	}
}

// Who signs out here signs out at the issuer, which leads back to our sign-in; where it has no address for that, or
// the person came with a token, they sign out here alone.
func TestIssuerSignOut(t *testing.T) {
	h, is := openAtClient(t, oidc.Client{SignOut: true}, nil)
	out := func(b *browser) shown {
		return b.post("/logout", url.Values{"csrf": {b.get("/approvals").field("csrf")}})
	}
	b := h.signInAtIssuer()
	require.Equal(t, "/login", out(b).Request.URL.Path, "the issuer has no address for it")
	is.Set(testissuer.SignOut(is.URL + "/end?tenant=1"))
	h.clock.advance(2 * time.Hour) // it is asked again what it has
	b = h.signInAtIssuer()
	p := out(b)
	require.Equal(t, 200, p.StatusCode)
	require.Equal(t, "no-referrer", p.Header.Get("Referrer-Policy"))
	require.False(t, b.isIn(), "the session here has ended, whatever becomes of the one there")
	to := html.UnescapeString(href.FindStringSubmatch(p.body)[1])
	u, err := url.Parse(to)
	require.NoError(t, err)
	q := u.Query()
	require.Equal(t, []string{"1", testissuer.ClientID, h.server.URL + "/login"},
		[]string{q.Get("tenant"), q.Get("client_id"), q.Get("post_logout_redirect_uri")})
	require.Equal(t, 2, strings.Count(q.Get("id_token_hint"), "."))
	require.Contains(t, b.follow(to).text(), "Sign in")
	byToken := h.signIn("bob")
	require.Equal(t, "/login", out(byToken).Request.URL.Path)
	for _, address := range []string{"http://evil.example.com/end", "javascript:alert(1)", "://"} {
		is.Set(testissuer.SignOut(address))
		h.clock.advance(2 * time.Hour)
		require.Equal(t, "/login", out(h.signInAtIssuer()).Request.URL.Path, address)
	}
}
