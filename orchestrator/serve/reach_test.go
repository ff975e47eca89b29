package serve

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/skills"
)

// writeCertificate writes a certificate of a name and its key.
func writeCertificate(t *testing.T, dir, name string) config.ServerTLS {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	require.NoError(t, err)
	raw, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	out := config.ServerTLS{Cert: filepath.Join(dir, "c.pem"), Key: filepath.Join(dir, "k.pem")}
	require.NoError(t, os.WriteFile(out.Cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(out.Key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}), 0o600))
	return out
}

// Over TLS the server speaks HTTP/2 too, and tells browsers to stay with TLS.
func TestTLS(t *testing.T) {
	files := writeCertificate(t, t.TempDir(), "localhost")
	s := newStand(t, func(o *Options) { o.Config.TLS = files })
	b, err := os.ReadFile(files.Cert)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(b))
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}, ForceAttemptHTTP2: true}
	defer tr.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/healthz", nil)
	require.NoError(t, err)
	res, err := tr.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 2, res.ProtoMajor)
	require.NotEmpty(t, res.Header.Get("Strict-Transport-Security"))
	require.NotContains(t, s.talk(t, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"), "ok", "in the open no handler answers")
}

// A changed certificate counts for the next connection. A wrong one changes nothing, and the log says so.
func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	files := writeCertificate(t, dir, "one")
	log := &safeLog{}
	c, err := loadCertificate(files, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	now := time.Now()
	c.now = func() time.Time { return now }
	name := func() string {
		got, err := c.current(nil)
		require.NoError(t, err)
		leaf, err := x509.ParseCertificate(got.Certificate[0])
		require.NoError(t, err)
		return leaf.Subject.CommonName
	}
	require.Equal(t, "one", name())
	writeCertificate(t, dir, "two-two")
	require.Equal(t, "one", name(), "files are looked at every few seconds")
	now = now.Add(lookEvery)
	require.Equal(t, "two-two", name())
	require.NoError(t, os.WriteFile(files.Cert, []byte("garbage"), 0o600))
	now = now.Add(lookEvery)
	require.Equal(t, "two-two", name())
	require.Contains(t, log.String(), "the last good one counts")
	require.NoError(t, os.Remove(files.Key))
	now = now.Add(lookEvery)
	require.Equal(t, "two-two", name())
	writeCertificate(t, dir, "three")
	now = now.Add(lookEvery)
	require.Equal(t, "three", name())
}

// A server that would send tokens in the open, or whose key others read, doesn't start.
func TestRefusesToStart(t *testing.T) {
	g, err := access.NewGuard(access.GuardOptions{})
	require.NoError(t, err)
	at := func(o Options) string {
		ln, err := takeAddress(o.Config.Listen)
		if err == nil {
			defer func() { require.NoError(t, ln.Close()) }()
			_, err = newServer(ln, o)
		}
		if err == nil {
			return ""
		}
		var p *skills.PathError
		require.ErrorAs(t, err, &p)
		return p.Path
	}
	c := config.Default().Server
	c.Listen = "0.0.0.0:0"
	require.Equal(t, "server.listen", at(Options{Config: c, Guard: g}))
	c.Proxies = []string{"10.0.0.0/8"}
	require.Empty(t, at(Options{Config: c, Guard: g}))
	c.Listen = "192.0.2.1:1"
	require.Equal(t, "server.listen", at(Options{Config: c, Guard: g}), "an address of another machine")
	c.Listen = "127.0.0.1:0"
	c.TLS = writeCertificate(t, t.TempDir(), "a")
	require.Empty(t, at(Options{Config: c, Guard: g}))
	require.NoError(t, os.Chmod(c.TLS.Key, 0o644))
	require.Equal(t, "server.tls.key", at(Options{Config: c, Guard: g}))
	c.TLS.Key = c.TLS.Cert
	require.Equal(t, "server.tls", at(Options{Config: c, Guard: g}))
}

// Only a declared proxy says who sent a request, and only it passes requests on in the open.
func TestProxies(t *testing.T) {
	plain := newStand(t, nil)
	r := func(from string, forwarded ...string) *http.Request {
		return &http.Request{RemoteAddr: from, Header: http.Header{"X-Forwarded-For": forwarded}}
	}
	require.Equal(t, "127.0.0.1", plain.clientAddress(r("127.0.0.1:1", "192.0.2.9")).String(), "no proxy is declared")
	s := newStand(t, func(o *Options) { o.Config.Proxies = []string{"127.0.0.1", "10.0.0.0/8"} })
	for _, c := range []struct {
		r    *http.Request
		want string
	}{
		{r("127.0.0.1:1", "192.0.2.9"), "192.0.2.9"}, {r("127.0.0.1:1", "6.6.6.6, 192.0.2.9, 10.1.1.1"), "192.0.2.9"},
		{r("127.0.0.1:1", "6.6.6.6", "192.0.2.9"), "192.0.2.9"}, {r("127.0.0.1:1", "garbage"), "127.0.0.1"},
		{r("127.0.0.1:1"), "127.0.0.1"}, {r("192.0.2.1:1", "10.0.0.1"), "192.0.2.1"}, {r("[::ffff:10.0.0.1]:1", "192.0.2.9"), "192.0.2.9"},
		{r("garbage"), "invalid IP"},
	} {
		require.Equal(t, c.want, s.clientAddress(c.r).String(), "%v", c.r.Header)
	}
	res, body := s.ask(t, "/v1/x", func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "http") })
	require.Equal(t, 403, res.StatusCode)
	require.Contains(t, body, "without TLS")
	res, _ = s.ask(t, "/v1/x", func(r *http.Request) {
		r.Header.Set("X-Forwarded-Proto", "https")
		r.Header.Set("X-Request-Id", "proxy-gave-this")
	})
	require.Equal(t, 404, res.StatusCode)
	require.Equal(t, "proxy-gave-this", res.Header.Get("X-Request-Id"))
	res, _ = plain.ask(t, "/v1/x", func(r *http.Request) { r.Header.Set("X-Request-Id", "caller-gave-this") })
	require.NotEqual(t, "caller-gave-this", res.Header.Get("X-Request-Id"))
}

