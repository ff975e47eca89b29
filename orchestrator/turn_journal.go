package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
)

// withdrawTime bounds how long the end of a turn waits for its questions to end.
const withdrawTime = 5 * time.Second

// endHeldCalls ends, on record, every call of the turn that still waits for a
// person, those that a crash or an earlier process left behind included. With a
// grant it is about the calls under that grant alone. What can't be recorded is
// logged: the end of a turn does not fail for it.
func (o *Orchestrator) endHeldCalls(ctx context.Context, about history.Turn, desk *sentinel.Desk, grant, reason string) {
	ctx, cancel := context.WithTimeout(ctx, withdrawTime)
	defer cancel()
	var err error
	if desk != nil {
		err = desk.Withdraw(ctx)
	}
	err = errors.Join(err, o.parts.EndHeldCalls(ctx, about.Conversation, about.Turn, grant, reason))
	if err != nil && ctx.Err() == nil {
		o.log.Error("the end of a held call can't be written down", "conversation", about.Conversation, "turn", about.Turn, "error", err)
	}
}
