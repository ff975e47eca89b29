package assembly

import (
	"context"
	"time"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// Recorded is one record of the ledger as those above it may read it.
type Recorded struct {
	Index                                       int64
	Kind, Call, Decision, Agent, Skill, Outcome string
	At                                          time.Time
	Body                                        []byte
}

// Newest returns the newest records of a user's conversation, at most limit of
// them, newest first; before is the index of the last one of the page before, nil
// for the first page. The error is the store's.
func (p *Parts) Newest(ctx context.Context, conversation, user string, before *int64, limit int) ([]Recorded, error) {
	list, err := p.Ledger.List(ctx, ledger.Query{Conversation: conversation, User: user, Newest: true, AfterIndex: before, Limit: limit})
	if err != nil {
		return nil, err
	}
	out := make([]Recorded, len(list))
	for i := range list {
		r := &list[i]
		out[i] = Recorded{r.Index, r.Kind, r.Call, r.Decision, r.Agent, r.Skill, r.Outcome, r.Time, r.Body}
	}
	return out, nil
}