// Beyond the loopback and without TLS, others than proxies get no word.
func TestOthersThanProxies(t *testing.T) {
	ours, theirs := net.Pipe()
	l := &boundListener{Listener: &oneConn{c: &from{theirs, "192.0.2.1"}}, most: 1, mostOfOne: 1, of: map[netip.Prefix]int{},
		exempt: func(netip.Addr) bool { return false }, admits: func(a netip.Addr) bool { return a == netip.MustParseAddr("10.0.0.1") }}
	_, err := l.Accept()
	require.ErrorIs(t, err, net.ErrClosed, "it went on to the next, and there is none")
	_, err = ours.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.Zero(t, l.open)
}

// from is a connection from an address.
type from struct {
	net.Conn
	ip string
}

func (f *from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.ip), Port: 1} }

// oneConn is a listener with one connection.
type oneConn struct {
	net.Listener
	c net.Conn
}

func (o *oneConn) Accept() (net.Conn, error) {
	c := o.c
	if o.c = nil; c == nil {
		return nil, net.ErrClosed
	}
	return c, nil
}

// Metrics are for admins; callers on this machine may read them where the configuration says so, a
// proxy on it may not.
func TestMetrics(t *testing.T) {
	serve := func(o *Options) {
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "m 1") })
	}
	s := newStand(t, serve)
	anonymous := func(r *http.Request) { r.Header.Del("Authorization") }
	res, _ := s.ask(t, "/metrics", anonymous)
	require.Equal(t, 401, res.StatusCode)
	res, _ = s.ask(t, "/metrics", nil)
	require.Equal(t, 403, res.StatusCode)
	admin, err := s.tokens.Create(t.Context(), access.Wanted{Name: "admin", Scopes: []access.Scope{access.Admin}}, "local:bob")
	require.NoError(t, err)
	res, body := s.ask(t, "/metrics", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+admin.Secret) })
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, "m 1", body)

	s = newStand(t, func(o *Options) { serve(o); o.Config.Metrics = config.MetricsOnLoopback })
	res, _ = s.ask(t, "/metrics", anonymous)
	require.Equal(t, 200, res.StatusCode)
	for _, h := range forwarded {
		res, _ = s.ask(t, "/metrics", func(r *http.Request) { anonymous(r); r.Header.Set(h, "") })
		require.Equal(t, 401, res.StatusCode, h)
	}
	res, _ = s.ask(t, "/metrics", func(r *http.Request) { anonymous(r); r.Host = "evil.example.com" })
	require.Equal(t, 403, res.StatusCode, "a page of another site that leads its name here")
}

