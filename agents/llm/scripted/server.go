package scripted

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Defaults and limits of a Server.
const (
	maxBody      = 8 << 20
	maxKeptBytes = 64 << 20
	defaultKeep  = 1000
	closeWithin  = 2 * time.Second

	defaultRetryAfter = 2 * time.Second
	defaultPace       = 5 * time.Millisecond
)

// redirected is where the fault Redirect leads to.
const redirected = "/v1/redirected"

// Options of a Server; the zero value is useful.
type Options struct {
	// Addr to listen on. Empty is "127.0.0.1:0", a free port.
	Addr string
	// APIKey that clients must present as a bearer token. Empty asks for none.
	APIKey string
	// Keep is how many of the newest requests Requests returns; zero is 1000.
	// Independently of it at most 64 MiB of them are kept.
	Keep int
	// Log is told of each chat request after it was answered. It is called from
	// several goroutines at once and must not block.
	Log func(Exchange)
	// Arrived is told of the header of each chat request as soon as the request is
	// kept, and before it is answered. It is called as Log is.
	Arrived func(http.Header)
	// Now dates the answers. Nil is time.Now.
	Now func() time.Time
	// RetryAfter is what the faults RateLimited and RateLimitedDate ask for, in
	// whole seconds. Zero is 2 s.
	RetryAfter time.Duration
	// Pace is the time between two bytes of the fault Drip, and between two
	// events of StreamEndless. Zero is 5 ms.
	Pace time.Duration
}

// Exchange is one request and what became of it, without their contents.
type Exchange struct {
	// Number counts chat requests from 1.
	Number int
	// Rule is the name of the rule that answered, or rules[i]; empty if none did.
	Rule string
	// Fault is the fault that the request met; empty if none.
	Fault Fault
	// Model is the name that the request asked for, Status the answer's; zero
	// where no status was sent.
	Model   string
	Status  int
	Elapsed time.Duration
}

// Server plays a script until it is closed.
type Server struct {
	script  *Script
	opts    Options
	url     string
	addr    string
	base    context.Context // of every request
	stop    func()          // ends base: releases replies that hang or wait
	closed  chan struct{}
	once    sync.Once
	running sync.WaitGroup

	door sync.Mutex // held while listening starts or ends
	http *http.Server

	mu     sync.Mutex
	number int
	used   []int // how often each rule answered
	armed  []*armed
	kept   []*Received
	size   int
}

// Serve listens and answers from a script, until Close is called or ctx ends.
func Serve(ctx context.Context, script *Script, opts Options) (*Server, error) {
	if script == nil {
		return nil, errors.New("scripted: no script; use Load")
	}
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	if opts.Keep <= 0 {
		opts.Keep = defaultKeep
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.RetryAfter, opts.Pace = max(opts.RetryAfter, 0), max(opts.Pace, 0)
	if opts.RetryAfter == 0 {
		opts.RetryAfter = defaultRetryAfter
	}
	if opts.Pace == 0 {
		opts.Pace = defaultPace
	}
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{script: script, opts: opts, addr: opts.Addr, base: base, stop: stop,
		closed: make(chan struct{}), used: make([]int, len(script.rules))}
	if err := s.Up(); err != nil {
		stop()
		return nil, err
	}
	// The goroutine is the server's own and ends with it.
	s.running.Go(func() {
		select {
		case <-ctx.Done():
			runContained(func() { s.once.Do(s.shutDown) })
		case <-s.closed:
		}
	})
	return s, nil
}

// Up makes a server that is Down listen again, on the address that it had. It
// does nothing to one that listens, and fails where another program took the
// address meanwhile, or the server was closed.
func (s *Server) Up() error {
	s.door.Lock()
	defer s.door.Unlock()
	if s.http != nil {
		return nil
	}
	if s.base.Err() != nil {
		return errors.New("scripted: the server was closed")
	}
	l, err := (&net.ListenConfig{}).Listen(s.base, "tcp", s.addr)
	if err != nil {
		return fmt.Errorf("scripted: can't listen; choose another address: %w", err)
	}
	if s.url == "" { // the first time; the address stays
		s.addr, s.url = l.Addr().String(), "http://"+l.Addr().String()
	}
	srv := &http.Server{Handler: s.buildRoutes(), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0), BaseContext: func(net.Listener) context.Context { return s.base }}
	s.http = srv
	s.running.Go(func() { runContained(func() { _ = srv.Serve(l) }) }) // returns when srv is closed
	return nil
}

// Down makes the server refuse connections and cuts those that there are, until
// Up is called.
func (s *Server) Down() {
	s.door.Lock()
	defer s.door.Unlock()
	if s.http != nil {
		_ = s.http.Close()
		s.http = nil
	}
}

