package assembly

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// maxLeftHeld is how many questions one look finds: more than any turn can hold.
const maxLeftHeld = 1000

// EndHeldCalls records that those calls of a turn were withdrawn which the ledger
// knows as held and not as decided. With a grant it is about the calls under that
// grant alone. The error wraps sentinel.ErrNotRecorded or is the ledger's.
func (p *Parts) EndHeldCalls(ctx context.Context, conversation, turn, grant, reason string) error {
	list, err := p.Ledger.List(ctx, ledger.Query{
		Conversation: conversation, Kind: sentinel.RecordHeld, Without: sentinel.RecordDecision, Limit: maxLeftHeld,
	})
	errs := err
	ended := map[string]bool{}
	for _, r := range list {
		var b struct{ Turn, Grant string }
		if json.Unmarshal(r.Body, &b) != nil || b.Turn != turn || grant != "" && b.Grant != grant || ended[r.Call] {
			continue
		}
		ended[r.Call] = true
		errs = errors.Join(errs, p.Checkpoint.EndHeld(ctx, r.Call, reason))
	}
	return errs
}
