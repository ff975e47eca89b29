package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/skills"
)

const (
	maxHeaders = 16 << 10
	// writeTime is how long a reader may take nothing of an answer.
	writeTime = 30 * time.Second
	// endTime is how long answers have once all work has ended.
	endTime = 5 * time.Second
)

// Server listens on one address.
type Server struct {
	o       Options
	log     *slog.Logger
	ln      net.Listener
	tls     bool
	trusted []netip.Prefix
	http    *http.Server

	draining atomic.Bool
}

// takeAddress takes the address of server.listen, so that one that can't be had is an error of the
// start: a *skills.PathError at server.listen.
func takeAddress(address string) (net.Listener, error) {
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, &skills.PathError{Path: "server.listen", Msg: fmt.Sprintf("can't be listened on; give a free port: %v", err)}
	}
	return ln, nil
}

// newServer reads the certificate and puts the handlers behind the listener. The errors are *skills.PathError with their
// place below server.
func newServer(ln net.Listener, o Options) (*Server, error) {
	s := &Server{o: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), trusted: o.Config.ProxyNetworks()}
	if o.Guard == nil {
		return nil, errors.New("the server needs a guard")
	}
	loopback := peerAddress(ln.Addr()).IsLoopback()
	if !loopback && o.Config.TLS.Cert == "" && len(s.trusted) == 0 {
		return nil, &skills.PathError{Path: "server.listen",
			Msg: "is reached from other machines, and tokens would go there in the open; set server.tls, or server.proxies where a proxy ends TLS"}
	}
	bound := &boundListener{Listener: ln, most: o.Config.Limits.Connections, mostOfOne: o.Config.Limits.ConnectionsPerAddress,
		exempt: func(a netip.Addr) bool { return a.IsLoopback() || s.trusts(a) }, of: map[netip.Prefix]int{}}
	s.ln = bound
	if o.Config.TLS.Cert != "" {
		cert, err := loadCertificate(o.Config.TLS, s.log)
		if err != nil {
			return nil, err
		}
		s.tls = true
		s.ln = tls.NewListener(bound, &tls.Config{
			MinVersion: tls.VersionTLS12, GetCertificate: cert.current, NextProtos: []string{"h2", "http/1.1"},
		})
	} else if !loopback { // in the open: proxies alone
		bound.admits = func(a netip.Addr) bool { return a.IsLoopback() || s.trusts(a) }
	}
	s.http = s.newHTTPServer()
	return s, nil
}

// newHTTPServer makes the server with its bounds.
func (s *Server) newHTTPServer() *http.Server {
	l := s.o.Config.Limits
	srv := &http.Server{
		Handler: s.newHandler(), MaxHeaderBytes: maxHeaders, ReadHeaderTimeout: l.HeaderTimeout, ReadTimeout: l.ReadTimeout,
		IdleTimeout: l.IdleTimeout, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 250, WriteByteTimeout: writeTime, SendPingTimeout: l.IdleTimeout},
	}
	return srv
}

// trusts reports whether an address is that of a declared proxy.
func (s *Server) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(s.trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Addr is where it listens: the port that was given for port 0.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// URL is the address by which it is reached.
func (s *Server) URL() string { return urlOf(s.o.Config, s.Addr()) }

// Run serves until ctx ends, and then ends without losing work: /readyz says no, Options.Drain
// ends the work and then the streams, while answers are carried out, and connections close. The error is
// that of a server that broke, or of the drain. Run it once.
func (s *Server) Run(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if recover() != nil {
				ended <- errors.New("the HTTP server broke")
			}
		}()
		ended <- s.http.Serve(s.ln)
	}()
	var broke error
	select {
	case broke = <-ended:
	case <-ctx.Done():
	}
	err := s.drain(ctx)
	if broke != nil {
		return errors.Join(fmt.Errorf("the HTTP server ended: %w", broke), err)
	}
	<-ended //nolint:errcheck // it says that it was closed
	return err
}

