package serve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/access/oidc"
	"github.com/vedette-dev/vedette/orchestrator/telemetry"
)

// Program is what a program adds to a configuration that is served.
type Program struct {
	orchestrator.Options
	// Build makes the handlers, once everything behind them is there; nil serves health alone.
	Build func(ctx context.Context, l Live) (Handlers, error)
	// Reloading has the Service take up a changed configuration while it runs.
	Reloading Reloading
	// Version is what /version answers.
	Version any
}

// Live is what handlers are made of.
type Live struct {
	Orchestrator *orchestrator.Orchestrator
	Config       *config.Config
	Guard        *access.Guard
	// Issuer signs people in to pages; nil where the configuration has no client of an issuer.
	Issuer *oidc.Issuer
	// URL is the address by which the server is reached, without a slash at its end.
	URL string
	Log *slog.Logger
}

// Handlers are what answers: see Options.
type Handlers struct {
	API, Docs, Door, Proxy, Pages http.Handler
	// Close releases what they hold, after the drain; nil where they hold nothing.
	Close func(ctx context.Context) error
}

// Service is an Orchestrator and the Server before it.
type Service struct {
	*Server
	live     Live
	handlers Handlers
	watch    *watcher // nil where nothing is reloaded
	drained  orchestrator.Drained
}

// Start takes the address, starts the Orchestrator and makes the handlers. Run serves; without it,
// call Abort. The errors have their place in the configuration's file.
func Start(ctx context.Context, cfg *config.Config, p Program) (*Service, error) {
	log := cmp.Or(p.Log, slog.Default())
	p.Log, p.ParserIsolation = log, cmp.Or(p.ParserIsolation, orchestrator.IsolateParsers)
	ln, err := takeAddress(cfg.Server.Listen)
	if err != nil {
		return nil, cfg.Locate(err)
	}
	registry, metrics := telemetry.NewRegistry()
	if p.Metrics == nil {
		p.Metrics = registry
	} else {
		metrics = nil // the program serves them itself
	}
	o, err := orchestrator.New(ctx, cfg, p.Options)
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	s := &Service{live: Live{Orchestrator: o, Config: cfg, Log: log}}
	if err := s.build(ctx, ln, metrics, p); err != nil {
		return nil, errors.Join(cfg.Locate(err), ln.Close(), o.Close(ctx))
	}
	return s, nil
}

// build makes guard, handlers and server.
func (s *Service) build(ctx context.Context, ln net.Listener, metrics http.Handler, p Program) (err error) {
	cfg := s.live.Config
	issuer, err := newIssuer(cfg.Server.Auth.OIDC, s.live.Log)
	if err != nil {
		return err
	}
	if cfg.Server.Auth.OIDC.SignIn.ClientID != "" {
		s.live.Issuer = issuer
	}
	if s.live.Guard, err = newGuard(s.live, issuer, ln.Addr().String()); err != nil {
		return err
	}
	o := Options{
		Config: cfg.Server, Guard: s.live.Guard, Metrics: metrics, Checks: s.live.Orchestrator.Health, Drain: s.drainAll,
		Version: p.Version, Log: s.live.Log,
	}
	s.live.URL = urlOf(cfg.Server, ln.Addr().String())
	if p.Build != nil {
		if s.handlers, err = p.Build(ctx, s.live); err != nil {
			return err
		}
		h := s.handlers
		o.API, o.Docs, o.Door, o.Proxy, o.Pages = h.API, h.Docs, h.Door, h.Proxy, h.Pages
	}
	if s.Server, err = newServer(ln, o); err == nil && p.Reloading.Load != nil {
		s.watch = watchConfiguration(p.Reloading, s.live.Orchestrator, s.live.Log)
	}
	return err
}

// Run is Server.Run, and takes up changed configurations until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	if s.watch == nil {
		return s.Server.Run(ctx)
	}
	watching, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.watch.serve(watching)
	}()
	err := s.Server.Run(ctx)
	stop()
	<-ended
	return err
}

// urlOf is the address by which a server on an address is reached.
func urlOf(c config.Server, address string) string {
	if c.PublicURL != "" {
		return strings.TrimRight(c.PublicURL, "/")
	}
	if c.TLS.Cert != "" {
		return "https://" + address
	}
	return "http://" + address
}

// Drained is what Run had to cut off.
func (s *Service) Drained() orchestrator.Drained { return s.drained }

// Live is what the handlers were made of.
func (s *Service) Live() Live { return s.live }

// Abort releases a Service that was started and never run.
func (s *Service) Abort(ctx context.Context) error {
	if s.watch != nil && s.watch.files != nil {
		_ = s.watch.files.Close()
	}
	return errors.Join(s.drainAll(ctx), s.Close())
}

// drainAll ends the work, and what the handlers hold.
func (s *Service) drainAll(ctx context.Context) (err error) {
	s.drained, err = s.live.Orchestrator.Drain(ctx)
	if s.handlers.Close != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		err = errors.Join(err, s.handlers.Close(closing))
	}
	return err
}

// newGuard makes the guard of a server that listens on an address.
func newGuard(l Live, issuer *oidc.Issuer, address string) (*access.Guard, error) {
	c := l.Config.Server
	o := access.GuardOptions{
		Tokens: l.Orchestrator.Parts().Tokens, Usual: access.Limits{PerMinute: c.Limits.PerMinute}, MaxBody: int64(c.Limits.Body), Log: l.Log,
	}
	o.Hosts, o.Origins = listNames(c, address)
	if issuer != nil {
		o.Issuer = issuer
	}
	return access.NewGuard(o)
}

// listNames returns what a server is called, and the origins of its own pages.
func listNames(c config.Server, address string) (hosts, origins []string) {
	hosts = append(hosts, c.Hosts...)
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		hosts, origins = append(hosts, u.Host), append(origins, u.Scheme+"://"+u.Host)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil || !c.IsLoopback() {
		return hosts, origins
	}
	scheme := "http://"
	if c.TLS.Cert != "" {
		scheme = "https://"
	}
	for _, host := range []string{"127.0.0.1", "localhost", "::1"} {
		own := net.JoinHostPort(host, port)
		hosts, origins = append(hosts, own), append(origins, scheme+own)
	}
	return hosts, origins
}
