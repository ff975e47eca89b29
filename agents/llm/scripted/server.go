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
)

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
	// Now dates the answers. Nil is time.Now.
	Now func() time.Time
}

// Exchange is one request and what became of it, without their contents.
type Exchange struct {
	// Number counts chat requests from 1.
	Number int
	// Rule is the name of the rule that answered, or rules[i]; empty if none did.
	Rule string
	// Model is the name that the request asked for, Status the answer's.
	Model   string
	Status  int
	Elapsed time.Duration
}

// Server plays a script until it is closed.
type Server struct {
	script *Script
	opts   Options
	url    string
	http   *http.Server
	stop   func() // releases replies that hang or wait
	done   chan struct{}
	once   sync.Once

	mu     sync.Mutex
	number int
	used   []int // how often each rule answered
	kept   [][]byte
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
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", opts.Addr)
	if err != nil {
		return nil, fmt.Errorf("scripted: can't listen; choose another address: %w", err)
	}
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{script: script, opts: opts, url: "http://" + l.Addr().String(),
		stop: stop, done: make(chan struct{}), used: make([]int, len(script.rules))}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0), BaseContext: func(net.Listener) context.Context { return base }}
	// Both goroutines are the server's own and end with it: Close waits for the
	// first, whose end ends the second.
	go contained(func() {
		defer close(s.done)
		_ = s.http.Serve(l) // returns when the server is closed
	})
	go contained(func() {
		select {
		case <-ctx.Done():
			s.Close()
		case <-s.done:
		}
	})
	return s, nil
}

// contained runs f and keeps a panic from taking the process along. A server
// that is down is noticed by those who ask it.
func contained(f func()) {
	defer func() { _ = recover() }()
	f()
}

// URL returns the address of the server, without a path.
func (s *Server) URL() string { return s.url }

// BaseURL returns the address that a client of chat models is configured with.
func (s *Server) BaseURL() string { return s.url + "/v1" }

// Requests returns copies of the bodies of the newest chat requests as they were
// received, oldest first, refused ones included.
func (s *Server) Requests() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([][]byte, 0, len(s.kept))
	for _, b := range s.kept {
		all = append(all, slices.Clone(b))
	}
	return all
}

// Close stops the server, ends replies that hang, and returns when the requests
// under way are answered or two seconds have passed. It may be called often.
func (s *Server) Close() {
	s.once.Do(func() {
		s.stop()
		ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
		defer cancel()
		if s.http.Shutdown(ctx) != nil {
			_ = s.http.Close() // a client that sends nothing and stays
		}
	})
	<-s.done
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/chat/completions", s.chat)
	mux.HandleFunc("/v1/models", s.models)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusNotFound, "not_found", "there is no such path; use /v1/chat/completions or /v1/models")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if recover() != nil {
				fail(w, http.StatusInternalServerError, "server_error", "the scripted server failed on this request")
			}
		}()
		want := []byte("Bearer " + s.opts.APIKey)
		if s.opts.APIKey != "" && subtle.ConstantTimeCompare(want, []byte(r.Header.Get("Authorization"))) != 1 {
			fail(w, http.StatusUnauthorized, "invalid_api_key", "the bearer token is missing or wrong")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// models lists the models of the script: those it names, or those of its rules.
func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		fail(w, http.StatusMethodNotAllowed, "method_not_allowed", "use GET")
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
		data = append(data, map[string]any{"id": name, "object": "model", "created": s.opts.Now().Unix(), "owned_by": "scripted"})
	}
	send(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		fail(w, http.StatusMethodNotAllowed, "method_not_allowed", "use POST")
		return
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		fail(w, http.StatusBadRequest, "invalid_request_error", "the content type is not application/json")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		fail(w, http.StatusRequestEntityTooLarge, "invalid_request_error", "the body can't be read or is too large")
		return
	}
	ex := Exchange{Number: s.keep(body)}
	ex.Status = s.answer(w, r, body, &ex)
	ex.Elapsed = time.Since(start)
	if s.opts.Log != nil {
		s.opts.Log(ex)
	}
}

// keep stores a request, drops the oldest beyond the limits, and numbers it.
func (s *Server) keep(body []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	s.kept, s.size = append(s.kept, body), s.size+len(body)
	for len(s.kept) > s.opts.Keep || s.size > maxKeptBytes {
		s.size -= len(s.kept[0])
		s.kept[0] = nil
		s.kept = s.kept[1:]
	}
	return s.number
}

// pick returns the first rule that matches and has answers left, and counts it.
func (s *Server) pick(v *view) *rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.script.rules {
		r := &s.script.rules[i]
		if (r.Times == 0 || s.used[i] < r.Times) && r.When.matches(v) {
			s.used[i]++
			return r
		}
	}
	return nil
}