// drain ends the work and the streams, then the connections.
func (s *Server) drain(ctx context.Context) (err error) {
	s.draining.Store(true)
	ctx = context.WithoutCancel(ctx)
	if s.o.Drain != nil {
		draining, cancel := context.WithTimeout(ctx, s.o.Config.Limits.Drain)
		err = s.o.Drain(draining)
		cancel()
	}
	closing, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	if serr := s.http.Shutdown(closing); serr != nil {
		s.log.Warn("answers were cut off, since they did not end in time")
		_ = s.http.Close()
	}
	return err
}

// Close lets the address go where Run never ran.
func (s *Server) Close() error { return s.ln.Close() }

// newHandler puts handlers on their paths.
func (s *Server) newHandler() http.Handler {
	mux := http.NewServeMux()
	handle := func(area string, h http.Handler, patterns ...string) {
		if h == nil {
			return
		}
		for _, p := range patterns {
			mux.Handle(p, nameArea(area, h))
		}
	}
	handle("health", http.HandlerFunc(s.onHealth), "GET /healthz")
	handle("health", http.HandlerFunc(s.onReady), "GET /readyz")
	handle("health", http.HandlerFunc(s.onVersion), "GET /version")
	handle("problems", problem.Handler(), "GET "+problem.TypePrefix+"{code}")
	if s.o.Metrics != nil {
		handle("metrics", s.guardMetrics(s.o.Metrics), "GET /metrics")
	}

	api := s.o.Guard.Wrap(orNothing(s.o.API))
	// Each folder is named with and without its slash: the mux would send callers from one to the other.
	handle("api", api, "/v1", "/v1/", "/api", "/api/", "/openapi.yaml") // a mux sends /v1 elsewhere where /v1/ alone is there
	if s.o.Docs != nil {
		handle("docs", s.o.Guard.WrapOpen(s.o.Docs), "/openapi.json", "/docs")
	} else {
		handle("api", api, "/openapi.json")
	}
	handle("door", s.o.Guard.Wrap(orNothing(s.o.Door)), "/assistants/v1", "/assistants/v1/")
	handle("proxy", s.o.Proxy, "/proxy", "/proxy/")
	handle("pages", s.o.Guard.WrapOpen(orNothing(s.o.Pages)), "/")
	unplain := nameArea("none", s.o.Guard.WrapOpen(http.HandlerFunc(onUnplain)))
	return s.wrapAll(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isPlainPath(r.URL.EscapedPath()) {
			mux.ServeHTTP(w, r)
			return
		}
		unplain.ServeHTTP(w, r) // the mux would send the caller elsewhere, before the guard is asked
	}))
}

// isPlainPath reports whether a path has no empty part and no dots to go by.
func isPlainPath(p string) bool {
	c := path.Clean(p)
	return c == p || c != "/" && c+"/" == p
}

// onUnplain answers for paths that two readers could take in two ways.
func onUnplain(w http.ResponseWriter, r *http.Request) {
	problem.Write(w, r, problem.New(problem.NotFound, "the path is not plain"))
}

// onNothing answers for paths that there are not.
func onNothing(w http.ResponseWriter, r *http.Request) {
	problem.Write(w, r, problem.New(problem.NotFound, "there is nothing at this path"))
}

// guardMetrics lets tokens with the scope admin in, and callers on this machine where the
// configuration says so.
func (s *Server) guardMetrics(next http.Handler) http.Handler {
	guarded := s.o.Guard.Wrap(s.o.Guard.Require(next, access.Admin))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.o.Config.Metrics == config.MetricsOnLoopback && isOwnMachine(r) {
			s.o.Guard.WrapOpen(next).ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// orNothing is the handler, or one that finds nothing where there is none.
func orNothing(h http.Handler) http.Handler {
	if h == nil {
		return http.HandlerFunc(onNothing)
	}
	return h
}
