package models

import (
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
)

// Event is one question of an agent or the orchestrator to one model. It holds names from
// the configuration, closed words and numbers alone.
type Event struct {
	// Model is the configured name.
	Model string
	// Agent says that an agent asked; the orchestrator otherwise.
	Agent bool
	// Failure is empty for a question that was answered, Status the failure's
	// HTTP status, 0 where none came.
	Failure llm.Kind
	Status  int
	// Asked is when the question was put, and Sent when it left. Sent is zero where there
	// was no room for the question. Duration is how long the model took.
	Asked, Sent time.Time
	Duration    time.Duration
	// TokensIn and TokensOut are the server's numbers, estimated where it told none. Cost
	// is what they come to in millionths of the prices' currency.
	TokensIn, TokensOut, Cost int64
}
