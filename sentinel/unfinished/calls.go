// Package unfinished ends calls that a process or a turn left unfinished.
//
// A process can end at any instant. The next one finds three kinds of calls:
//
//   - What a program wrote by snapshot and was never committed (SettleCommits): what was
//     allowed is committed, what a person is still asked about waits, and the rest is
//     thrown away.
//   - Calls that were allowed and have no outcome (SettleInterrupted): each gets one that
//     says what is known, which is nothing. (Invariant 12.)
//   - Questions that a turn left with a person (EndHeld, ExpireCommits): they are withdrawn
//     when the turn ends for good, or when their time is over.
//
// At a start, before the first call:
//
//	calls := unfinished.New(unfinished.Options{Store: db, Ledger: lg, Checkpoint: cp, Layers: layers, Log: log})
//	err := calls.SettleCommits(ctx)
//	err = calls.SettleInterrupted(ctx)   // after the commits: it must know which of them wait
//
// What not to do: don't run a call again here that isn't idempotent, and don't guess an
// outcome. The checkpoint alone decides what a commit does.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through orchestrator/assembly.
package unfinished

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// maxHeld bounds the questions that one look finds: more than any turn can hold.
const maxHeld = 1000

// Store commits transactions, and holds how far the ledger is settled.
type Store interface {
	Migrate(ctx context.Context, component string, steps []string) error
	Submit(ctx context.Context, fn func(*store.Tx) error) error
}

// Ledger finds calls and takes their outcomes.
type Ledger interface {
	List(ctx context.Context, q ledger.Query) ([]ledger.Record, error)
	AppendTx(tx *store.Tx, e ledger.Entry) (int64, error)
}

// Checkpoint ends what it began: see the methods of sentinel.Checkpoint.
type Checkpoint interface {
	SettleFollow(ctx context.Context, firstID string) (sentinel.FollowLeft, error)
	ExpireFollow(ctx context.Context, followID string) error
	EndHeld(ctx context.Context, callID, reason string) error
}

// Layers are what programs wrote by snapshot and is not committed.
type Layers interface {
	// IDs lists all layers.
	IDs() ([]string, error)
	// CallOf returns the call of the program that wrote a layer, empty where it can't be
	// read.
	CallOf(id string) string
	// Discard throws a layer away. What of it was committed stays.
	Discard(id string) error
}

// Options say what is settled, and who settles it.
type Options struct {
	Store      Store
	Ledger     Ledger
	Checkpoint Checkpoint
	// Layers is nil where no skill writes by snapshot.
	Layers Layers
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	Log *slog.Logger
}

// Calls are the calls that were left unfinished.
type Calls struct {
	o Options
	// waiting are the calls whose changes waited for a person when the process started.
	waiting []string
}

// New returns the unfinished calls. It looks for none yet. Without a logger it logs
// nothing.
func New(o Options) *Calls {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Calls{o: o}
}

// EndHeld records that those calls of a turn were withdrawn which the ledger
// knows as held and not as decided. With a grant it is about the calls under that
// grant alone. The error wraps sentinel.ErrNotRecorded or is the ledger's.
func (c *Calls) EndHeld(ctx context.Context, conversation, turn, grant, reason string) error {
	list, err := c.o.Ledger.List(ctx, ledger.Query{
		Conversation: conversation, Kind: sentinel.RecordHeld, Without: sentinel.RecordDecision, Limit: maxHeld,
	})
	errs := err
	ended := map[string]bool{}
	for _, r := range list {
		var b struct{ Turn, Grant string }
		if json.Unmarshal(r.Body, &b) != nil || b.Turn != turn || grant != "" && b.Grant != grant || ended[r.Call] {
			continue
		}
		ended[r.Call] = true
		errs = errors.Join(errs, c.o.Checkpoint.EndHeld(ctx, r.Call, reason))
	}
	return errs
}
