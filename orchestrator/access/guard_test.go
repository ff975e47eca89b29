package access_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
)

// post is a guard before a handler that says who called.
type post struct {
	*rig
	g       *access.Guard
	url     string
	log     *bytes.Buffer
	secret  string
	token   access.Token
	waiting chan context.Context
}

func newPost(t *testing.T, change func(*access.GuardOptions)) *post {
	t.Helper()
	p := &post{rig: newRig(t), log: &bytes.Buffer{}, waiting: make(chan context.Context, 1)}
	srv := httptest.NewUnstartedServer(nil)
	o := access.GuardOptions{Tokens: p.Tokens, Hosts: []string{srv.Listener.Addr().String(), "v.example.com", "[::1]:80"},
		Origins: []string{"https://v.example.com"}, MaxBody: 100, Log: slog.New(slog.NewTextHandler(p.log, nil)),
		Now: func() time.Time { return p.now }}
	if change != nil {
		change(&o)
	}
	var err error
	p.g, err = access.NewGuard(o)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("/who", func(w http.ResponseWriter, r *http.Request) {
		who, ok := access.FromContext(r.Context())
		if !assert.True(t, ok) {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			problem.Write(w, r, problem.From(err))
			return
		}
		_, _ = io.WriteString(w, who.ID)
	})
	mux.HandleFunc("/wait", func(_ http.ResponseWriter, r *http.Request) {
		p.waiting <- r.Context()
		<-r.Context().Done()
	})
	mux.Handle("/approve", p.g.Require(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), access.Approve, access.Admin))
	mux.Handle("/review", p.g.Require(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), access.Review))
	srv.Config.Handler = p.g.Wrap(mux)
	srv.Start()
	t.Cleanup(srv.Close)
	p.url = srv.URL
	w := wanted()
	w.Limits = access.Limits{}
	made, err := p.Create(t.Context(), w, "local:bob")
	require.NoError(t, err)
	p.secret, p.token = made.Secret, made.Token
	return p
}

// send sends a request with the token, changed by change, and returns status, code and headers.
func (p *post) send(t *testing.T, path string, change func(*http.Request)) (int, problem.Problem, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+p.secret)
	if change != nil {
		change(r)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	var prob problem.Problem
	if res.StatusCode >= 400 {
		require.Equal(t, problem.ContentType, res.Header.Get("Content-Type"))
		require.NoError(t, json.Unmarshal(b, &prob))
	} else {
		prob.Detail = string(b)
	}
	require.NotContains(t, string(b), p.secret)
	return res.StatusCode, prob, res.Header
}

