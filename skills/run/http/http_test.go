package http

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
	"github.com/vedette-dev/vedette/skills/warrant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type opts = map[string]any

const params = `{"type":"object","properties":{"id":{},"q":{},"tags":{"type":"array"}}}`

func spec(o opts) skills.Spec {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return skills.Spec{Name: "demo.call", Effect: skills.Modify, Timeout: 10 * time.Second,
		Parameters: json.RawMessage(params), Run: skills.Run{Kind: "http", Options: raw}}
}

type seen struct {
	method, target, body string
	header               http.Header
}

// server is a real one over TLS that records what arrives.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	got  []seen
	pool *x509.CertPool
}

func serve(t *testing.T, answer http.HandlerFunc) *server {
	t.Helper()
	s := &server{pool: x509.NewCertPool()}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.got = append(s.got, seen{r.Method, r.RequestURI, string(b), r.Header.Clone()})
		s.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	s.pool.AddCert(s.Certificate())
	t.Cleanup(s.Close)
	return s
}

func (s *server) arrived() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// at returns the server's URL under a name of its certificate.
func (s *server) at(path string) string {
	u, _ := url.Parse(s.URL)
	return "https://example.com:" + u.Port() + path
}

func local(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func run(t *testing.T, s *server, o opts, args any, more ...func(*Options)) (skills.Result, error) {
	t.Helper()
	if _, set := o["allow_private"]; !set {
		o["allow_private"] = []string{"example.com"}
	}
	kit, sk := runtest.New(t), runtest.Compile(t, spec(o), nil)
	opt := Options{Lookup: local, RootCAs: s.pool}
	for _, m := range more {
		m(&opt)
	}
	e, err := New(sk, kit.Redeemer, opt)
	require.NoError(t, err)
	return kit.Run(t, e, sk, args)
}

func failure(t *testing.T, err error) *skills.Failure {
	t.Helper()
	var f *skills.Failure
	require.ErrorAs(t, err, &f)
	return f
}

// The body is the judged bytes, and the call's id goes along as the key.
func TestSendsTheJudgedBytes(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done") })
	res, err := run(t, s, opts{"url": s.at("/send"), "headers": opts{"Authorization": "Bearer k"}}, opts{"q": "é<&", "id": 7})
	require.NoError(t, err)
	require.Equal(t, skills.Result{Content: "done", Isolation: "remote"}, res)
	got := s.arrived()[0]
	require.Equal(t, "POST", got.method)
	raw, err := json.Marshal(opts{"q": "é<&", "id": 7})
	require.NoError(t, err)
	require.Equal(t, string(raw), got.body)
	require.Equal(t, "call-1", got.header.Get("Idempotency-Key"))
	require.Equal(t, "Bearer k", got.header.Get("Authorization"))
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
	require.Empty(t, got.header.Get(warrant.Header))
}

// Arguments in path and query are escaped and stay where they belong.
func TestPathAndQuery(t *testing.T) {
	s := serve(t, nil)
	_, err := run(t, s, opts{"method": "GET", "url": s.at("/v1/{id}/x?fixed=1"), "query": []string{"q", "tags"}},
		opts{"id": "a/b?c#d e{q}", "q": "x&admin=1", "tags": []any{"t1", 2}})
	require.NoError(t, err)
	require.Equal(t, "/v1/a%2Fb%3Fc%23d%20e%7Bq%7D/x?fixed=1&q=x%26admin%3D1&tags=t1&tags=2", s.arrived()[0].target)
	require.Empty(t, s.arrived()[0].body)
}

// A value that could climb out of its place is refused, and nothing is sent.
func TestPathEscapesAreRefused(t *testing.T) {
	s := serve(t, nil)
	for _, v := range []any{"..", ".", "../admin", "a/../../b", `..\x`, "%2e%2e", "%252e%252e/x", "..;a/b", "", nil, "a\nb", "a\x00", opts{},
		[]any{"x"}, "%" + strings.Repeat("25", 5) + "2e"} {
		_, err := run(t, s, opts{"url": s.at("/v1/{id}")}, opts{"id": v})
		require.ErrorIs(t, err, skills.ErrNoEffect, "%v", v)
		require.False(t, failure(t, err).Unknown)
	}
	_, err := run(t, s, opts{"url": s.at("/"), "query": []string{"q"}}, opts{"q": opts{"k": 1}})
	require.ErrorIs(t, err, skills.ErrNoEffect)
	require.Empty(t, s.arrived())
}

// The receiver can verify that exactly this request was allowed.
func TestToken(t *testing.T) {
	pub, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	signer, err := warrant.NewHTTPSigner(key, "k1")
	require.NoError(t, err)
	var audience string
	seenIDs := warrant.NewSeen(warrant.SeenOptions{})
	s := serve(t, nil)
	errs := make(chan error, 1)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := warrant.VerifyHTTP(r, warrant.VerifyOptions{Key: pub, Audience: audience, Seen: seenIDs.First})
		if err == nil && c.CallID != "call-1" {
			err = errors.New("another call")
		}
		errs <- err
	})
	audience = strings.TrimSuffix(s.at(""), "/")
	_, err = run(t, s, opts{"url": s.at("/v1/{id}"), "query": []string{"q"}}, opts{"id": "x", "q": "y z"}, func(o *Options) {
		o.Token = func(o skills.Order, r Request) (string, error) {
			return signer.Token(warrant.Claims{Audience: r.Audience, ID: "t1", Digest: o.Digest(), Skill: o.Skill, CallID: o.CallID,
				Body:   warrant.BodyDigest(r.Body),
				Target: warrant.TargetDigest(r.Method, r.Target), IssuedAt: time.Now(), Expires: time.Now().Add(time.Minute)})
		}
	})
	require.NoError(t, err)
	require.NoError(t, <-errs)
	_, err = run(t, s, opts{"url": s.at("/")}, opts{}, func(o *Options) {
		o.Token = func(skills.Order, Request) (string, error) { return "", errors.New("no key") }
	})
	require.ErrorIs(t, err, skills.ErrNoEffect)
	require.Empty(t, errs)
}

