package assembly

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/orchestrator/intents"
	"github.com/vedette-dev/vedette/orchestrator/models"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/leak"
)

// Native is a skill that the program itself runs.
type Native struct {
	Spec skills.Spec
	Run  skills.RunFunc
}

// Options are what a program adds to the configuration.
type Options struct {
	Skills  []*skills.GoSkill
	Natives []Native
	// Handlers do actions of intents, by the action's name, beside those that a skill does. References says what users may
	// refer to; nil goes by the table of the configuration.
	Handlers   map[string]intents.Handler
	References intents.Resolver
	// ParserIsolation keeps the parsers of texts apart where the configuration doesn't say how: IsolateParsers, or
	// in this process where it is empty.
	ParserIsolation string
	// ObserveBlocked is told of texts that were blocked as attacks, at most once in 30 s. It must not block.
	ObserveBlocked func(intents.Alert)
	Approver       sentinel.Approver
	// Readmit is sentinel.Options.Readmit.
	Readmit func(ctx context.Context, c sentinel.Call) error
	Observe func(sentinel.Event)
	// NoReview leaves the model review out; every decision says so.
	NoReview bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	Log *slog.Logger
	// Lookup resolves the hosts that skills go to; nil means the system's
	// resolver. What it answers is judged like the system's answers.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Credentials finds credentials that the configuration leaves to the program
	// (credentials: {name: {program: true}}). Build refuses those without it.
	Credentials skills.CredentialResolver
	// ObserveLimits is told when the server of limits.store goes away and comes
	// back, for metrics. It must not block.
	ObserveLimits func(redisstore.Event)
	// ObserveReview is told of the review's requests, verdicts and breakers, for
	// metrics and traces.
	ObserveReview review.Observer
	// ObserveModel is told of each question of agents and orchestrator once it is over, for
	// metrics and traces. It must not block.
	ObserveModel func(context.Context, models.Event)
	// ObserveRecord is told of each record of a decision or an outcome, for metrics. The
	// record is durable then, or could not be made so. ObserveRecord must not block.
	ObserveRecord func(kind string, took time.Duration, err error)
	// TraceReview, if set, is called when a review begins. The context that it returns is
	// the review's, and the function is told of the end.
	TraceReview func(context.Context) (context.Context, func(sentinel.Verdict, error))
	// ObserveLeak is told of calls that left goroutines running, for metrics.
	// It must not block.
	ObserveLeak func(leak.Leak)
	// Transport, where it is set, carries the requests of the model of that name. Nil
	// means connections to the servers. Parts close no connection of it.
	Transport func(model string) http.RoundTripper
	// Supervised leaves it to the caller to run the Services.
	Supervised bool
	// Maintain says when values whose retention is over are erased, after the
	// time at start; nil means every ten minutes.
	Maintain <-chan time.Time
	// Version is the program's: the review's built-in prompt is of that version.
	Version string

	canSnapshot func(folder string) error // nil: it isn't tried
}

// withDefaults fills in what is left out and needed everywhere.
func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
