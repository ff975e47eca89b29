package web_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/web"
)

// Every page says what may frame it, load in it and send from it; scripts are files of ours alone.
func TestHeaders(t *testing.T) {
	h := open(t, changes{})
	item, _ := h.ask("ann", map[string]any{"to": "a@example.com"})
	b := h.signIn("bob")
	for _, path := range []string{"/login", "/approvals", "/approvals/" + item.ID, "/standing", "/chat", "/nothing", "/static/nothing",
		"/approvals/nothing"} {
		p := b.get(path)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin",
			"Referrer-Policy": "same-origin", "Cache-Control": "no-store",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; " +
				"frame-ancestors 'none'; base-uri 'none'",
		} {
			require.Equal(t, want, p.Header.Get(name), path)
		}
		require.NotContains(t, p.body, " style=", path)
		require.NotContains(t, p.body, "<style", path)
		require.NotContains(t, p.body, " onclick", path)
		require.Equal(t, strings.Count(p.body, "<script"), strings.Count(p.body, `<script src="/static/`), path)
	}
	page := b.get("/approvals")
	for _, kind := range []string{"htmx-2.0.11", "pages"} {
		name := "/static/" + kind + strings.Split(strings.Split(page.body, "/static/"+kind)[1], `"`)[0]
		file := b.get(name)
		require.Equal(t, 200, file.StatusCode, name)
		require.Contains(t, file.Header.Get("Cache-Control"), "immutable")
	}
}

// A POST counts with the session's token, from a page of ours, and with nothing less.
func TestCSRF(t *testing.T) {
	h := open(t, changes{})
	item, _ := h.ask("ann", map[string]any{"to": "a@example.com"})
	bob, ann := h.signIn("bob"), h.signIn("ann")
	page, foreign := bob.get("/approvals/"+item.ID), ann.get("/approvals/"+item.ID)
	form := func(token string) url.Values {
		return url.Values{"csrf": {token}, "digest": {item.Digest}, "do": {"approve"}}
	}
	good := form(page.field("csrf"))
	path := "/approvals/" + item.ID
	require.Equal(t, 403, bob.post(path, url.Values{"digest": {item.Digest}, "do": {"approve"}}).StatusCode, "no token")
	require.Equal(t, 403, bob.post(path, form("x")).StatusCode)
	require.Equal(t, 403, bob.post(path, form(foreign.field("csrf"))).StatusCode, "another session's")
	require.Equal(t, 403, bob.post(path, good, "Origin", "https://evil.example.com").StatusCode)
	require.Equal(t, 403, bob.post(path, good, "Origin", "null").StatusCode)
	for _, site := range []string{"cross-site", "same-site", "none", ""} {
		require.Equal(t, 403, bob.post(path, good, "Sec-Fetch-Site", site).StatusCode, site)
	}
	require.Equal(t, 400, bob.do("POST", path, good.Encode(), "Content-Type", "text/plain").StatusCode)
	require.Equal(t, 400, bob.do("POST", path, good.Encode()+"&do=deny", "Content-Type", "application/x-www-form-urlencoded").StatusCode)
	require.Equal(t, 400, bob.do("POST", path, good.Encode()+"&by=ann", "Content-Type", "application/x-www-form-urlencoded").StatusCode)
	require.Equal(t, 413, bob.post(path, url.Values{"feedback": {strings.Repeat("x", 1<<20)}}).StatusCode)
	require.Equal(t, 401, h.browser().post(path, good).StatusCode, "no session")
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE"} {
		bob.do(method, path+"?"+url.Values{"digest": {item.Digest}, "do": {"approve"}}.Encode(), "")
	}
	require.Equal(t, 403, bob.post("/logout", url.Values{"csrf": {"x"}}).StatusCode)
	require.Empty(t, h.ran.String())
	require.Equal(t, 200, bob.post(path, good, "Sec-Fetch-Site", "same-origin", "Origin", h.server.URL).StatusCode)
	require.Eventually(t, func() bool { return h.ran.String() != "" }, eventually, tick)
}

// Another server's name leads nowhere, and a token in an address is refused.
func TestForeignHost(t *testing.T) {
	h := open(t, changes{})
	b := h.signIn("bob")
	require.Equal(t, 403, b.get("/approvals", "Host", "evil.example.com").StatusCode)
	require.NotEqual(t, 200, b.get("/login?token="+h.secret["bob"]).StatusCode)
}