// Only a 2xx is a success. What the server may have done all the same is said.
func TestStatus(t *testing.T) {
	for status, unknown := range map[int]bool{302: true, 307: true, 404: false, 422: false, 500: true, 503: true} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, strings.Repeat("why ", 2000))
		})
		_, err := run(t, s, opts{"url": s.at("/")}, opts{})
		f := failure(t, err)
		require.Equal(t, unknown, f.Unknown, status)
		var st *StatusError
		require.ErrorAs(t, err, &st)
		require.Equal(t, status, st.Status)
		require.LessOrEqual(t, len(st.Body), maxSnippet)
		require.Len(t, s.arrived(), 1, "a redirect was followed or the request repeated")
	}
}

// What is longer than the limit is cut and marked.
func TestOutputLimit(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 1000)) })
	res, err := run(t, s, opts{"url": s.at("/"), "output_limit": 10}, opts{})
	require.NoError(t, err)
	require.Equal(t, "xxxxxxxxxx", res.Content)
	require.True(t, res.Truncated)
}

// A connection that breaks after the request leaves the outcome unknown, and
// the request is not sent again.
func TestBrokenConnection(t *testing.T) {
	for _, early := range []bool{true, false} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if !early {
				w.Header().Set("Content-Length", "100")
				_, _ = io.WriteString(w, "part")
			}
			panic(http.ErrAbortHandler)
		})
		_, err := run(t, s, opts{"url": s.at("/{id}")}, opts{"id": "canary-value"})
		f := failure(t, err)
		require.True(t, f.Unknown)
		require.NotContains(t, err.Error(), "canary-value")
		require.Len(t, s.arrived(), 1)
	}
}

// Without a valid warrant nothing is sent.
func TestRefusesWithoutWarrant(t *testing.T) {
	s := serve(t, nil)
	kit, sk := runtest.New(t), runtest.Compile(t, spec(opts{"url": s.at("/"), "allow_private": []string{"example.com"}}), nil)
	e, err := New(sk, kit.Redeemer, Options{Lookup: local, RootCAs: s.pool})
	require.NoError(t, err)
	kit.Unwarranted(t, e, sk, opts{"q": 1}, func() bool { return len(s.arrived()) == 0 })
	_, err = kit.Run(t, e, sk, opts{"q": 1})
	require.NoError(t, err)
	require.Len(t, s.arrived(), 1)
}

