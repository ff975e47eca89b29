package policy

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/intake"
)

// ErrNoIntents is that a configuration has no actions.
var ErrNoIntents = errors.New("the configuration has no intent; add one with actions")

// RehearsalOptions say what is rehearsed.
type RehearsalOptions struct {
	Config *config.Config
	// Rules leaves out everything that asks a model or a server.
	Rules bool
	// User is whose texts they are. Empty is "rehearsal".
	User string
	// Transport, where it is set, carries the requests of the model of that name. Nil means connections to the servers.
	Transport func(model string) http.RoundTripper
	Now       func() time.Time
	Log       *slog.Logger
}

// Rehearsal takes texts of users through the stages of intents without acting. It opens no store, records nothing, asks no
// person and runs no action: a status of Running says that the request would have gone on at once. It is safe for
// concurrent use.
type Rehearsal struct {
	o     RehearsalOptions
	parts intake.Options
	end   func()
}

// NewRehearsal compiles the configuration's intents. The error is ErrNoIntents, or every mistake with its place.
func NewRehearsal(o RehearsalOptions) (*Rehearsal, error) {
	cfg := *o.Config
	if o.Rules {
		cfg.Intent.Parsers, cfg.Intent.Detector.Classifier = nil, config.IntentClassifier{}
	}
	if o.User == "" {
		o.User = "rehearsal"
	}
	in, end, err := assembly.NewIntents(&cfg, o.Transport)
	switch {
	case err != nil:
		return nil, err
	case in == nil:
		end()
		return nil, ErrNoIntents
	}
	parts := in.Options(true)
	parts.Now, parts.Log = o.Now, o.Log
	return &Rehearsal{o, parts, end}, nil
}

// Close ends the connections to models.
func (r *Rehearsal) Close() { r.end() }

// Consider says what the stages find in a text, and how its request would go on. The error is an *intake.InputError or
// ctx's.
func (r *Rehearsal) Consider(ctx context.Context, text string) (intake.Answer, error) {
	return intake.Consider(ctx, r.parts, intake.Request{User: r.o.User, Session: "rehearsal", Text: text})
}
