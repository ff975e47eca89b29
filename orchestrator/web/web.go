package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/label"
)

// Guard says who signs in, and whether they still count; *access.Guard is one.
type Guard interface {
	SignIn(ctx context.Context, bearer string) (access.Principal, error)
	Alive(p access.Principal) bool
	Spend(p access.Principal) (wait time.Duration)
	WrapOpen(next http.Handler) http.Handler
}

// Issuer signs people in at its own pages; *oidc.Issuer is one. Begin returns the address to which a
// browser is led, and an attempt, which is secret. Finish says who came back to the callback. Renew asks
// again about a person who signed in. SignOut returns the address that ends a person's session there, or nothing. The
// errors wrap access.ErrAway, access.ErrDeclined, or access.ErrUnauthenticated.
type Issuer interface {
	Begin(ctx context.Context, callback string) (address, attempt string, err error)
	Finish(ctx context.Context, callback, attempt string, answer url.Values) (access.Arrival, error)
	Renew(ctx context.Context, old access.Principal, renewal string) (p access.Principal, next string, err error)
	SignOut(ctx context.Context, home, session string) (address string)
	Name() string
}

// Options are the parts of Pages. Orchestrator and Guard are required.
type Options struct {
	Orchestrator *orchestrator.Orchestrator
	// Guard signs people in, and refuses foreign hosts and origins. A guard that stands before the
	// pages already does no harm.
	Guard Guard
	// Issuer signs people in besides tokens; nil signs none in. It needs PublicURL, to which it leads back.
	Issuer Issuer
	// IssuerOnly takes no token: the issuer alone signs people in.
	IssuerOnly bool
	// PublicURL is the address by which browsers reach the pages: "https://vedette.example.com". With
	// https cookies are for TLS alone. Empty, the request's own Host counts.
	PublicURL string
	// Idle ends a session in which a person did nothing for so long; 30 minutes if zero.
	Idle time.Duration
	// Longest ends every session after so long; 12 hours if zero.
	Longest time.Duration
	// Poll is how long a page that follows waits for a change; 20 s if zero.
	Poll time.Duration
	// Replay decides recorded calls again; nil leaves its page out.
	Replay Replayer
	// Examples are requests that the chat page offers, for a demonstration.
	Examples []string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log is told of what failed, without values. Nil is slog.Default().
	Log *slog.Logger
}

const (
	defaultIdle    = 30 * time.Minute
	defaultLongest = 12 * time.Hour
	defaultPoll    = 20 * time.Second
	// maxFollowers is how many requests wait for a change at a time.
	maxFollowers = 1024
	// writeFor is how long what a person decided may take to be written down, also without the browser.
	writeFor = 10 * time.Second
	// via is how answers that come by these pages are recorded to have come.
	via = "web"
)

// Pages is the handler. It is safe for concurrent use.
type Pages struct {
	o        Options
	origin   string // of PublicURL
	secure   bool   // PublicURL is https
	key      [32]byte
	sessions *sessions
	files    *files
	counter  counter // of the charts
	handler  http.Handler

	base      context.Context //nolint:containedctx // of what goes on without its browser, until Close
	end       context.CancelFunc
	followers chan struct{} // holds a token for each request that waits for a change

	closing sync.Mutex
	closed  bool
	running sync.WaitGroup // requests, and what goes on without them
}

