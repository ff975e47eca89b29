package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/idempotency"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// Guard stands before the API and says who calls; *access.Guard is one.
type Guard interface {
	Wrap(next http.Handler) http.Handler
}

// Options are the parts of an API. Orchestrator is required.
type Options struct {
	Orchestrator *orchestrator.Orchestrator
	// Guard stands before all paths but the description's. Nil where the server in front has one:
	// it puts the Principal into the request's context.
	Guard Guard
	// PublicURL begins links to pages: "https://vedette.example.com". Links are paths without it.
	PublicURL string
	// Version is the program's, for the description.
	Version string
	// Streams is how many streams may be open, half of them of one principal. If zero, 4,096.
	Streams int
	// Beat is how often an idle stream has a comment that keeps it open. If zero, 15 s.
	Beat time.Duration
	// Log is told of what failed. It holds no values. Nil is slog.Default().
	Log *slog.Logger
}

// The defaults of Options.
const (
	defaultStreams = 4096
	defaultBeat    = 15 * time.Second
)

// API is the handler. It is safe for concurrent use.
type API struct {
	o      Options
	huma   huma.API
	mux    *http.ServeMux
	guard  http.Handler
	docs   http.Handler
	keeper *idempotency.Keeper
	cursor cursors
	view   view

	base context.Context //nolint:containedctx // of what goes on without its caller, until Close
	end  context.CancelFunc

	streamLock  sync.Mutex
	streamsOpen int
	streamsOf   map[string]int // by principal

	closing sync.Mutex
	closed  bool
	running sync.WaitGroup // requests, and what goes on without them
}

// New makes the API of a process. The error is of the options, or the store's.
func New(ctx context.Context, o Options) (*API, error) {
	if o.Orchestrator == nil {
		return nil, errors.New("the API needs an orchestrator: set Options.Orchestrator")
	}
	if u, err := url.Parse(o.PublicURL); err != nil || o.PublicURL != "" && (u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return nil, errors.New("the API's public URL is no address: give one such as https://vedette.example.com")
	}
	o.PublicURL = strings.TrimSuffix(o.PublicURL, "/")
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Streams <= 0 {
		o.Streams = defaultStreams
	}
	if o.Beat <= 0 {
		o.Beat = defaultBeat
	}
	parts := o.Orchestrator.Parts()
	key := parts.Keys.Digest()
	keeper, err := idempotency.Open(ctx, idempotency.Options{Store: parts.Store, Journal: parts.Journal, Key: key})
	if err != nil {
		return nil, err
	}
	a := &API{
		o: o, keeper: keeper, cursor: cursors{key}, view: view{o.PublicURL}, mux: http.NewServeMux(), streamsOf: map[string]int{},
	}
	a.base, a.end = context.WithCancel(context.Background())
	a.huma = humago.New(a.mux, newConfig(o.Version, transformProblem))
	a.registerAll()
	if a.docs, err = newDocs(a.huma.OpenAPI()); err != nil {
		keeper.Close()
		return nil, err
	}
	a.guard = http.HandlerFunc(a.serveOperation)
	if o.Guard != nil {
		a.guard = o.Guard.Wrap(a.guard)
	}
	return a, nil
}

// registerAll makes the operations.
func (a *API) registerAll() {
	conversations{a}.register()
	approvals{a}.register()
	standings{a}.register()
	ledgers{a}.register()
	stories{a}.register()
	labels{a}.register()
	pauses{a}.register()
	calls{a}.register()
	intents{a}.register()
	catalog{a}.register()
	newChecks(a).register()
}

// Close ends all streams and the waits of requests, and returns once they have ended. Requests that come later
// are refused. The orchestrator stays open, and what it was asked for goes on.
func (a *API) Close() {
	a.closing.Lock()
	first := !a.closed
	a.closed = true
	a.closing.Unlock()
	a.end()
	a.running.Wait()
	if first {
		a.keeper.Close()
	}
}

// enter counts a request, unless the API is closed.
func (a *API) enter() bool {
	a.closing.Lock()
	defer a.closing.Unlock()
	if !a.closed {
		a.running.Add(1)
	}
	return !a.closed
}

// ServeHTTP implements http.Handler. A panic of a handler is a 500 that says nothing of it.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if problem.RequestID(r.Context()) == "" {
		r = r.WithContext(problem.WithRequestID(r.Context(), sentinel.NewID()))
	}
	h := w.Header()
	h.Set("X-Request-Id", problem.RequestID(r.Context()))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	out := problem.Watch(w)
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so too
			panic(v)
		}
		a.o.Log.Error("a request broke its handler; please report it",
			"request_id", problem.RequestID(r.Context()), "stack", string(debug.Stack()))
		if out.Begun() { // it must not look whole
			panic(http.ErrAbortHandler)
		}
		problem.Write(w, r, problem.New(problem.Internal, ""))
	}()
	if !a.enter() {
		problem.Write(w, r, errClosed())
		return
	}
	defer a.running.Done()
	if isDocsPath(r.URL.Path) {
		a.docs.ServeHTTP(out, r)
		return
	}
	a.guard.ServeHTTP(out, r)
}

// drainedFor is when a server that ended may be there again.
const drainedFor = 5 * time.Second

// errClosed refuses a request because the API is closed.
func errClosed() *problem.Problem {
	return problem.New(problem.Draining, "the API is closed").Later(drainedFor)
}

// Docs serves the description and its page, which need no token: they say the same of every
// server.
func (a *API) Docs() http.Handler { return a.docs }

// serveOperation finds the operation. What there is none for is a problem too.
func (a *API) serveOperation(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != path.Clean(r.URL.Path) { // the mux would send the caller elsewhere
		problem.Write(w, r, problem.New(problem.NotFound, "the path is not plain"))
		return
	}
	if _, pattern := a.mux.Handler(r); pattern != "" {
		a.mux.ServeHTTP(w, r)
		return
	}
	probe := &headProbe{header: http.Header{}}
	a.mux.ServeHTTP(probe, r)
	if allow := probe.header.Get("Allow"); probe.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", allow)
		problem.Write(w, r, problem.New(problem.MethodNotAllowed, "the path takes "+allow))
		return
	}
	problem.Write(w, r, problem.New(problem.NotFound, "no operation has this path; GET /openapi.json lists them"))
}

// inbox returns where questions are kept.
func (a *API) inbox() (*approval.Inbox, error) {
	if in := a.o.Orchestrator.Parts().Inbox; in != nil {
		return in, nil
	}
	return nil, problem.New(problem.NotFound, "this server keeps no approvals: approvals.inbox is off")
}

// headProbe takes what the mux says of a request that no operation is for.
type headProbe struct {
	header http.Header
	status int
}

// Header returns the answer's header.
func (p *headProbe) Header() http.Header { return p.header }

// WriteHeader takes the status.
func (p *headProbe) WriteHeader(status int) { p.status = status }

// Write drops the text.
func (p *headProbe) Write(b []byte) (int, error) { return len(b), nil }
