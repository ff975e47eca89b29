package proxy

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/orchestrator/proxy/formats"
	"github.com/vedette-dev/vedette/orchestrator/proxy/tools"
	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
	"github.com/vedette-dev/vedette/orchestrator/threads"
	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/skills"
)

// Options are the parts of a Door. Handover, Keys, Registry and Running are required.
type Options struct {
	// Handover decides the calls.
	Handover *handover.Handover
	// Keys are the conversations of keys.
	Keys *threads.Keys
	// Registry has the skills that the operator declared. What stands there counts before what clients declare.
	Registry *skills.Registry
	// Running returns the configuration in force. It is asked for each request.
	Running func() *config.Config
	// Key salts the names of callers without a token.
	Key [32]byte
	// Credential returns a user's key of an upstream by its name under credentials.
	Credential func(ctx context.Context, name, user string) (string, error)
	// LocalUser is for whom callers without a token act, where Proxy.Local lets them in.
	LocalUser string
	// PublicURL begins links to approvals.
	PublicURL string
	// Begin is told of each answer that begins, and returns what is told how it ended. Neither may block.
	Begin func(ctx context.Context, format string) (_ context.Context, end func(Event))
	// Transport carries requests to upstreams; nil is one with the configuration's times.
	Transport http.RoundTripper
	// Hold, KeepAlive and Idle take the place of Proxy.Hold, Proxy.KeepAlive and Proxy.Timeouts.Idle where they are set.
	Hold, KeepAlive, Idle time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log is told of what failed. It holds no values. Nil is slog.Default().
	Log *slog.Logger
}

// Door is the handler of /proxy/. It is safe for concurrent use. Close ends it.
type Door struct {
	o       Options
	mux     *http.ServeMux
	forward handover.Forwarder
	catalog *tools.Catalog
	memory  *memory
	loads   *loads
	active  activeStreams
	ups     *upstreams

	base context.Context //nolint:containedctx // of what is written down when an answer is over
	end  context.CancelFunc
	work sync.WaitGroup
}

// New makes the handler of what is below /proxy/. The error is of the options.
func New(ctx context.Context, o Options) (*Door, error) {
	if o.Handover == nil || o.Registry == nil || o.Keys == nil || o.Running == nil {
		return nil, errors.New("the proxy needs a handover, the conversations of keys, a registry and a configuration")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Begin == nil {
		o.Begin = func(ctx context.Context, _ string) (context.Context, func(Event)) { return ctx, func(Event) {} }
	}
	o.Log, o.PublicURL = cmp.Or(o.Log, slog.Default()), strings.TrimSuffix(o.PublicURL, "/")
	d := &Door{o: o, mux: http.NewServeMux(), forward: handover.Forwarder{Handover: o.Handover}, catalog: tools.New(), memory: newMemory(),
		loads: newLoads(), ups: newUpstreams(o, o.Running().Proxy.Timeouts)}
	d.base, d.end = context.WithCancel(context.WithoutCancel(ctx))
	d.route()
	return d, nil
}

// route puts the operations on their paths.
func (d *Door) route() {
	pass := passing{d}
	d.mux.HandleFunc("POST /proxy/openai/v1/chat/completions", d.answerWith(formats.Chat))
	d.mux.HandleFunc("POST /proxy/openai/v1/responses", d.answerWith(formats.Responses))
	d.mux.HandleFunc("POST /proxy/anthropic/v1/messages", d.answerWith(formats.Messages))
	d.mux.HandleFunc("POST /proxy/openai/v1/embeddings", pass.passWith(formats.Chat))
	d.mux.HandleFunc("POST /proxy/openai/v1/moderations", pass.passWith(formats.Chat))
	d.mux.HandleFunc("POST /proxy/anthropic/v1/messages/count_tokens", pass.passWith(formats.Messages))
	for _, f := range []*formats.Form{formats.Chat, formats.Messages} {
		d.mux.HandleFunc("GET "+f.Door+"/models", pass.listModels(f))
		d.mux.HandleFunc("GET "+f.Door+"/models/{model}", pass.showModel(f))
	}
}

// Close ends the streams that are under way with an error that their clients read, and waits until what is known of
// forwarded calls is written down.
func (d *Door) Close() {
	d.active.endAll()
	d.work.Wait()
	d.end()
	d.ups.close()
}

// Held returns how many streams are held for a person.
func (d *Door) Held() int { return d.loads.countHeld() }

// Guarded returns the handler behind a guard. Keys come in the headers that providers' clients send, and errors go
// out in the form that these read.
func (d *Door) Guarded(g *access.Guard) http.Handler {
	g = g.For(int64(d.o.Running().Proxy.Limits.Body), refuseCaller)
	known := g.Wrap(http.HandlerFunc(d.serve))
	local := g.WrapOpen(http.HandlerFunc(d.serveLocal))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open := d.o.Running().Proxy.Local
		r, named := takeKeys(r, open)
		if open && !named {
			local.ServeHTTP(w, r)
			return
		}
		known.ServeHTTP(w, r)
	})
}