// runContained runs f and keeps a panic from taking the process along. A client notices a
// server that is down.
func runContained(f func()) {
	defer func() { _ = recover() }()
	f()
}

// URL returns the address of the server, without a path.
func (s *Server) URL() string { return s.url }

// BaseURL returns the address that a client of chat models is configured with.
func (s *Server) BaseURL() string { return s.url + "/v1" }

// Close stops the server and ends replies that hang. It returns when the requests under
// way are answered or two seconds have passed. It may be called often.
func (s *Server) Close() {
	s.once.Do(s.shutDown)
	s.running.Wait()
}

// shutDown stops the server's requests and waits for them for a bounded time.
func (s *Server) shutDown() {
	s.stop()
	close(s.closed)
	s.door.Lock()
	defer s.door.Unlock()
	if s.http == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // a client that sends nothing and stays
	}
	s.http = nil
}

// buildRoutes returns the handler of all paths, which checks the key and contains panics.
func (s *Server) buildRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/chat/completions", s.serveChat)
	mux.HandleFunc(redirected, s.serveChat)
	mux.HandleFunc("/v1/models", s.serveModels)
	mux.HandleFunc("/v1/models/{id...}", s.serveModels)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		sendError(w, http.StatusNotFound, apiError{Type: typeRequest, Code: "unknown_url", Message: "no such path; use /v1/chat/completions"})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p) // a fault that ends the connection
			default:
				sendError(w, http.StatusInternalServerError, apiError{Type: "server_error", Message: "the scripted server failed on this request"})
			}
		}()
		given, want := []byte(r.Header.Get("Authorization")), []byte("Bearer "+s.opts.APIKey)
		switch {
		case s.opts.APIKey == "" || subtle.ConstantTimeCompare(want, given) == 1:
			mux.ServeHTTP(w, r)
		case len(given) == 0:
			sendError(w, http.StatusUnauthorized, apiError{Type: typeRequest, Message: "you did not provide an API key; send it as a bearer token"})
		default:
			sendError(w, http.StatusUnauthorized, apiError{Type: typeRequest, Code: "invalid_api_key", Message: "the bearer token is wrong"})
		}
	})
}

// serveModels lists the models of the script (those it names, or those of its rules), or
// describes one.
func (s *Server) serveModels(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		refuseMethod(w, http.MethodGet)
		return
	}
	names := slices.Clone(s.script.models)
	for _, rule := range s.script.rules {
		if len(s.script.models) == 0 && rule.When.Model != "" && !slices.Contains(names, rule.When.Model) {
			names = append(names, rule.When.Model)
		}
	}
	data := make([]map[string]any, 0, len(names))
	for _, name := range names {
		m := map[string]any{"id": name, "object": "model", "created": s.opts.Now().Unix(), "owned_by": "scripted"}
		if name == r.PathValue("id") {
			sendJSON(w, http.StatusOK, m)
			return
		}
		data = append(data, m)
	}
	if r.PathValue("id") != "" {
		sendError(w, http.StatusNotFound, unknownModel)
		return
	}
	sendJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

// refuseMethod refuses a request of another method than the right one.
func refuseMethod(w http.ResponseWriter, right string) {
	w.Header().Set("Allow", right)
	sendError(w, http.StatusMethodNotAllowed, apiError{Type: typeRequest, Code: "method_not_allowed", Message: "use " + right})
}

// serveChat reads a chat request and answers it.
func (s *Server) serveChat(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	s.running.Add(1) // Shutdown doesn't wait for a connection that a fault took over
	defer s.running.Done()
	if r.Method != http.MethodPost {
		refuseMethod(w, http.MethodPost)
		return
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		sendError(w, http.StatusBadRequest, apiError{Type: typeRequest, Message: "the content type is not application/json"})
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		sendError(w, http.StatusRequestEntityTooLarge, apiError{Type: typeRequest, Message: "the body can't be read or is too large"})
		return
	}
	t := &turn{s: s, w: w, r: r, number: s.keepRequest(r, body), body: body}
	if s.opts.Arrived != nil {
		s.opts.Arrived(r.Header)
	}
	ex := Exchange{Number: t.number}
	defer func() { // also where a fault ends the connection by a panic
		ex.Elapsed = time.Since(start)
		if s.opts.Log != nil {
			s.opts.Log(ex)
		}
	}()
	ex.Status = s.answerRequest(t, &ex)
}

// pickRule returns the first rule that matches and has answers left, and counts it.
func (s *Server) pickRule(v *view) *rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.script.rules {
		r := &s.script.rules[i]
		if (r.Times == 0 || s.used[i] < r.Times) && r.When.matchesView(v) {
			s.used[i]++
			return r
		}
	}
	return nil
}
