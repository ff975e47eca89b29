package recorder

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// pageOfRecords is how many records are read in one step.
const pageOfRecords = 500

// remoteBody is what a decision's body says of a call that another program runs.
type remoteBody struct {
	Remote    string    `json:"remote"`
	ReportBy  time.Time `json:"report_by"`
	ExpiresAt time.Time `json:"expires_at"`
}

// readRemote reads the body of a decision, or of a question.
func readRemote(r ledger.Record) (b remoteBody) {
	_ = json.Unmarshal(r.Body, &b) // what can't be read is no remote call
	return b
}

// Calls returns the ids of the calls of a user's conversation that were decided, in the order of their
// ends: at most limit, and whether there are more. The error is the store's.
func (r *Recorder) Calls(ctx context.Context, user, conversation string, limit int) (ids []string, more bool, err error) {
	ends := map[string]int64{}
	err = r.eachRecord(ctx, ledger.Query{User: user, Conversation: conversation}, func(rec ledger.Record) {
		if isEnd(rec) {
			ends[rec.Call] = rec.Index
		}
	})
	if err != nil {
		return nil, false, err
	}
	ids = slices.SortedFunc(maps.Keys(ends), func(a, b string) int { return cmp.Compare(ends[a], ends[b]) })
	return ids[:min(len(ids), limit)], len(ids) > limit, nil
}

// NewestCalls returns the ids of the newest calls of a user's conversation, in the order of their ends: at most
// limit, and whether there may be more. The error is the store's.
func (r *Recorder) NewestCalls(ctx context.Context, user, conversation string, limit int) (ids []string, more bool, err error) {
	q := ledger.Query{User: user, Conversation: conversation, Newest: true, Limit: recordsOfCalls * limit}
	list, err := r.o.Ledger.List(ctx, q)
	if err != nil {
		return nil, false, err
	}
	for _, rec := range list {
		if isEnd(rec) && !slices.Contains(ids, rec.Call) && len(ids) < limit {
			ids = append(ids, rec.Call)
		}
	}
	slices.Reverse(ids)
	return ids, len(list) == q.Limit || len(ids) == limit, nil
}

// recordsOfCalls is how many records a call has, roughly.
const recordsOfCalls = 4

// isEnd reports whether a record says what was decided about a call, or what became of it.
func isEnd(rec ledger.Record) bool {
	return rec.Kind == sentinel.RecordDecision || rec.Kind == sentinel.RecordOutcome || rec.Kind == sentinel.RecordShadow
}

// Owner returns who runs the call of that id elsewhere, for whom, and in which conversation. ok is false
// where no decision about such a call is on record, and none is asked for. The error is the store's.
func (r *Recorder) Owner(ctx context.Context, id string) (principal, user, conversation string, ok bool, err error) {
	list, err := r.o.Ledger.List(ctx, ledger.Query{Call: id, Limit: maxRecordsOfCall})
	if err != nil {
		return "", "", "", false, err
	}
	for _, rec := range list {
		if b := readRemote(rec); b.Remote != "" {
			return b.Remote, rec.User, rec.Conversation, true, nil
		}
	}
	return "", "", "", false, nil
}

// Open returns the calls that were handed over since the one time, that have no outcome, and whose time
// to report ended before the other. The error is the store's.
func (r *Recorder) Open(ctx context.Context, since, before time.Time) (ids []string, err error) {
	q := ledger.Query{Kind: sentinel.RecordDecision, Outcome: sentinel.Allow.String(), Without: sentinel.RecordOutcome, Since: since}
	err = r.eachRecord(ctx, q, func(rec ledger.Record) {
		if b := readRemote(rec); b.Remote != "" && !b.ReportBy.After(before) {
			ids = append(ids, rec.Call)
		}
	})
	return ids, err
}

// Asked returns the calls of other programs that a person was asked about since the one time, that were
// not decided, and whose question ended before the other. The error is the store's.
func (r *Recorder) Asked(ctx context.Context, since, before time.Time) (ids []string, err error) {
	q := ledger.Query{Kind: sentinel.RecordHeld, Without: sentinel.RecordDecision, Since: since}
	err = r.eachRecord(ctx, q, func(rec ledger.Record) {
		if b := readRemote(rec); b.Remote != "" && b.ExpiresAt.Before(before) && !slices.Contains(ids, rec.Call) {
			ids = append(ids, rec.Call)
		}
	})
	return ids, err
}

// eachRecord calls fn for all records of a query, oldest first.
func (r *Recorder) eachRecord(ctx context.Context, q ledger.Query, fn func(ledger.Record)) error {
	after := int64(-1)
	for q.Limit = pageOfRecords; ; {
		q.AfterIndex = &after
		list, err := r.o.Ledger.List(ctx, q)
		if err != nil {
			return err
		}
		for _, rec := range list {
			fn(rec)
			after = rec.Index
		}
		if len(list) < q.Limit {
			return nil
		}
	}
}
