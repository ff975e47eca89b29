package recorder

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

const (
	// driftSpan is over how many decisions a conversation's drift follows their deviations.
	driftSpan = 5
	// maxDrifts is how many conversations are kept in memory.
	maxDrifts = 10_000
)

// drifts follows how far the actions of each conversation are from what was asked for: a moving mean of the deviations of
// its decisions, from 0, all as asked, to 1. Each decision's record holds the drift up to it, in hundredths, so a
// process that starts goes on from the newest record. It is safe for concurrent use.
type drifts struct {
	mu    sync.Mutex
	known map[conversation]float64
}

type conversation struct{ user, id string }

// add adds the drift to a decision's entry. keep must be called once the record is durable.
func (d *drifts) add(ctx context.Context, l Ledger, rec sentinel.Record, e *ledger.Entry) (keep func(), err error) {
	n := len(e.Body) - 1
	if rec.Kind != sentinel.RecordDecision || rec.Deviation == nil || rec.Conversation == "" || n < 2 || e.Body[n] != '}' {
		return func() {}, nil
	}
	of := conversation{rec.User, rec.Conversation}
	was, err := d.read(ctx, l, of)
	if err != nil {
		return nil, err
	}
	now := was + (float64(*rec.Deviation)/100-was)/driftSpan
	e.Body = fmt.Appendf(e.Body[:n:n], `,"deviation":%d,"drift":%d}`, *rec.Deviation, int(math.Round(now*100)))
	return func() { d.put(of, now) }, nil
}

func (d *drifts) put(of conversation, now float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= maxDrifts {
		clear(d.known) // they are on record
	}
	d.known[of] = now
}

// read returns a conversation's drift so far.
func (d *drifts) read(ctx context.Context, l Ledger, of conversation) (float64, error) {
	d.mu.Lock()
	was, ok := d.known[of]
	d.mu.Unlock()
	if ok {
		return was, nil
	}
	list, err := l.List(ctx, ledger.Query{Conversation: of.id, User: of.user, Kind: sentinel.RecordDecision, Newest: true, Limit: driftSpan})
	if err != nil {
		return 0, err
	}
	for _, r := range list { // one without a deviation has none
		var b struct {
			Drift *int `json:"drift"`
		}
		if json.Unmarshal(r.Body, &b) == nil && b.Drift != nil {
			return float64(*b.Drift) / 100, nil
		}
	}
	return 0, nil
}