// Plain http goes to hosts on the list alone, and old TLS nowhere.
func TestSchemes(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "plain") }))
	defer plain.Close()
	u := strings.Replace(plain.URL, "127.0.0.1", "example.com", 1)
	res, err := run(t, &server{}, opts{"url": u, "allow_hosts": []string{"Example.com"}}, opts{})
	require.NoError(t, err)
	require.Equal(t, "plain", res.Content)
	old := httptest.NewUnstartedServer(nil)
	old.TLS = tlsOld()
	old.StartTLS()
	defer old.Close()
	pool := x509.NewCertPool()
	pool.AddCert(old.Certificate())
	_, err = run(t, &server{Server: old, pool: pool}, opts{"url": (&server{Server: old}).at("/")}, opts{})
	require.ErrorIs(t, err, skills.ErrNoEffect)
}

// Every mistake in the options has its own path.
func TestRefusesBadOptions(t *testing.T) {
	kit := runtest.New(t)
	for name, row := range map[string]struct {
		o    opts
		want []string
	}{
		"no url":        {opts{}, []string{"run.http.url"}},
		"typo":          {opts{"ulr": "https://h/"}, []string{"run.http.ulr"}},
		"plain":         {opts{"url": "http://h/"}, []string{"run.http.url"}},
		"scheme":        {opts{"url": "file:///etc/passwd"}, []string{"run.http.url"}},
		"relative":      {opts{"url": "/x"}, []string{"run.http.url"}},
		"place in host": {opts{"url": "https://{id}.example/"}, []string{"run.http.url"}},
		"in query":      {opts{"url": "https://h/?a={id}"}, []string{"run.http.url"}},
		"password":      {opts{"url": "https://u:canary@h/"}, []string{"run.http.url"}},
		"undeclared":    {opts{"url": "https://h/{idd}", "query": []string{"qq"}}, []string{"run.http.url", "run.http.query[0]"}},
		"braces":        {opts{"url": "https://h/{id"}, []string{"run.http.url"}},
		"method":        {opts{"url": "https://h/", "method": "post"}, []string{"run.http.method"}},
		"GET body":      {opts{"url": "https://h/", "method": "GET", "body": "json"}, []string{"run.http.body"}},
		"words":         {opts{"url": "https://h/", "body": "form", "output_limit": -1}, []string{"run.http.body", "run.http.output_limit"}},
		"private":       {opts{"url": "https://h/", "allow_private": true}, []string{"run.http.allow_private"}},
		"headers": {opts{"url": "https://h/", "headers": opts{"Host": "x", "X-A": "canary\r\nX-B: 1", "a b": "x", "vedette-warrant": "x"}},
			[]string{"run.http.headers.Host", "run.http.headers.X-A", "run.http.headers.a b", "run.http.headers.vedette-warrant"}},
	} {
		_, err := New(runtest.Compile(t, spec(row.o), nil), kit.Redeemer, Options{})
		require.ElementsMatch(t, row.want, runtest.Paths(err), "%s: %v", name, err)
		require.NotContains(t, err.Error(), "canary")
	}
}

// A filled URL keeps its host, and what it was made of can be read back.
func FuzzFill(f *testing.F) {
	f.Add("a/b", "x")
	f.Add("..", "&")
	f.Add("%2e%2e%2f", "#")
	f.Add("@evil.example/", "\r\n")
	f.Fuzz(func(t *testing.T, id, q string) {
		u, err := fillURL("https://h.example/v1/{id}/end", []string{"q"}, map[string]any{"id": id, "q": q})
		if err != nil {
			return
		}
		p := u.EscapedPath()
		if u.Host != "h.example" || u.User != nil || u.Fragment != "" || strings.Count(p, "/") != 3 || u.Query().Get("q") != q {
			t.Fatalf("%q %q gave %q", id, q, u)
		}
		mid, err := url.PathUnescape(strings.Split(p, "/")[2])
		if err != nil || mid != id {
			t.Fatalf("%q became %q", id, mid)
		}
	})
}
