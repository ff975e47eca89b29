package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/pause"
)

// The bounds of the server.
const (
	maxBody       = 64 << 10
	headerTimeout = 5 * time.Second
	callTimeout   = 10 * time.Second
	// writeTimeout is how long a pause may take to be written down. The pause is in force
	// by then; later the caller is told that it is not on record.
	writeTimeout = 4 * time.Second
)

// Pause is a pause as the socket carries it, for those who stand behind it.
type Pause = pause.Pause

// Target is what a pause stops.
type Target = pause.Target

// The scopes of a Target.
const (
	ScopeAll   = pause.ScopeAll
	ScopeUser  = pause.ScopeUser
	ScopeSkill = pause.ScopeSkill
)

// The errors of a Backend about a target.
var (
	ErrTarget  = pause.ErrTarget
	ErrUnknown = pause.ErrUnknown
)

// Backend is the process as the socket shows it.
type Backend interface {
	Pauses() []Pause
	Pause(ctx context.Context, t Target, by string) (Pause, error)
	Lift(ctx context.Context, t Target, by string) (bool, error)
	InFlight() []sentinel.InFlight
	// Top is anything that JSON can hold. It must not wait for an actor.
	Top() any
	// Status is likewise; it may wait for the store.
	Status(ctx context.Context) any
}

// Paused is the answer to a pause that began.
type Paused struct {
	Pause pause.Pause `json:"pause"`
	// InFlight are the calls that were under way: what runs goes on. What waits
	// for a person or for its places will not start.
	InFlight []sentinel.InFlight `json:"in_flight"`
	// Warning is set where the pause holds and something else went wrong.
	Warning string `json:"warning,omitempty"`
}

// Lifted is the answer to a pause's end.
type Lifted struct {
	// Lifted is false where there was no such pause.
	Lifted bool `json:"lifted"`
	// Left are the pauses that are still in force.
	Left []pause.Pause `json:"left"`
}

// Options of a Server.
type Options struct {
	Log *slog.Logger
}

// Server listens on one socket.
type Server struct {
	b    Backend
	log  *slog.Logger
	path string
	http *http.Server
	done chan struct{}
	made os.FileInfo
	peer func(net.Conn) (who, error)
}

// who is at the other end of a connection.
type who struct {
	uid int
	pid int // 0 where the system does not tell
}

// caller is the process at the other end, or why the server can't tell which it is.
type caller struct {
	who
	err error
	// own is set for what this process has started.
	own bool
}

type callerKey struct{}

// identifyCaller asks the system who connected.
func (s *Server) identifyCaller(c net.Conn) (out caller) {
	if out.who, out.err = s.peer(c); out.err == nil {
		out.own, out.err = isDescendant(out.pid)
	}
	return out
}

// Listen makes the socket and serves it until Close. One that a dead process
// left is replaced; so is that of a living one: hold the database's lock first.
func Listen(ctx context.Context, path string, b Backend, o Options) (*Server, error) {
	return serveAt(ctx, path, b, o, readPeer)
}

// serveAt makes the socket and serves it; peer says who connected.
func serveAt(ctx context.Context, path string, b Backend, o Options, peer func(net.Conn) (who, error)) (*Server, error) {
	s := &Server{b: b, peer: peer, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), path: path, done: make(chan struct{})}
	l, err := listenAt(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("the control socket can't be made: %w", err)
	}
	if s.made, err = os.Lstat(path); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/pauses", s.newHandler(func(*http.Request) (any, error) { return s.b.Pauses(), nil }))
	mux.HandleFunc("POST /v1/pauses", s.newHandler(s.onPause))
	mux.HandleFunc("DELETE /v1/pauses", s.newHandler(s.onLift))
	mux.HandleFunc("GET /v1/in-flight", s.newHandler(func(*http.Request) (any, error) { return s.b.InFlight(), nil }))
	s.serveApprovals(mux)
	s.serveTokens(mux)
	serveStories(s, mux)
	serveArchives(s, mux)
	s.serveLabels(mux)
	mux.HandleFunc("GET /v1/top", s.newHandler(func(*http.Request) (any, error) { return s.b.Top(), nil }))
	mux.HandleFunc("GET /v1/status", s.newHandler(func(r *http.Request) (any, error) { return s.b.Status(r.Context()), nil }))
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: callTimeout, WriteTimeout: callTimeout,
		MaxHeaderBytes: maxBody, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, callerKey{}, s.identifyCaller(c))
		},
	}
	go func() {
		defer close(s.done)
		defer func() {
			if r := recover(); r != nil {
				s.log.Error("the control socket broke", "stack", string(debug.Stack()))
			}
		}()
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the control socket is closed", "error", err)
		}
	}()
	return s, nil
}

