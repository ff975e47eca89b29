package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/orchestrator/threads"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

// PurgeOptions say whose values are erased, and who erases them. Either User or
// Conversation is set.
type PurgeOptions struct {
	User, Conversation string
	By                 string
}

// Purged is what a purge did and what it could not do.
type Purged struct {
	history.Purged
	// InLedger is how many records hold arguments themselves.
	InLedger int `json:"records_with_arguments"`
}

// CheckDatabase returns an *advice.Error where there is no database.
func (s Source) CheckDatabase() error {
	if _, err := store.FindNewest(s.Database); err != nil {
		return s.AdviseOn(store.ErrNoFile)
	}
	return nil
}

// Purge erases what the journal keeps of a user or a conversation. The ledger gets a
// record of the begin and one of the end with how much it was, also where old pages of
// the file remain. What was done is returned also with an error.
func (s Source) Purge(ctx context.Context, o PurgeOptions) (p Purged, err error) {
	st, err := store.Open(ctx, store.Options{Path: s.Database, Driver: s.Driver})
	if errors.Is(err, store.ErrLocked) {
		return p, &advice.Error{
			Err:  fmt.Errorf("%s is in use: another process writes to it", s.Database),
			Todo: "stop the server that uses it, and purge again",
		}
	}
	if err != nil {
		return p, s.AdviseOn(err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	p, err = eraseAndRecord(ctx, st, s.Keys, o)
	if errors.Is(err, journal.ErrPending) {
		return p, &advice.Error{
			Err:  fmt.Errorf("%d values were erased, but old pages of the file still hold them: %w", p.Values, err),
			Todo: "stop the programs that read the database, and purge again",
		}
	}
	return p, err
}

// forgetRows deletes some of what is kept beside the journal.
func forgetRows(tx *store.Tx, user, conversation string) (int, error) {
	if err := threads.ForgetTx(tx, user, conversation); err != nil {
		return 0, err
	}
	return approval.ForgetTx(tx, user, conversation)
}

func eraseAndRecord(ctx context.Context, st *store.Store, dir string, o PurgeOptions) (p Purged, err error) {
	k, err := keys.LoadOrCreate(dir)
	if err != nil {
		return p, err
	}
	l, err := ledger.OpenWith(ctx, st, k, ledger.Options{})
	if err != nil {
		return p, err
	}
	jr, err := journal.Open(ctx, st, journal.SingleKey(k.Journal()), journal.Options{})
	if err != nil {
		return p, err
	}
	h, err := history.Open(ctx, st, jr, history.Options{Ledger: l, Forget: forgetRows})
	if err != nil {
		return p, err
	}
	p.Purged, err = h.Purge(ctx, history.Who{User: o.User, Conversation: o.Conversation}, o.By)
	if err != nil && !errors.Is(err, journal.ErrPending) {
		return p, err
	}
	var cerr error
	p.InLedger, cerr = countWithArguments(ctx, l, o)
	return p, errors.Join(err, cerr)
}

// countWithArguments counts the records of a user or conversation that hold
// arguments.
func countWithArguments(ctx context.Context, l *ledger.Ledger, o PurgeOptions) (n int, err error) {
	q := ledger.Query{User: o.User, Conversation: o.Conversation, Limit: pageSize}
	for {
		list, err := l.List(ctx, q)
		if err != nil {
			return n, err
		}
		for _, r := range list {
			var b struct {
				Args json.RawMessage `json:"args"`
			}
			if json.Unmarshal(r.Body, &b) == nil && len(b.Args) > 0 {
				n++
			}
		}
		if len(list) < pageSize {
			return n, nil
		}
		q.AfterIndex = &list[len(list)-1].Index
	}
}
