package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
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
	var errs error
	if desk != nil {
		errs = desk.Withdraw(ctx)
	}
	list, err := o.parts.Ledger.List(ctx, ledger.Query{
		Conversation: about.Conversation, Kind: sentinel.RecordHeld, Without: sentinel.RecordDecision, Limit: maxLeftHeld,
	})
	errs = errors.Join(errs, err)
	ended := map[string]bool{}
	for _, r := range list {
		var b struct{ Turn, Grant string }
		if json.Unmarshal(r.Body, &b) != nil || b.Turn != about.Turn || grant != "" && b.Grant != grant || ended[r.Call] {
			continue
		}
		ended[r.Call] = true
		errs = errors.Join(errs, o.parts.Checkpoint.EndHeld(ctx, r.Call, reason))
	}
	if errs != nil && ctx.Err() == nil {
		o.log.Error("the end of a held call can't be written down", "conversation", about.Conversation, "turn", about.Turn, "error", errs)
	}
}

// maxLeftHeld is how many questions one look finds: more than any turn can hold.
const maxLeftHeld = 1000