// Deny by default: each way in that isn't the one way is refused, with its code, and the log has no secret.
func TestGuardTurnsAway(t *testing.T) {
	p := newPost(t, nil)
	status, got, _ := p.send(t, "/who", nil)
	require.Equal(t, 200, status)
	require.Equal(t, "token:"+p.token.ID, got.Detail)
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	for name, c := range map[string]struct {
		path   string
		change func(*http.Request)
		status int
		code   problem.Code
	}{
		"no token":             {"/who", func(r *http.Request) { r.Header.Del("Authorization") }, 401, problem.Unauthenticated},
		"basic":                {"/who", func(r *http.Request) { r.SetBasicAuth("ann", p.secret) }, 401, problem.Unauthenticated},
		"unknown":              {"/who", header("Authorization", "Bearer vdt_"+strings.Repeat("A", 43)), 401, problem.Unauthenticated},
		"cut":                  {"/who", header("Authorization", "Bearer "+p.secret[:46]), 401, problem.Unauthenticated},
		"longer":               {"/who", header("Authorization", "Bearer "+p.secret+"A"), 401, problem.Unauthenticated},
		"a JWT without issuer": {"/who", header("Authorization", "Bearer a.b.c"), 401, problem.Unauthenticated},
		"empty":                {"/who", header("Authorization", "Bearer "), 401, problem.Unauthenticated},
		"two blanks":           {"/who", header("Authorization", "Bearer  "+p.secret), 401, problem.Unauthenticated},
		"a list":               {"/who", header("Authorization", "Bearer "+p.secret+", Bearer x"), 401, problem.Unauthenticated},
		"two headers":          {"/who", header("Authorization", "Bearer "+p.secret, "Bearer "+p.secret), 400, problem.BadRequest},
		"long":                 {"/who", header("Authorization", "Bearer "+strings.Repeat("a", 9<<10)), 431, problem.HeadersTooLarge},
		"secret in a query":    {"/who?q=" + p.secret, nil, 400, problem.TokenInURL},
		"escaped in a query":   {"/who?q=%76dt_" + p.secret[4:], nil, 400, problem.TokenInURL},
		"secret in the path":   {"/who/" + p.secret, nil, 400, problem.TokenInURL},
		"parameter of a token": {"/who?Access-Token=abc", nil, 400, problem.TokenInURL},
		"foreign host":         {"/who", func(r *http.Request) { r.Host = "evil.example.com" }, 403, problem.ForeignHost},
		"host with a user":     {"/who", func(r *http.Request) { r.Host = "a@v.example.com" }, 400, ""},
		"rebound host":         {"/who", func(r *http.Request) { r.Host = "v.example.com.evil.com" }, 403, problem.ForeignHost},
		"other port":           {"/who", func(r *http.Request) { r.Host = "127.0.0.1:1" }, 403, problem.ForeignHost},
		"foreign origin":       {"/who", header("Origin", "https://evil.example.com"), 403, problem.ForeignOrigin},
		"origin in the open":   {"/who", header("Origin", "http://v.example.com"), 403, problem.ForeignOrigin},
		"origin of a file":     {"/who", header("Origin", "null"), 403, problem.ForeignOrigin},
		"two origins":          {"/who", header("Origin", "https://v.example.com", "https://v.example.com"), 403, problem.ForeignOrigin},
		"preflight": {"/who", func(r *http.Request) {
			r.Method = "OPTIONS"
			r.Header.Del("Authorization")
		}, 401, problem.Unauthenticated},
		"wrong scope": {"/review", nil, 403, problem.ScopeMissing},
		"too large": {"/who", func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 101))), 101
		}, 413, problem.TooLarge},
		"too large, not telling": {"/who", func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 101))), -1
		}, 413, problem.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			if c.code == "" {
				t.Skip("net/http refuses it before the guard")
			}
			status, got, h := p.send(t, c.path, c.change)
			require.Equal(t, c.status, status)
			require.Equal(t, c.code, got.Code)
			require.Empty(t, h.Get("Access-Control-Allow-Origin"))
			if status == 401 {
				require.Contains(t, h.Get("WWW-Authenticate"), `Bearer realm="vedette"`)
			}
		})
	}
	for _, h := range []string{"v.example.com", "V.Example.Com.:8443", "[::1]:80"} {
		status, _, _ := p.send(t, "/who", func(r *http.Request) { r.Host = h })
		require.Equal(t, 200, status, h)
	}
	status, _, _ = p.send(t, "/approve", func(r *http.Request) { r.Header.Set("Origin", "https://v.example.com") })
	require.Equal(t, 200, status)
	require.NotContains(t, p.log.String(), p.secret)
	require.NotContains(t, p.log.String(), "evil")
	require.Contains(t, p.log.String(), "revoke="+p.token.ID, "who reads the log can revoke what leaked")
}

// A revocation counts at once: for the next request, and for the one under way.
func TestRevokedAtOnce(t *testing.T) {
	p := newPost(t, nil)
	gone := make(chan int)
	go func() {
		r, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, p.url+"/wait", nil)
		r.Header.Set("Authorization", "Bearer "+p.secret)
		res, err := http.DefaultTransport.RoundTrip(r)
		if err == nil {
			_ = res.Body.Close()
		}
		close(gone)
	}()
	ctx := <-p.waiting
	_, err := p.Revoke(t.Context(), p.token.ID, "local:bob")
	require.NoError(t, err)
	<-ctx.Done()
	require.ErrorIs(t, context.Cause(ctx), access.ErrUnauthenticated)
	<-gone
	status, got, _ := p.send(t, "/who", nil)
	require.Equal(t, 401, status)
	require.Equal(t, problem.Unauthenticated, got.Code)
	require.False(t, p.g.Alive(access.Principal{ID: "token:" + p.token.ID}))
}

// A token that expires ends the request under way, and lets in no other.
func TestExpiredAtOnce(t *testing.T) {
	p := newPost(t, nil)
	p.now = p.token.Expires.Add(-time.Millisecond)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/wait", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+p.secret)
	res, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.ErrorIs(t, context.Cause(<-p.waiting), access.ErrUnauthenticated)
	p.now = p.token.Expires
	status, _, _ := p.send(t, "/who", nil)
	require.Equal(t, 401, status)
}

