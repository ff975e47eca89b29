package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/vedette-dev/vedette/skills"
)

// The times of the metrics' server, and how many scrapes it answers at once.
const (
	headerTime = 5 * time.Second
	scrapeTime = 20 * time.Second
	idleTime   = 2 * time.Minute
	closeTime  = 3 * time.Second
	maxScrapes = 4
)

// Server answers GET /metrics. It reads nothing else and authenticates no caller.
// Its address is meant to be the loopback's, or one in the operator's own network.
type Server struct {
	reg *prometheus.Registry

	mu      sync.Mutex
	ln      net.Listener // until Serve takes it
	address string
}

// Listen takes the address at once, so that one that can't be had is an error
// of the program's start: a *skills.PathError at telemetry.metrics.listen.
func Listen(address string, reg *prometheus.Registry) (*Server, error) {
	s := &Server{reg: reg, address: address}
	ln, err := s.takeAddress()
	if err != nil {
		return nil, err
	}
	s.ln, s.address = ln, ln.Addr().String()
	return s, nil
}

func (s *Server) takeAddress() (net.Listener, error) {
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.address)
	if err != nil {
		return nil, &skills.PathError{Path: "telemetry.metrics.listen",
			Msg: fmt.Sprintf("can't be listened on; give a free port, or leave it out: %v", err)}
	}
	return ln, nil
}

// Addr is where it listens: the port that was given for port 0.
func (s *Server) Addr() string { return s.address }

// Serve answers until ctx ends, and calls up once it does. The caller may call Serve
// again afterwards: it takes the same address.
func (s *Server) Serve(ctx context.Context, up func()) error {
	s.mu.Lock()
	ln := s.ln
	s.ln = nil
	s.mu.Unlock()
	if ln == nil {
		var err error
		if ln, err = s.takeAddress(); err != nil {
			return err
		}
	}
	srv := &http.Server{
		Handler: s.newHandler(), ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: scrapeTime + headerTime,
		IdleTimeout: idleTime, MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0),
	}
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if recover() != nil {
				ended <- errors.New("the server of the metrics broke")
			}
		}()
		ended <- srv.Serve(ln)
	}()
	up()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := srv.Shutdown(closing); err != nil { // a scrape that hangs
		_ = srv.Close()
	}
	<-ended //nolint:errcheck // it says that it was closed
	return nil
}

// Close lets the address go where Serve never ran.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ln != nil {
		_ = s.ln.Close()
		s.ln = nil
	}
}

func (s *Server) newHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", newScrapeHandler(s.reg))
	return mux
}

// newScrapeHandler answers scrapes of a registry.
func newScrapeHandler(reg *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, Timeout: scrapeTime, EnableOpenMetrics: true})
}

// NewRegistry returns a registry for Options.Registerer and the handler that answers its scrapes,
// for a program that serves metrics beside other things. The handler authenticates no caller.
func NewRegistry() (*prometheus.Registry, http.Handler) {
	reg := prometheus.NewRegistry()
	return reg, newScrapeHandler(reg)
}
