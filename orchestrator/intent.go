package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/skills"
)

// IntentMode says what the trusted intent of a request is to it.
type IntentMode string

// The modes.
const (
	// IntentOfConfig is what the configuration says of conversations that no assistant leads: see intent.conversations.
	IntentOfConfig IntentMode = ""
	// IntentOff makes none.
	IntentOff IntentMode = "off"
	// IntentAdvisory makes one, which is on record and narrows nothing.
	IntentAdvisory IntentMode = "advisory"
	// IntentRequired grants what the action of the intent grants, and nothing where there is none.
	IntentRequired IntentMode = "required"
)

// allowedIntent is what the trusted intent of a request allows, as its turn keeps it.
type allowedIntent struct {
	ID     string `json:"id,omitempty"`
	Action string `json:"action,omitempty"`
	// Why says why nothing is granted; empty where something is.
	Why string `json:"why,omitempty"`
}

// describe is what the model is told where nothing is granted.
func (a allowedIntent) describe() string {
	if a.Why == "" {
		return ""
	}
	return "\nNo skill may be used for this request: " + a.Why + " Dispatch no agent. Tell the user so, and do nothing else.\n"
}

// intentAsker makes the intents of a conversation's requests.
type intentAsker struct{ *Conversation }

// mode is what an assistant says of intents, or the configuration where no assistant leads the conversation.
func (c intentAsker) mode(a Assistant) IntentMode {
	if a.Intent != IntentOfConfig {
		return a.Intent
	}
	return IntentMode(c.needs.parts.Running().ConversationIntent())
}

// authorize takes a request through the stages of intents where its assistant asks for that, and narrows what it may do. With
// IntentRequired an error keeps the request from being begun: nothing is known to allow it, or it is blocked.
func (c intentAsker) authorize(ctx context.Context, m *sendRequest) error {
	mode := c.mode(m.Assistant)
	if mode == IntentOff {
		return nil
	}
	id := uuid.NewSHA1(turnSpace, []byte("intent\n"+c.co.ID+"\n"+c.co.User+"\n"+m.ID+"\n"+m.Text)).String() // one for each text
	ceiling, err := c.needs.parts.Intake.Authorize(ctx, assembly.IntentRequest{
		ID: id, User: c.co.User, Session: c.co.ID, By: c.co.By, Text: m.Text,
	}, mode == IntentAdvisory)
	switch {
	case err != nil && mode == IntentAdvisory:
		c.needs.log.Warn("a request's intent could not be made, and the request goes on without", "conversation", c.co.ID, "error", err)
		return nil
	case err != nil:
		return c.needs.ending.translateError(ctx, asTurnError(err))
	case mode == IntentRequired && ceiling.IsBlocked():
		return &BlockedError{Intent: id, Code: ceiling.Code, Reason: ceiling.Message}
	}
	m.Intent = allowedIntent{ID: ceiling.Intent, Action: ceiling.Action}
	if mode == IntentAdvisory {
		return nil
	}
	if ceiling.Intent == "" {
		m.Intent.Why = ceiling.Message
	}
	m.Scope, err = c.narrowScope(m.Scope, ceiling.Grants)
	m.Assistant.Bounds = m.Assistant.Bounds.narrow(ceiling)
	return err
}

// asTurnError is why the intent of a request could not be made, as the callers of a conversation read it.
func asTurnError(err error) error {
	var input *assembly.IntentInputError
	switch {
	case errors.As(err, &input):
		return fmt.Errorf("%w: %s", ErrRequest, input.Error())
	case errors.Is(err, assembly.ErrIntentBusy):
		return &OverloadedError{What: "requests", Of: "process", RetryAfter: intentRetry}
	case errors.Is(err, assembly.ErrIntentClosed):
		return ErrDraining
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("%w: %w", ErrNotKept, err)
}

// intentRetry is after how long a request may be sent again for which the stages of intents had no room.
const intentRetry = 5 * time.Second

// narrowScope returns the skills of a scope that are granted too. None granted is none.
func (c intentAsker) narrowScope(scope skills.Scope, grants []string) (skills.Scope, error) {
	granted, err := skills.NewScope(grants...)
	if err != nil {
		return skills.Scope{}, err
	}
	var both []string
	for _, name := range c.needs.parts.Registry.Names() {
		if scope.Allows(name) && granted.Allows(name) {
			both = append(both, name)
		}
	}
	return skills.NewScope(both...)
}

// narrow returns the bounds within those of an intent.
func (b TurnBounds) narrow(c assembly.IntentCeiling) TurnBounds {
	return TurnBounds{
		Agents: narrower(b.Agents, c.Limits.Agents), Calls: narrower(b.Calls, c.Limits.Calls), Tokens: narrower(b.Tokens, c.Limits.Tokens),
	}
}

// narrower is the smaller of two bounds, of which zero is none.
func narrower[T int | int64](one, other T) T {
	if one == 0 || other != 0 && other < one {
		return other
	}
	return one
}