// A session's id is made at sign-in: one that somebody else knows is worth nothing before and after.
func TestFixation(t *testing.T) {
	h := open(t, changes{})
	b := h.browser()
	u, err := url.Parse(h.server.URL)
	require.NoError(t, err)
	b.jar.SetCookies(u, []*http.Cookie{{Name: "vedette-session", Value: "known-to-an-attacker", Path: "/"}})
	p := b.get("/login")
	b.post("/login", url.Values{"csrf": {p.field("csrf")}, "token": {h.secret["bob"]}})
	session := func() (out *http.Cookie) {
		for _, c := range b.jar.Cookies(u) {
			if c.Name == "vedette-session" {
				out = c
			}
		}
		return out
	}
	first := session()
	require.NotEqual(t, "known-to-an-attacker", first.Value)
	require.GreaterOrEqual(t, len(first.Value), 43)
	p = b.get("/login")
	b.post("/login", url.Values{"csrf": {p.field("csrf")}, "token": {h.secret["ann"]}})
	require.NotEqual(t, first.Value, session().Value)
	old := h.browser()
	old.jar.SetCookies(u, []*http.Cookie{first})
	require.Contains(t, old.get("/approvals").text(), "Sign in", "the session before ended with the new one")
	old.jar.SetCookies(u, []*http.Cookie{{Name: "vedette-session", Value: session().Value, Path: "/"}, {Name: "vedette-session", Value: "x",
		Path: "/approvals"}})
	require.Contains(t, old.get("/approvals").text(), "Sign in", "two cookies of one name are none")
}

// The cookie can't be read by scripts, comes with no request of another site, and with TLS belongs to this host.
func TestCookies(t *testing.T) {
	h := open(t, changes{})
	b := h.browser()
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p := b.get("/login")
	in := b.post("/login", url.Values{"csrf": {p.field("csrf")}, "token": {h.secret["bob"]}})
	require.Equal(t, 303, in.StatusCode)
	for _, c := range append(p.Cookies(), in.Cookies()...) {
		require.True(t, c.HttpOnly)
		require.Equal(t, http.SameSiteStrictMode, c.SameSite)
		require.Equal(t, "/", c.Path)
		require.Empty(t, c.Domain)
	}
	tls := open(t, changes{pages: web.Options{PublicURL: "https://vedette.example.com"}})
	for _, c := range tls.browser().get("/login").Cookies() {
		require.True(t, strings.HasPrefix(c.Name, "__Host-"), c.Name)
		require.True(t, c.Secure)
	}
}

// Who may not sign in is told why, and the form of another browser is worth nothing.
func TestSignIn(t *testing.T) {
	h := open(t, changes{})
	b := h.browser()
	p := b.get("/login?next=/approvals")
	require.Equal(t, "/approvals", p.field("next"))
	for _, evil := range []string{"//evil.example.com", "https://evil.example.com", "/\\evil.example.com", "/login", "javascript:x",
		"/approvals/../../x"} {
		require.Empty(t, b.get("/login?next="+url.QueryEscape(evil)).field("next"), evil)
	}
	for name, c := range map[string]struct {
		token  string
		status int
	}{
		"none": {"", 401}, "another": {"vdt_" + strings.Repeat("a", 43), 401}, "no token": {"x y", 401}, "long": {strings.Repeat("x", 9000), 401},
		"no scope": {h.secret["check"], 403},
	} {
		require.Equal(t, c.status, b.post("/login", url.Values{"csrf": {p.field("csrf")}, "token": {c.token}}).StatusCode, name)
	}
	require.Equal(t, 403, h.browser().post("/login", url.Values{"csrf": {p.field("csrf")}, "token": {h.secret["bob"]}}).StatusCode)
	require.Equal(t, 403, b.post("/login", url.Values{"csrf": {p.field("csrf")}, "token": {h.secret["bob"]}}, "Sec-Fetch-Site",
		"cross-site").StatusCode)
	in := b.post("/login", url.Values{"csrf": {p.field("csrf")}, "token": {" " + h.secret["bob"] + "\n"}, "next": {"//evil.example.com"}})
	require.Equal(t, 200, in.StatusCode)
	require.Equal(t, "/approvals", in.Request.URL.Path)
	require.NotContains(t, h.log.String(), h.secret["bob"])
	out := b.post("/logout", url.Values{"csrf": {in.field("csrf")}})
	require.Equal(t, "/login", out.Request.URL.Path)
	require.Equal(t, "/login", b.get("/approvals").Request.URL.Path)
}