// Done is closed when the server has ended, by Close or because it broke.
func (s *Server) Done() <-chan struct{} { return s.done }

// Path is where the socket is.
func (s *Server) Path() string { return s.path }

// Close ends the server, and waits for answers under way until ctx ends. It removes the
// socket if that is still its own.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	<-s.done
	if now, serr := os.Lstat(s.path); serr == nil && os.SameFile(now, s.made) {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}

// failed is an error as it goes over the wire.
type failed struct {
	Error string `json:"error"`
	// Of errors about approvals: a code, and what it says more.
	Code       string                    `json:"code,omitempty"`
	Decided    *approval.DecidedError    `json:"decided,omitempty"`
	Stale      *approval.StaleError      `json:"stale,omitempty"`
	NotAllowed *approval.NotAllowedError `json:"not_allowed,omitempty"`
}

// errBody refuses a body that is no Target.
var errBody = errors.New(`the body must be one JSON object: {"all":true}, {"user":"…"} or {"skill":"…"}`)

// newHandler returns a handler for the owner and root alone. What this process has started
// is turned away: an agent with a shell is the owner too.
func (s *Server) newHandler(h func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch c, ok := r.Context().Value(callerKey{}).(caller); {
		case !ok || c.err != nil || c.uid != os.Getuid() && c.uid != 0:
			s.log.Warn("another user, or somebody unknown, was turned away at the control socket", "error", c.err)
			s.writeAnswer(w, http.StatusForbidden, failed{Error: "only the user whose process this is, and root, may; " +
				"other people answer through the program itself, which knows them by its own authentication"})
			return
		case c.own:
			s.log.Error("a process that this one has started was turned away at the control socket", "pid", c.pid)
			s.writeAnswer(w, http.StatusForbidden, failed{Error: "what this process has started may not"})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		v, err := h(r)
		if err == nil {
			s.writeAnswer(w, http.StatusOK, v)
			return
		}
		for _, encode := range []func(error) (int, failed, bool){encodeTokenError, encodeStoryError, encodeLabelError, encodeArchiveError,
			encodeApprovalError} {
			if status, f, ok := encode(err); ok {
				s.writeAnswer(w, status, f)
				return
			}
		}
		switch {
		case errors.Is(err, pause.ErrTarget), errors.Is(err, pause.ErrUnknown), errors.Is(err, errBody), errors.Is(err, pause.ErrFull):
			s.writeAnswer(w, http.StatusBadRequest, failed{Error: err.Error()})
		default:
			s.writeAnswer(w, http.StatusInternalServerError, failed{Error: err.Error()})
		}
	}
}

// writeAnswer writes v as the JSON answer.
func (s *Server) writeAnswer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.log.Debug("an answer did not get through the control socket", "error", err)
	}
}

// readTarget reads the body of a request to pause or to lift.
func readTarget(r *http.Request) (t pause.Target, err error) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil || d.More() {
		return t, errBody
	}
	return t, nil
}

// callerName names the user who asks, for the record.
func callerName(r *http.Request) string {
	c, _ := r.Context().Value(callerKey{}).(caller)
	return fmt.Sprintf("uid:%d", c.uid)
}

// onPause begins a pause and lists the calls in flight.
func (s *Server) onPause(r *http.Request) (any, error) {
	t, err := readTarget(r)
	if err != nil {
		return nil, err
	}
	// The pause is not to be lost with the caller.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), writeTimeout)
	defer cancel()
	p, err := s.b.Pause(ctx, t, callerName(r))
	if err != nil && !errors.Is(err, pause.ErrNotWritten) && !errors.Is(err, pause.ErrNotShared) {
		return nil, err
	}
	out := Paused{Pause: p, InFlight: s.b.InFlight()}
	if err != nil {
		out.Warning = err.Error()
	}
	return out, nil
}

// onLift ends a pause.
func (s *Server) onLift(r *http.Request) (any, error) {
	t, err := readTarget(r)
	if err != nil {
		return nil, err
	}
	ok, err := s.b.Lift(context.WithoutCancel(r.Context()), t, callerName(r))
	if err != nil {
		return nil, err
	}
	return Lifted{Lifted: ok, Left: s.b.Pauses()}, nil
}
