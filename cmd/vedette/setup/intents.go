package setup

import (
	"context"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/intake"
	"github.com/vedette-dev/vedette/orchestrator/rehearsal"
)

type (
	// IntentAnswer is where a request stands.
	IntentAnswer = intake.Answer
	// IntentRequest is one text of a user.
	IntentRequest = intake.Request
	// IntentConfirm is what a user says to a confirmation.
	IntentConfirm = intake.UserAnswer
	// IntentStatus is where a request stands, in one word.
	IntentStatus = intake.Status
	// IntentInputError is a request that is none.
	IntentInputError = intake.InputError
)

// The statuses that commands tell apart.
const (
	IntentCompleted           = intake.Completed
	IntentRunning             = intake.Running
	IntentPendingConfirmation = intake.PendingConfirmation
	IntentPendingApproval     = intake.PendingApproval
	IntentBlocked             = intake.Blocked
	IntentDenied              = intake.Denied
	IntentExpired             = intake.Expired
)

// noIntents is the advice of a configuration without intents.
func noIntents(path string) error {
	return &advice.Error{Err: fmt.Errorf("%s has no intent", path), Todo: "add intent: {actions: …, policy: …}; docs/intent.md shows how"}
}

// NewRehearsal compiles the intents of a configuration, for reading texts without acting. rules leaves models out.
func (p Program) NewRehearsal(path, user string, rules bool) (*rehearsal.Rehearsal, error) {
	cfg, err := p.Load(path)
	if err != nil {
		return nil, err
	}
	r, err := rehearsal.New(rehearsal.Options{Config: cfg, Rules: rules, User: user, Log: p.Log})
	switch {
	case errors.Is(err, rehearsal.ErrNoIntents):
		return nil, noIntents(path)
	case err != nil:
		return nil, InvalidConfig(path, err)
	}
	return r, nil
}

// OpenIntake builds what takes texts through all stages in this process, and acts. The caller closes it.
func (p Program) OpenIntake(ctx context.Context, path string) (*intake.Pipeline, func() error, error) {
	cfg, err := p.Load(path)
	if err != nil {
		return nil, nil, err
	}
	if !cfg.Intent.IsOn() {
		return nil, nil, noIntents(path)
	}
	parts, err := assembly.Build(ctx, cfg, assembly.Options{
		Skills: p.Skills, NoReview: p.NoReview, Log: p.Log, Handlers: p.Handlers, References: p.References,
	})
	switch {
	case errors.Is(err, assembly.ErrInUse):
		return nil, nil, &advice.Error{Err: fmt.Errorf("%s is in use", cfg.Ledger.Path), Todo: "send the text to the process that uses it"}
	case err != nil:
		return nil, nil, err
	}
	return parts.Intake, parts.Close, nil
}
