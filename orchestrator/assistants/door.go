package assistants

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/orchestrator/threads"
)

// Options are the parts of a Door. Orchestrator and Assistants are required.
type Options struct {
	Orchestrator *orchestrator.Orchestrator
	// Assistants are those that answer, by the name that clients have as a model's.
	Assistants map[string]config.Assistant
	// PublicURL begins links to approvals: "https://vedette.example.com".
	PublicURL string
	// Idle is how long a token goes on with its own conversation; 30 minutes if zero.
	Idle time.Duration
	// Hold is how long an answer is held open while a person is asked; 45 s if zero.
	Hold time.Duration
	// Beat is how often an idle stream has a chunk that keeps it open; 10 s if zero.
	Beat time.Duration
	// Now is the clock of the conversations; nil means time.Now.
	Now func() time.Time
	// Log is told of what failed. It holds no values. Nil is slog.Default().
	Log *slog.Logger
}

// The defaults of Options.
const (
	defaultIdle = 30 * time.Minute
	defaultHold = 45 * time.Second
	defaultBeat = 10 * time.Second
)

// Door is the handler. It is safe for concurrent use. Its requests end when their callers leave, or
// when the orchestrator closes.
type Door struct {
	o       Options
	mux     *http.ServeMux
	threads *threads.Threads
	rates   rates
	began   time.Time
}

// New makes the handler of what is below /assistants/v1/. The error is of the options, or the store's.
func New(ctx context.Context, o Options) (*Door, error) {
	if o.Orchestrator == nil || len(o.Assistants) == 0 {
		return nil, errors.New("the door needs an orchestrator and an assistant: set Options.Orchestrator and Options.Assistants")
	}
	o.Idle, o.Hold, o.Beat = cmp.Or(o.Idle, defaultIdle), cmp.Or(o.Hold, defaultHold), cmp.Or(o.Beat, defaultBeat)
	o.PublicURL = strings.TrimSuffix(o.PublicURL, "/")
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	d := &Door{o: o, mux: http.NewServeMux(), began: o.Now()}
	parts := o.Orchestrator.Parts()
	d.rates = rates{now: o.Now, of: map[string]window{}}
	var err error
	d.threads, err = threads.Open(ctx, threads.Options{
		Store: parts.Store, Key: parts.Keys.Digest(), Idle: o.Idle, Now: o.Now, Keep: parts.Config.Journal.Retention,
	})
	if err != nil {
		return nil, err
	}
	d.mux.HandleFunc("POST /assistants/v1/chat/completions", d.onCompletion)
	d.mux.HandleFunc("GET /assistants/v1/models", d.onModels)
	d.mux.HandleFunc("GET /assistants/v1/models/{model}", d.onModel)
	return d, nil
}

// ServeHTTP implements http.Handler. A panic of a handler is an error that says nothing of it.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
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
		d.o.Log.Error("a request broke its handler; please report it",
			"request_id", problem.RequestID(r.Context()), "stack", string(debug.Stack()))
		if out.Begun() { // it must not look whole
			panic(http.ErrAbortHandler)
		}
		writeFailure(w, failures[orchestrator.CodeInternal])
	}()
	p, known := access.FromContext(r.Context())
	if prob := access.CheckScope(p, access.Chat); !known || prob != nil {
		f := failure{Status: http.StatusForbidden, Type: typePermission, Code: "scope_missing", Message: "the token needs the scope chat"}
		if !known {
			f = failure{Status: http.StatusUnauthorized, Type: typeAuthentication, Code: "unauthenticated", Message: "no guard has said who calls"}
		}
		writeFailure(out, f)
		return
	}
	if _, pattern := d.mux.Handler(r); pattern == "" {
		writeFailure(out, failure{Status: http.StatusNotFound, Type: typeInvalid, Code: "not_found",
			Message: "there is POST /assistants/v1/chat/completions, and GET /assistants/v1/models"})
		return
	}
	d.mux.ServeHTTP(out, r)
}

// shownModel is an assistant as clients list it.
type shownModel struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	Description string `json:"description,omitempty"`
}

// showModel describes an assistant.
func (d *Door) showModel(name string, a config.Assistant) shownModel {
	return shownModel{name, "model", d.began.Unix(), "vedette", a.Description}
}

// onModels lists the assistants that the caller's group may use.
func (d *Door) onModels(w http.ResponseWriter, r *http.Request) {
	p, _ := access.FromContext(r.Context())
	list := []shownModel{}
	for _, name := range sortedNames(d.o.Assistants) {
		if a := d.o.Assistants[name]; a.Allows(p.Group) {
			list = append(list, d.showModel(name, a))
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

// onModel shows one assistant.
func (d *Door) onModel(w http.ResponseWriter, r *http.Request) {
	p, _ := access.FromContext(r.Context())
	name := r.PathValue("model")
	a, f := d.findAssistant(p, name)
	if f != nil {
		writeFailure(w, *f)
		return
	}
	writeJSON(w, http.StatusOK, d.showModel(name, a))
}

// findAssistant returns the assistant as it is to the caller's group.
func (d *Door) findAssistant(p access.Principal, name string) (config.Assistant, *failure) {
	a, known := d.o.Assistants[name]
	if !known || !a.Allows(p.Group) {
		return a, &failure{Status: http.StatusNotFound, Type: typeInvalid, Param: "model", Code: "model_not_found",
			Message: "there is no assistant of this name for this token; GET /assistants/v1/models lists them"}
	}
	return a.ForGroup(p.Group), nil
}
