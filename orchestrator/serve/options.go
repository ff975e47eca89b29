package serve

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
)

// Options are what a Server serves.
type Options struct {
	// Config is where and how it listens. It must have been checked, as config.Load does.
	Config config.Server
	// Guard stands before API, Door, Pages and metrics.
	Guard *access.Guard
	// API answers below /v1/, and without Docs /openapi.json and /openapi.yaml.
	API http.Handler
	// Docs answer /openapi.json and /docs, to callers without a token too: they say the same of every server.
	Docs http.Handler
	// Door answers below /assistants/v1/.
	Door http.Handler
	// Proxy answers below /proxy/. It asks the guard itself, since keys come in other headers there.
	Proxy http.Handler
	// Pages answer everything else, and sign people in themselves.
	Pages http.Handler
	// Metrics answers GET /metrics; nil serves none.
	Metrics http.Handler
	// Checks say how the parts are, for /readyz. They may take a second.
	Checks func(ctx context.Context) []Check
	// Drain ends the work behind the handlers, then their streams; its context ends with server.limits.drain.
	Drain func(ctx context.Context) error
	// Version is what /version answers.
	Version any
	// Log gets a line for each request; nil discards.
	Log *slog.Logger
}

// The states of a Check.
const (
	OK       = orchestrator.CheckOK
	Degraded = orchestrator.CheckDegraded // it works, with less
	Failed   = orchestrator.CheckFailed   // no work can be taken
)

// Check is how one part is. It holds no value and no address: callers without a token read it.
type Check = orchestrator.Check
