package setup

import (
	"context"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
)

type (
	// IntentAnswer is where a request stands.
	IntentAnswer = assembly.IntentAnswer
	// IntentRequest is one text of a user.
	IntentRequest = assembly.IntentRequest
	// IntentConfirm is what a user says to a confirmation.
	IntentConfirm = assembly.IntentConfirm
)

// LoadIntents reads a configuration that must have intents.
func LoadIntents(p Program, path string) (*config.Config, error) {
	cfg, err := p.Load(path)
	if err == nil && !cfg.Intent.IsOn() {
		err = &advice.Error{Err: fmt.Errorf("%s has no intent", path), Todo: "add intent: {actions: …, policy: …}; docs/intent.md shows how"}
	}
	return cfg, err
}

// ProcessIntent takes a text through all stages in this process, and acts. ask is called where the user has to confirm; nil
// leaves the request pending.
func ProcessIntent(
	ctx context.Context, p Program, path string, r IntentRequest, ask func(IntentAnswer) (bool, error),
) (a IntentAnswer, err error) {
	cfg, err := LoadIntents(p, path)
	if err != nil {
		return a, err
	}
	parts, err := assembly.Build(ctx, cfg, assembly.Options{
		Skills: p.Skills, NoReview: p.NoReview, Log: p.Log, Handlers: p.Handlers, References: p.References,
	})
	switch {
	case errors.Is(err, assembly.ErrInUse):
		return a, &advice.Error{Err: fmt.Errorf("%s is in use", cfg.Ledger.Path), Todo: "stop the process that uses it, or send it the text"}
	case err != nil:
		return a, err
	}
	defer func() { err = errors.Join(err, parts.Close()) }()
	if a, err = parts.Intake.Process(ctx, r); err != nil || a.Confirmation == nil || ask == nil {
		return a, err
	}
	yes, err := ask(a)
	if err != nil {
		return a, err
	}
	return parts.Intake.Confirm(ctx, IntentConfirm{Request: a.RequestID, User: r.User, Digest: a.Confirmation.Digest, Yes: yes})
}