// A Service is an Orchestrator behind a Server: ready while its store can be written to, drained at the end.
func TestService(t *testing.T) {
	dir := t.TempDir()
	cfg, err := config.Parse(filepath.Join(dir, "v.yaml"), []byte(`version: 1
models: {m: {model: x, base_url: "http://127.0.0.1:1"}}
roles: {orchestrator: m, agent: m}
sentinel: {mode: "off"}
server: {listen: "127.0.0.1:0"}
ledger: {path: "`+filepath.Join(dir, "v.db")+`"}
`), config.Options{})
	require.NoError(t, err)
	closed := false
	s, err := Start(t.Context(), cfg, Program{
		Options: orchestrator.Options{Log: slog.New(slog.DiscardHandler)}, Version: "v1",
		Build: func(_ context.Context, l Live) (Handlers, error) {
			require.NotNil(t, l.Orchestrator.Parts().Tokens)
			require.Contains(t, l.URL, "http://127.0.0.1:")
			return Handlers{
				API:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "api") }),
				Close: func(context.Context) error { closed = true; return nil },
			}, nil
		},
	})
	require.NoError(t, err)
	made, err := s.Live().Orchestrator.Parts().Tokens.Create(t.Context(), access.Wanted{Name: "a", Scopes: []access.Scope{access.Admin}},
		"local:bob")
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	view := &stand{Server: s.Server, made: made}
	res, body := view.ask(t, "/readyz", nil)
	require.Equal(t, 200, res.StatusCode, body)
	require.JSONEq(t, `{"status":"ready","checks":{"approvals":"ok","configuration":"ok","pause":"ok","review":"off","store":"ok"}}`, body)
	res, body = view.ask(t, "/v1/x", nil)
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, "api", body)
	_, body = view.ask(t, "/metrics", nil)
	require.Contains(t, body, "vedette_")
	end()
	require.NoError(t, <-ended)
	require.True(t, closed)
}

// An address that is taken, and handlers that can't be made, are errors of the start, and leave nothing behind.
func TestServiceMistakes(t *testing.T) {
	ln, err := takeAddress("127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, ln.Close()) }()
	dir := t.TempDir()
	parse := func(listen string) *config.Config {
		cfg, err := config.Parse(filepath.Join(dir, "v.yaml"), []byte(`version: 1
models: {m: {model: x, base_url: "http://127.0.0.1:1"}}
roles: {orchestrator: m, agent: m}
sentinel: {mode: "off"}
server: {listen: "`+listen+`"}
ledger: {path: "`+filepath.Join(dir, "v.db")+`"}
`), config.Options{})
		require.NoError(t, err)
		return cfg
	}
	_, err = Start(t.Context(), parse(ln.Addr().String()), Program{})
	require.ErrorContains(t, err, "v.yaml:5:18: server.listen: can't be listened on")
	_, err = Start(t.Context(), parse("127.0.0.1:0"), Program{
		Options: orchestrator.Options{Log: slog.New(slog.DiscardHandler)},
		Build:   func(context.Context, Live) (Handlers, error) { return Handlers{}, io.ErrUnexpectedEOF },
	})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	s, err := Start(t.Context(), parse("127.0.0.1:0"), Program{Options: orchestrator.Options{Log: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err, "the database is free again")
	require.NoError(t, s.Abort(t.Context()))
}
