package serve

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/mod/sumdb/note"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// safeLog is a log that several goroutines write.
type safeLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *safeLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// stand is a server that runs, with a token.
type stand struct {
	*Server
	tokens *access.Tokens
	made   access.Made
	log    *safeLog
	end    context.CancelFunc
	ended  chan error
}

func newStand(t *testing.T, change func(*Options)) *stand {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "v.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	skey, _, err := note.GenerateKey(rand.Reader, "vedette/ledger")
	require.NoError(t, err)
	signer, err := ledger.NewSigner(skey)
	require.NoError(t, err)
	lg, err := ledger.Open(t.Context(), st, signer, ledger.Options{})
	require.NoError(t, err)
	s := &stand{log: &safeLog{}, ended: make(chan error, 1)}
	s.tokens, err = access.OpenTokens(t.Context(), access.TokenOptions{Store: st, Ledger: lg})
	require.NoError(t, err)
	s.made, err = s.tokens.Create(t.Context(), access.Wanted{Name: "ops", User: "ann", Scopes: []access.Scope{access.Chat}}, "local:bob")
	require.NoError(t, err)
	o := Options{Config: config.Default().Server, Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	o.Config.Listen = "127.0.0.1:0"
	o.Config.Limits.Body = 1 << 10
	ln, err := takeAddress(o.Config.Listen)
	require.NoError(t, err)
	hosts, origins := listNames(o.Config, ln.Addr().String())
	o.Guard, err = access.NewGuard(access.GuardOptions{Tokens: s.tokens, Hosts: hosts, Origins: origins, MaxBody: 1 << 10, Log: o.Log})
	require.NoError(t, err)
	if change != nil {
		change(&o)
	}
	s.Server, err = newServer(ln, o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	s.end = cancel
	go func() { s.ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err, ok := <-s.ended; ok {
			require.NoError(t, err)
			close(s.ended)
		}
	})
	return s
}

// ask sends one request on a connection of its own.
func (s *stand) ask(t *testing.T, path string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr()+path, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.made.Secret)
	r.Close = true
	if change != nil {
		change(r)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	require.NoError(t, err)
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res, string(b)
}

// talk writes raw bytes and returns all that comes back until the server closes.
func (s *stand) talk(t *testing.T, raw string) string {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	_, err = io.WriteString(c, raw)
	require.NoError(t, err)
	b, err := io.ReadAll(c)
	if err != nil {
		require.ErrorContains(t, err, "reset")
	}
	return string(b)
}

// Health needs no token and tells nothing but states. Everything else needs one.
func TestPaths(t *testing.T) {
	state := OK
	s := newStand(t, func(o *Options) {
		o.Version = map[string]string{"version": "v1"}
		o.Checks = func(context.Context) []Check {
			return []Check{{Name: "store", State: state}, {Name: "review", State: Degraded}}
		}
		o.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p, _ := access.FromContext(r.Context())
			_, _ = io.WriteString(w, p.User)
		})
	})
	anonymous := func(r *http.Request) { r.Header.Del("Authorization"); r.Host = "10.1.2.3" }
	for path, want := range map[string]string{
		"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ready","checks":{"review":"degraded","store":"ok"}}`,
		"/version": `{"version":"v1"}`,
	} {
		res, body := s.ask(t, path, anonymous)
		require.Equal(t, 200, res.StatusCode, path)
		require.JSONEq(t, want, body)
	}
	state = Failed
	res, body := s.ask(t, "/readyz", anonymous)
	require.Equal(t, 503, res.StatusCode)
	require.Contains(t, body, "not_ready")
	for _, path := range []string{"/v1/x", "/openapi.json", "/assistants/v1/chat/completions"} {
		res, _ := s.ask(t, path, func(r *http.Request) { r.Header.Del("Authorization") })
		require.Equal(t, 401, res.StatusCode, path)
	}
	res, body = s.ask(t, "/v1/x", nil)
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, "ann", body)
	require.Equal(t, []string{"nosniff", "DENY", "no-store"},
		[]string{res.Header.Get("X-Content-Type-Options"), res.Header.Get("X-Frame-Options"), res.Header.Get("Cache-Control")})
	require.Contains(t, s.log.String(), "request_id="+res.Header.Get("X-Request-Id"))
	require.Contains(t, s.log.String(), "principal=token:"+s.made.ID)
	res, _ = s.ask(t, "/assistants/v1/x", nil)
	require.Equal(t, 404, res.StatusCode)
}

// The guard is asked before a path that the mux would send elsewhere: none is, and a foreign host is told nothing.
func TestPathsAreSentNowhere(t *testing.T) {
	s := newStand(t, func(o *Options) {
		o.API = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") })
		o.Door, o.Proxy, o.Pages = o.API, o.Guard.Wrap(o.API), o.API
	})
	for _, path := range []string{"//x", "//v1/x", "/v1//x", "/v1/../docs", "/./v1/x", "/../etc/passwd", "//", "//healthz"} {
		res, body := s.ask(t, path, func(r *http.Request) { r.Host = "evil.example" })
		require.Equal(t, 403, res.StatusCode, path)
		require.Contains(t, body, "foreign_host", path)
		res, _ = s.ask(t, path, func(r *http.Request) { r.Header.Del("Authorization") })
		require.Equal(t, 404, res.StatusCode, path)
	}
	for _, path := range []string{"/v1", "/api", "/assistants/v1", "/proxy"} {
		res, _ := s.ask(t, path, func(r *http.Request) { r.Host = "evil.example" })
		require.Equal(t, 403, res.StatusCode, path)
		res, _ = s.ask(t, path, func(r *http.Request) { r.Header.Del("Authorization") })
		require.Equal(t, 401, res.StatusCode, path)
	}
}

// The API's description needs no token. A foreign host or a token in the URL is refused there as well.
func TestDocs(t *testing.T) {
	s := newStand(t, func(o *Options) {
		o.API = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the API") })
		o.Docs = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the docs") })
	})
	for _, path := range []string{"/openapi.json", "/docs"} {
		res, body := s.ask(t, path, func(r *http.Request) { r.Header.Del("Authorization") })
		require.Equal(t, 200, res.StatusCode, path)
		require.Equal(t, "the docs", body)
		res, _ = s.ask(t, path, func(r *http.Request) { r.Host = "evil.example" })
		require.Equal(t, 403, res.StatusCode, path)
		res, _ = s.ask(t, path+"?token=x", nil)
		require.Equal(t, 400, res.StatusCode, path)
	}
	res, _ := s.ask(t, "/openapi.yaml", func(r *http.Request) { r.Header.Del("Authorization") })
	require.Equal(t, 401, res.StatusCode)
}

// No line of the log holds the caller's words: path, query, header, token.
func TestLogHoldsNoWords(t *testing.T) {
	s := newStand(t, nil)
	s.ask(t, "/v1/CANARY?q=CANARY", func(r *http.Request) {
		r.Header.Set("X-Request-Id", "CANARY-CANARY")
		r.Header.Set("User-Agent", "CANARY")
		r.Header.Set("X-Forwarded-For", "CANARY")
	})
	s.talk(t, "CANARY /v1/x HTTP/1.1\r\nHost: "+s.Addr()+"\r\nConnection: close\r\n\r\n")
	s.talk(t, "GET /v1/x?"+s.made.Secret+" HTTP/1.1\r\nHost: "+s.Addr()+"\r\nConnection: close\r\n\r\n")
	require.NotContains(t, s.log.String(), "CANARY")
	require.NotContains(t, s.log.String(), s.made.Secret)
	require.Contains(t, s.log.String(), "method=other")
}

// A panic is a 500 with an id and no word of it, and the server goes on.
func TestPanics(t *testing.T) {
	s := newStand(t, func(o *Options) {
		o.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/late" {
				_, _ = io.WriteString(w, "half")
				w.(http.Flusher).Flush()
			}
			panic("CANARY")
		})
	})
	res, body := s.ask(t, "/v1/x", nil)
	require.Equal(t, 500, res.StatusCode)
	var p problem.Problem
	require.NoError(t, json.Unmarshal([]byte(body), &p))
	require.Equal(t, problem.Internal, p.Code)
	require.Contains(t, s.log.String(), p.RequestID)
	require.NotContains(t, body+s.log.String(), "CANARY")
	out := s.talk(t, "GET /v1/late HTTP/1.1\r\nHost: "+s.Addr()+"\r\nAuthorization: Bearer "+s.made.Secret+"\r\n\r\n")
	require.Contains(t, out, "half")
	require.NotContains(t, out, "\r\n0\r\n\r\n", "an answer that broke doesn't look whole")
	res, _ = s.ask(t, "/healthz", nil)
	require.Equal(t, 200, res.StatusCode)
}

// What could be read in two ways, or isn't HTTP, is refused.
func TestSmuggling(t *testing.T) {
	seen := make(chan string, 100)
	s := newStand(t, func(o *Options) {
		o.API = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			seen <- r.Method
		})
	})
	head := "POST /v1/x HTTP/1.1\r\nHost: " + s.Addr() + "\r\nAuthorization: Bearer " + s.made.Secret + "\r\nConnection: close\r\n"
	for name, raw := range map[string]string{
		"two lengths":          head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"two lengths in one":   head + "Content-Length: 1, 2\r\n\r\nab",
		"signed length":        head + "Content-Length: +1\r\n\r\na",
		"two codings":          head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		"unknown coding":       head + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"blank before colon":   head + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		"folded header":        "POST /v1/x HTTP/1.1\r\n Host: a\r\n\r\n",
		"two hosts":            head + "Host: evil.example.com\r\n\r\n",
		"no host":              "GET /v1/x HTTP/1.1\r\n\r\n",
		"NUL in a header":      head + "X-A: a\x00b\r\n\r\n",
		"line feed in a value": head + "X-A: a\rGET /v1/y HTTP/1.1\r\n\r\n",
		"headers of 100 KB":    head + "X-A: " + strings.Repeat("a", 100<<10) + "\r\n\r\n",
		"not HTTP":             "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
	} {
		out := s.talk(t, raw)
		require.Regexp(t, `^HTTP/1\.[01] (400|403|431|501) `, out, name)
		require.Equal(t, 1, strings.Count(out, "HTTP/1."), name)
	}
	require.Empty(t, seen, "no handler ran")
	// Both framings: the body ends as chunks say, and what follows is no second request.
	out := s.talk(t, head+"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/y HTTP/1.1\r\nHost: "+s.Addr()+"\r\n\r\n")
	require.Equal(t, 1, strings.Count(out, "HTTP/1."))
}

// A caller that dribbles is cut off, in its headers and in its body, and others are served meanwhile.
func TestSlowloris(t *testing.T) {
	s := newStand(t, func(o *Options) {
		o.Config.Limits.HeaderTimeout, o.Config.Limits.ReadTimeout = 300*time.Millisecond, 600*time.Millisecond
		o.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				problem.Write(w, r, problem.From(err))
			}
		})
	})
	begin := []string{
		"GET /v1/x HTTP/1.1\r\nHost: ",
		"POST /v1/x HTTP/1.1\r\nHost: " + s.Addr() + "\r\nAuthorization: Bearer " + s.made.Secret + "\r\nContent-Length: 1000\r\n\r\nabc",
	}
	var open []net.Conn
	for range 20 {
		for _, b := range begin {
			c, err := net.Dial("tcp", s.Addr())
			require.NoError(t, err)
			_, err = io.WriteString(c, b)
			require.NoError(t, err)
			open = append(open, c)
		}
	}
	res, _ := s.ask(t, "/healthz", nil)
	require.Equal(t, 200, res.StatusCode)
	for _, c := range open {
		_, err := io.Copy(io.Discard, c) // it ends because the server closes
		if err != nil {
			require.ErrorContains(t, err, "reset")
		}
		require.NoError(t, c.Close())
	}
}

// A body of 100 MB is refused before it is read, whether it says its length or not.
func TestLargeBodies(t *testing.T) {
	var read int64
	s := newStand(t, func(o *Options) {
		o.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			read += n
			problem.Write(w, r, problem.From(err))
		})
	})
	const size = 100 << 20
	for _, length := range []int64{size, -1} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Addr()+"/v1/x", io.LimitReader(rand.Reader, size))
		require.NoError(t, err)
		r.ContentLength = length
		r.Header.Set("Authorization", "Bearer "+s.made.Secret)
		tr := &http.Transport{DisableKeepAlives: true}
		res, err := tr.RoundTrip(r)
		if err != nil { // the server closed while the client was writing
			continue
		}
		require.Equal(t, 413, res.StatusCode)
		require.NoError(t, res.Body.Close())
	}
	require.LessOrEqual(t, read, int64(1<<10))
	require.Contains(t, s.log.String(), "status=413")
}

// Without room a connection is closed at once; with room again the next is served.
func TestConnections(t *testing.T) {
	s := newStand(t, func(o *Options) { o.Config.Limits.Connections = 2 })
	var open []net.Conn
	for range 2 {
		c, err := net.Dial("tcp", s.Addr())
		require.NoError(t, err)
		_, err = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
		require.NoError(t, err)
		_, err = bufio.NewReader(c).ReadString('\n')
		require.NoError(t, err)
		open = append(open, c)
	}
	require.Empty(t, s.talk(t, ""))
	for _, c := range open {
		require.NoError(t, c.Close())
	}
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			return false
		}
		defer func() { _ = c.Close() }()
		_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		b, _ := io.ReadAll(c)
		return strings.HasPrefix(string(b), "HTTP/1.1 200")
	}, 4*time.Minute, 10*time.Millisecond)
}

// Of one address there are so many connections, of a proxy and of this machine as many as there is room for.
func TestConnectionsOfOneAddress(t *testing.T) {
	l := &boundListener{most: 10, mostOfOne: 2, exempt: func(a netip.Addr) bool { return a.IsLoopback() }, of: map[netip.Prefix]int{}}
	one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	require.True(t, l.enter(one))
	require.True(t, l.enter(one))
	require.False(t, l.enter(one))
	require.True(t, l.enter(other))
	six, same := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::ffff:1")
	require.True(t, l.enter(six))
	require.True(t, l.enter(same))
	require.False(t, l.enter(netip.MustParseAddr("2001:db8::2")), "one caller has 64 bits")
	for range 5 {
		require.True(t, l.enter(netip.MustParseAddr("127.0.0.1")))
	}
	require.False(t, l.enter(netip.MustParseAddr("127.0.0.1")), "no room at all")
	l.leave(one)
	require.True(t, l.enter(one))
	for _, a := range []netip.Addr{one, one, other, six, same} {
		l.leave(a)
	}
	require.Empty(t, l.of)
}

// The end: readiness says no, answers are carried out, streams end once the work has, and the address is free.
func TestDrain(t *testing.T) {
	begun, finish, work, streams := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := newStand(t, func(o *Options) {
		o.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/stream" {
				_, _ = io.WriteString(w, "open\n")
				w.(http.Flusher).Flush()
				<-streams
				_, _ = io.WriteString(w, "end\n")
				return
			}
			close(begun)
			<-finish
			_, _ = io.WriteString(w, "done")
		})
		o.Drain = func(ctx context.Context) error {
			_, limited := ctx.Deadline()
			require.True(t, limited)
			close(work)
			<-finish
			close(streams) // as the API's Close does
			return nil
		}
	})
	stream := make(chan string, 1)
	opened := make(chan struct{})
	go func() {
		r, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+s.Addr()+"/v1/stream", nil)
		r.Header.Set("Authorization", "Bearer "+s.made.Secret)
		res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err != nil {
			stream <- err.Error()
			return
		}
		defer func() { _ = res.Body.Close() }()
		in := bufio.NewReader(res.Body)
		first, _ := in.ReadString('\n')
		close(opened)
		rest, _ := io.ReadAll(in)
		stream <- first + string(rest)
	}()
	answer := make(chan string, 1)
	go func() {
		_, body := s.ask(t, "/v1/work", nil) //nolint:testifylint // a failure leaves the answer out, and the watchdog ends the test
		answer <- body
	}()
	<-opened
	<-begun
	s.end()
	<-work
	res, body := s.ask(t, "/readyz", nil)
	require.Equal(t, 503, res.StatusCode)
	require.Contains(t, body, "draining")
	close(finish)
	require.Equal(t, "done", <-answer)
	require.Equal(t, "open\nend\n", <-stream)
	require.NoError(t, <-s.ended)
	close(s.ended)
	_, err := net.Dial("tcp", s.Addr())
	require.Error(t, err)
}

// What the drain says reaches the caller of Run.
func TestDrainFails(t *testing.T) {
	s := newStand(t, func(o *Options) { o.Drain = func(context.Context) error { return errors.New("cut") } })
	s.end()
	require.ErrorContains(t, <-s.ended, "cut")
	close(s.ended)
}

// A stream outlives every time-out of requests.
func TestLongStream(t *testing.T) {
	next := make(chan struct{})
	s := newStand(t, func(o *Options) {
		const short = 100 * time.Millisecond
		o.Config.Limits.HeaderTimeout, o.Config.Limits.ReadTimeout, o.Config.Limits.IdleTimeout = short, short, short
		o.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for n := range 3 {
				_, _ = fmt.Fprintf(w, "%d\n", n)
				w.(http.Flusher).Flush()
				select {
				case <-next:
				case <-r.Context().Done():
					_, _ = io.WriteString(w, "cut\n")
					return
				}
			}
		})
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr()+"/v1/x", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.made.Secret)
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	in := bufio.NewReader(res.Body)
	for n := range 3 {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%d\n", n), line)
		s.talk(t, "GET /healthz ") // it ends when its time-out is over
		next <- struct{}{}
	}
}