// A link of another site leads to the page that it names, though the strict cookie stays at home at first.
func TestLinksFromElsewhere(t *testing.T) {
	h := open(t, changes{})
	item, _ := h.ask("ann", map[string]any{"to": "a@example.com"})
	p := h.browser().get("/approvals/"+item.ID, "Sec-Fetch-Site", "cross-site")
	require.Equal(t, 200, p.StatusCode)
	require.Contains(t, p.body, `content="0;url=/approvals/`+item.ID+`"`)
	require.NotContains(t, p.body, "mail.send")
}

// Each page wants its scope.
func TestScopes(t *testing.T) {
	h := open(t, changes{})
	item, _ := h.ask("ann", map[string]any{"to": "a@example.com"})
	chat := h.signIn("chat")
	for _, path := range []string{"/approvals", "/approvals/" + item.ID, "/approvals/" + item.ID + "/state", "/standing"} {
		require.Equal(t, 403, chat.get(path).StatusCode, path)
	}
	token := chat.get("/chat").field("csrf")
	require.Equal(t, 403, chat.post("/approvals/"+item.ID, url.Values{"csrf": {token}, "digest": {item.Digest}, "do": {"approve"}}).StatusCode)
	for _, path := range []string{"/log", "/log/events", "/log/charts", "/review", "/review/disputes", "/review/" + item.ID} {
		require.Equal(t, 403, chat.get(path).StatusCode, path)
	}
	require.Equal(t, 403, chat.post("/review/"+item.ID, url.Values{"csrf": {token}, "say": {"right"}}).StatusCode)
	auditor := h.signIn("review")
	require.Equal(t, "/log", auditor.get("/").Request.URL.Path)
	require.Equal(t, 403, auditor.get("/review").StatusCode, "who reads says nothing of decisions")
	require.Equal(t, 403, auditor.get("/approvals").StatusCode)
	require.Equal(t, "/chat", chat.get("/").Request.URL.Path)
	require.Equal(t, 403, h.signIn("away").get("/chat").StatusCode, "a token without a user")
	robot := h.signIn("robot")
	p := robot.get("/chat")
	require.Equal(t, 403, robot.post("/chat/c1", url.Values{"csrf": {p.field("csrf")}, "request": {"r1"}, "text": {"x"}}).StatusCode)
	require.Empty(t, h.ran.String())
}

// A session ends after a time without a person, after the longest time, and with its token.
func TestSessionsEnd(t *testing.T) {
	h := open(t, changes{pages: web.Options{Idle: 10 * time.Minute, Longest: time.Hour}})
	in := func(b *browser) bool { return b.get("/approvals").Request.URL.Path == "/approvals" }
	idle := h.signIn("bob")
	h.clock.advance(9 * time.Minute)
	require.True(t, in(idle))
	h.clock.advance(9 * time.Minute)
	require.True(t, in(idle), "a person who does something keeps it")
	h.clock.advance(6 * time.Minute)
	require.Equal(t, 200, idle.get("/approvals?seen=x", "HX-Request", "true").StatusCode)
	h.clock.advance(5 * time.Minute)
	part := idle.get("/approvals?seen=x", "HX-Request", "true")
	require.Equal(t, 401, part.StatusCode, "what a page does by itself doesn't")
	require.Equal(t, "/login?next=%2Fapprovals", part.Header.Get("HX-Redirect"))
	long := h.signIn("bob")
	for range 7 {
		require.True(t, in(long))
		h.clock.advance(9 * time.Minute)
	}
	require.False(t, in(long))
}

// A revoked token ends its sessions at once, also the requests of theirs that wait.
func TestRevokedToken(t *testing.T) {
	h := open(t, changes{})
	item, _ := h.ask("ann", map[string]any{"to": "a@example.com"})
	b := h.signIn("bob")
	card := b.get("/approvals/" + item.ID)
	state := strings.ReplaceAll(strings.Split(strings.Split(card.body, `hx-get="`)[1], `"`)[0], "&amp;", "&")
	got := make(chan shown, 2)
	go func() { got <- b.get(state, "HX-Request", "true") }()
	chat := h.signIn("bob")
	go func() { got <- chat.get("/chat/c1/events", "Accept", "text/event-stream") }()
	_, err := h.tokens.Revoke(t.Context(), h.ids["bob"], "local:test")
	require.NoError(t, err)
	p := b.post("/approvals/"+item.ID, url.Values{"csrf": {card.field("csrf")}, "digest": {item.Digest}, "do": {"approve"}})
	require.Equal(t, 401, p.StatusCode)
	<-got
	<-got
	require.Empty(t, h.ran.String())
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	b.client.Jar = jar
	require.Equal(t, "/login", b.get("/approvals").Request.URL.Path)
}