// New makes the pages of a process. The error names the option that is wrong.
func New(o Options) (*Pages, error) {
	if o.Orchestrator == nil || o.Guard == nil {
		return nil, errors.New("the pages need an orchestrator and a guard: set Options.Orchestrator and Options.Guard")
	}
	u, err := url.Parse(o.PublicURL)
	if err != nil || o.PublicURL != "" && (u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.Trim(u.Path, "/") != "") {
		return nil, errors.New("the pages' public URL is no address of a host: give one such as https://vedette.example.com")
	}
	if o.Issuer != nil && u.Host == "" || o.Issuer == nil && o.IssuerOnly {
		return nil, errors.New("an issuer leads people back to the pages' address: set Options.Issuer and Options.PublicURL")
	}
	o.Idle, o.Longest, o.Poll = cmp.Or(o.Idle, defaultIdle), cmp.Or(o.Longest, defaultLongest), cmp.Or(o.Poll, defaultPoll)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p := &Pages{o: o, secure: u.Scheme == "https", followers: make(chan struct{}, maxFollowers)}
	if u.Host != "" {
		p.origin = u.Scheme + "://" + u.Host
	}
	if p.files, err = loadFiles(); err != nil {
		return nil, err
	}
	_, _ = rand.Read(p.key[:]) // it never fails
	p.sessions = newSessions(o.Idle, o.Longest, o.Now)
	p.base, p.end = context.WithCancel(context.Background())
	p.handler = o.Guard.WrapOpen(p.newMux())
	return p, nil
}

// newMux puts the pages on their paths.
func (p *Pages) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /static/{name}", p.files.onStatic)
	signin{p}.register(mux)
	if p.o.Issuer != nil {
		redirect{p}.register(mux)
	}
	approvals{p}.register(mux)
	standings{p}.register(mux)
	chat{p}.register(mux)
	decisions{p}.register(mux)
	logs{p}.register(mux)
	reviews{p}.register(mux)
	intents{p}.register(mux)
	if p.o.Replay != nil {
		replays{p, make(chan struct{}, 1)}.register(mux)
	}
	mux.HandleFunc("/", p.onNothing)
	return mux
}

// Close ends all requests that wait for a change, and returns once they have ended. Requests that come
// later are refused. The orchestrator stays open.
func (p *Pages) Close() {
	p.closing.Lock()
	p.closed = true
	p.closing.Unlock()
	p.end()
	p.running.Wait()
}

// enter counts a request, unless the pages are closed.
func (p *Pages) enter() bool {
	p.closing.Lock()
	defer p.closing.Unlock()
	if !p.closed {
		p.running.Add(1)
	}
	return !p.closed
}

// policy is the Content-Security-Policy of every page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'"

// ServeHTTP implements http.Handler. A panic of a handler is a 500 that says nothing of it.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	// With no-referrer a browser sends "Origin: null" with our own forms, and Origin could not be checked.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
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
		p.o.Log.Error("a page broke; please report it", "request_id", problem.RequestID(r.Context()), "stack", string(debug.Stack()))
		if out.Begun() { // it must not look whole
			panic(http.ErrAbortHandler)
		}
		http.Error(w, "The page broke. The server's log says more.", http.StatusInternalServerError)
	}()
	if !p.enter() {
		h.Set("Retry-After", "5")
		http.Error(w, "The server is ending. Come back in a moment.", http.StatusServiceUnavailable)
		return
	}
	defer p.running.Done()
	p.handler.ServeHTTP(out, r)
}

// areas are the parts of the pages, each with the scope that lets a visitor in.
var areas = []struct {
	scope access.Scope
	path  string
}{{access.Approve, "/approvals"}, {access.Chat, "/chat"}, {access.Label, "/review"}, {access.Review, "/log"}}

// hasArea reports whether there is anything here for a principal.
func hasArea(p access.Principal) bool {
	for _, a := range areas {
		if p.May(a.scope) {
			return true
		}
	}
	return false
}

// onNothing answers for paths that there are not, and leads the front door to where work is.
func (p *Pages) onNothing(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		p.showFailure(w, nil, failure{http.StatusNotFound, "There is nothing here", "The address is wrong, or what was here is gone."})
		return
	}
	to := "/approvals"
	if v := p.findVisitor(r, true); v != nil {
		for _, a := range areas {
			if v.principal.May(a.scope) {
				to = a.path
				break
			}
		}
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// inbox returns where questions are kept, nil where the configuration keeps none.
func (p *Pages) inbox() *approval.Inbox { return p.o.Orchestrator.Parts().Inbox }

// labels are what reviewers said.
func (p *Pages) labels() *label.Labels { return p.o.Orchestrator.Parts().Labels }