// refuseCaller answers who is turned away in the form of the format.
func refuseCaller(w http.ResponseWriter, r *http.Request, p *problem.Problem) {
	if p.Challenge != "" {
		w.Header().Set("WWW-Authenticate", p.Challenge)
	}
	fail(w, formats.Of(r.URL.Path), &wire.Error{Status: p.Status, Code: string(p.Code), Message: cmp.Or(p.Detail, p.Title)}, p.RetryAfter)
}

// serveLocal lets a caller on this machine in by the key of its provider.
func (d *Door) serveLocal(w http.ResponseWriter, r *http.Request) {
	d.serve(w, r.WithContext(access.WithPrincipal(r.Context(), d.localPrincipal(r))))
}

// serve answers a caller who is known. A panic is an error that says nothing of the request.
func (d *Door) serve(w http.ResponseWriter, r *http.Request) {
	f := formats.Of(r.URL.Path)
	out := problem.Watch(w)
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so too
			panic(v)
		}
		d.o.Log.Error("a proxied request broke its handler; please report it",
			"request_id", problem.RequestID(r.Context()), "stack", string(debug.Stack()))
		if out.Begun() { // it must not look whole
			panic(http.ErrAbortHandler)
		}
		fail(out, f, wire.AsError(errBroke), 0)
	}()
	p, _ := access.FromContext(r.Context())
	if prob := access.CheckScope(p, access.Call); prob != nil {
		refuseCaller(out, r, prob)
		return
	}
	if _, pattern := d.mux.Handler(r); pattern == "" || !d.o.Running().Proxy.IsOn() {
		fail(out, f, errNoPath, 0)
		return
	}
	d.mux.ServeHTTP(out, r)
}

var (
	errBroke  = errors.New("the handler broke")
	errNoPath = &wire.Error{Status: http.StatusNotFound, Code: "not_found",
		Message: "the proxy has chat/completions, responses, embeddings, moderations and models of OpenAI, and messages and models of Anthropic"}
)

// settings are those of a request that begins now.
func (d *Door) settings() config.Proxy {
	p := d.o.Running().Proxy
	p.Hold, p.KeepAlive = cmp.Or(d.o.Hold, p.Hold), cmp.Or(d.o.KeepAlive, p.KeepAlive)
	p.Timeouts.Idle = cmp.Or(d.o.Idle, p.Timeouts.Idle)
	return p
}

// options are those of one answer.
func (d *Door) options(p config.Proxy) stream.Options {
	o := stream.Options{Check: checkArguments, MaxArgs: p.Limits.Arguments, MaxBuffered: p.Limits.Buffered, MaxCalls: p.Limits.Calls}
	if p.OnBlock == "continue" {
		o.OnBlock = stream.Continue
	}
	if p.Incomplete == "judge" {
		o.Incomplete = stream.JudgeIncomplete
	}
	if p.Notice != "" {
		o.Notice, _ = stream.ParseNotice(p.Notice) // it was checked when the configuration was read
	}
	return o
}