// Each token has its own rate, and is told when to come again.
func TestRates(t *testing.T) {
	p := newPost(t, func(o *access.GuardOptions) { o.Usual = access.Limits{PerMinute: 60, Burst: 2} })
	other, err := p.Create(t.Context(), access.Wanted{Name: "other", Scopes: []access.Scope{access.Admin},
		Limits: access.Limits{PerMinute: 1}}, "local:bob")
	require.NoError(t, err)
	status, _, h := p.send(t, "/who", nil)
	require.Equal(t, 200, status)
	require.Equal(t, []string{"2", "1", "1"}, []string{h.Get("RateLimit-Limit"), h.Get("RateLimit-Remaining"), h.Get("RateLimit-Reset")})
	status, _, _ = p.send(t, "/who", nil)
	require.Equal(t, 200, status)
	status, got, h := p.send(t, "/who", nil)
	require.Equal(t, 429, status)
	require.Equal(t, problem.RateLimited, got.Code)
	require.Equal(t, "1", h.Get("Retry-After"))
	as := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+other.Secret) }
	status, _, _ = p.send(t, "/who", as)
	require.Equal(t, 200, status, "another token has its own")
	status, _, h = p.send(t, "/who", as)
	require.Equal(t, 429, status)
	require.Equal(t, "60", h.Get("Retry-After"))
	p.now = p.now.Add(time.Second)
	status, _, _ = p.send(t, "/who", nil)
	require.Equal(t, 200, status)
	status, _, _ = p.send(t, "/who", nil)
	require.Equal(t, 429, status, "what was refused used nothing up, and gave nothing")
}

// issuer lets in whom it is told to.
type issuer struct {
	p   access.Principal
	err error
}

func (i *issuer) Authenticate(context.Context, string) (access.Principal, error) { return i.p, i.err }

// An issuer's principal must end, and can't be a token's. One that can't be asked is no denial.
func TestIssuers(t *testing.T) {
	is := &issuer{}
	p := newPost(t, func(o *access.GuardOptions) { o.Issuer = is })
	jwt := func(r *http.Request) { r.Header.Set("Authorization", "Bearer a.b.c") }
	for _, c := range []struct {
		p      access.Principal
		err    error
		status int
	}{
		{access.Principal{ID: "oidc:i|s", Expires: start.Add(time.Minute)}, nil, 200},
		{access.Principal{ID: "oidc:i|s"}, nil, 401}, {access.Principal{ID: "oidc:i|s", Expires: start}, nil, 401},
		{access.Principal{Expires: start.Add(time.Minute)}, nil, 401},
		{access.Principal{ID: "token:" + p.token.ID, Expires: start.Add(time.Minute)}, nil, 401},
		{access.Principal{}, access.ErrAway, 503}, {access.Principal{}, access.ErrUnauthenticated, 401}, {access.Principal{}, io.EOF, 401},
	} {
		is.p, is.err = c.p, c.err
		status, _, _ := p.send(t, "/who", jwt)
		require.Equal(t, c.status, status, "%+v", c)
	}
}

// Names that are none are mistakes of the start.
func TestGuardNames(t *testing.T) {
	for _, o := range []access.GuardOptions{
		{Hosts: []string{"http://a"}}, {Hosts: []string{"a b"}}, {Hosts: []string{"a:port"}}, {Hosts: []string{""}},
		{Origins: []string{"a"}}, {Origins: []string{"https://a/b"}}, {Origins: []string{"ftp://a"}}, {Origins: []string{"*"}},
	} {
		_, err := access.NewGuard(o)
		require.Error(t, err, "%+v", o)
	}
}

// A guard without names lets no host in.
func TestGuardWithoutHosts(t *testing.T) {
	g, err := access.NewGuard(access.GuardOptions{})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	g.WrapOpen(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, http.StatusForbidden, w.Code)
}

// Whatever stands in headers and URL, the guard answers, lets in no caller without a token, and
// no secret of ours passes in a URL.
func FuzzGuard(f *testing.F) {
	secret := "vdt_" + strings.Repeat("A", 43)
	for _, s := range [][4]string{
		{"v.example.com", "https://v.example.com", "Bearer x", "/a?b=c"}, {"[::1", "null", "Bearer", "/" + secret}, {"v.example.com:0", "",
			"bearer " + secret, "/?token=%zz"},
		{"a:b:c", "https://[::1]:99999", "Bearer \x00", "/;token=a"},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	g, err := access.NewGuard(access.GuardOptions{Hosts: []string{"v.example.com"}, Origins: []string{"https://v.example.com"}})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, host, origin, authorization, target string) {
		u, err := url.Parse(target)
		if err != nil {
			t.Skip()
		}
		passed := false
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host, r.URL = host, u
		r.Header = http.Header{"Origin": {origin}, "Authorization": {authorization}}
		w := httptest.NewRecorder()
		g.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true })).ServeHTTP(w, r)
		require.False(t, passed)
		require.GreaterOrEqual(t, w.Code, 400)
		require.Less(t, w.Code, 500)
		open := httptest.NewRecorder()
		g.WrapOpen(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			assert.NotContains(t, r.URL.Path+r.URL.RawQuery+r.URL.Fragment, secret)
			assert.True(t, strings.HasPrefix(strings.ToLower(r.Host), "v.example.com"), r.Host)
		})).ServeHTTP(open, r)
	})
}