// Text of models, users and tools is text on every page, whatever is in it.
func TestHostileTexts(t *testing.T) {
	h := open(t, changes{})
	evil := `</pre><script>alert("x")</script><img src=x onerror=alert(1)>"' javascript:alert(1) {{.CSRF}}` +
		"\u202e\u200b\u0000\x1b[31m\u2028" + strings.Repeat("e\u0301\u0301\u0301\u0301", 5)
	item, ended := h.askWith("ann", evil, evil, map[string]any{"to": evil, "text": evil + strings.Repeat("A", 1<<20-8192) + "END"})
	b := h.signIn("bob")
	check := func(p shown, what string) {
		t.Helper()
		require.NotContains(t, p.body, "<script>", what)
		require.NotContains(t, p.body, "<img", what)
		for _, r := range "\u202e\u200b\u0000\x1b\u2028" {
			require.False(t, strings.ContainsRune(p.body, r), "%s %U", what, r)
		}
		require.NotContains(t, p.body, "\u0301\u0301\u0301", what)
	}
	card := b.get("/approvals/" + item.ID)
	require.Equal(t, 200, card.StatusCode)
	check(card, "card")
	require.Contains(t, card.text(), `\u202e`)
	require.Contains(t, card.text(), "alert")
	require.Contains(t, card.text(), "bytes are not shown, sha256 of the whole")
	check(b.get("/approvals?user="+url.QueryEscape(evil)+"&skill="+url.QueryEscape(evil)), "filter")
	check(b.get("/approvals?after="+url.QueryEscape(evil)+"&seen="+url.QueryEscape(evil)), "list")
	check(b.get("/login?next="+url.QueryEscape(evil)), "login")
	denied := b.answer(item.ID, url.Values{"do": {"deny"}, "feedback": {strings.ReplaceAll(evil, "\x00", "")}})
	check(denied, "feedback")
	require.Error(t, <-ended)
	wrong, _ := h.ask("ann", map[string]any{"to": "a@example.com"})
	check(b.answer(wrong.ID, url.Values{"do": {"edit"}, "edit": {strings.ReplaceAll(evil, "\x00", "")}}), "edit")
}

// A session spends its token's rate, parts of pages too, and what was too fast did nothing.
func TestSessionsHaveTheirTokensRate(t *testing.T) {
	h := open(t, changes{})
	made, err := h.tokens.Create(t.Context(), access.Wanted{Name: "slow", User: "bob", Scopes: []access.Scope{access.Approve},
		Limits: access.Limits{PerMinute: 1, Burst: 6}}, "local:test")
	require.NoError(t, err)
	h.secret["slow"] = made.Secret
	item, _ := h.ask("ann", map[string]any{"to": "a@example.com"})
	b := h.signIn("slow") // which leads to the list
	card := b.get("/approvals/" + item.ID)
	require.Equal(t, 200, card.StatusCode)
	last := 200
	for range 6 {
		last = b.get("/approvals", "HX-Request", "true").StatusCode
	}
	require.Equal(t, 429, last)
	late := b.post("/approvals/"+item.ID, url.Values{"csrf": {card.field("csrf")}, "digest": {item.Digest}, "do": {"approve"}})
	require.Equal(t, 429, late.StatusCode)
	require.NotEmpty(t, late.Header.Get("Retry-After"))
	require.Empty(t, h.ran.String())
	other := h.signIn("bob")
	require.Equal(t, 200, other.get("/approvals").StatusCode, "another token's rate is its own")
}

// breaking is a writer that breaks in the middle of an answer.
type breaking struct{ http.ResponseWriter }

func (b breaking) Write(p []byte) (int, error) {
	_, _ = b.ResponseWriter.Write(p[:len(p)/2])
	panic("CANARY-value")
}

// An answer that broke in the middle doesn't look whole, and the log says so without a value.
func TestBrokenAnswers(t *testing.T) {
	h := open(t, changes{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.pages.ServeHTTP(breaking{w}, r) }))
	defer s.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/login", nil)
	require.NoError(t, err)
	res, err := s.Client().Do(r)
	if err == nil {
		_, err = io.ReadAll(res.Body)
		require.NoError(t, res.Body.Close())
	}
	require.Error(t, err)
	require.Contains(t, h.log.String(), "a page broke")
	require.NotContains(t, h.log.String(), "CANARY-value")
}
