// Package recorder makes the checkpoint's records durable, and finds them again.
//
// A record has three parts. The ledger keeps what was decided, without any value. The
// journal keeps the values, sealed. The store keeps the id of the warrant that the record
// uses up. Recorder writes the three in one transaction: all are on disk, or none is.
//
//	rec := recorder.New(recorder.Options{Store: db, Ledger: lg, Journal: jr, Retention: week})
//	cp, err := sentinel.New(sentinel.Options{Recorder: rec, History: rec, …})
//
// Recorder.Past gives a restarted process what an earlier one recorded of a call.
// Recorder.Newest gives a conversation's newest records to those who show them.
//
// What not to do: don't write a part by itself. A decision without its spent warrant
// could run twice, and a decision without its values could never be resumed.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through orchestrator/assembly.
package recorder

import (
	"context"
	"log/slog"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/habit"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// maxRecordsOfCall bounds the records of one call that Past reads. A call has a handful.
const maxRecordsOfCall = 1000

// Store commits transactions. Every part of a record is in one of them.
type Store interface {
	Submit(ctx context.Context, fn func(*store.Tx) error) error
}

// Ledger keeps decisions and outcomes, without values.
type Ledger interface {
	AppendTx(tx *store.Tx, e ledger.Entry) (int64, error)
	List(ctx context.Context, q ledger.Query) ([]ledger.Record, error)
}

// Journal keeps values, sealed.
type Journal interface {
	PutTx(tx *store.Tx, item journal.Item) (int64, error)
	ByCall(ctx context.Context, callID string) ([]journal.Value, error)
	Find(ctx context.Context, q journal.Query) ([]journal.Value, error)
}

// Options say where records go. Ledger and Journal must be those of Store.
type Options struct {
	Store   Store
	Ledger  Ledger
	Journal Journal
	// Retention is how long the journal keeps values. The id of an allowed call is kept
	// from being allowed again for at least as long.
	Retention time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// OnRecord, if set, is called in the transaction of each record, after its parts. Its error is
	// the record's, and nothing is written then. It must not block.
	OnRecord func(tx *store.Tx, rec sentinel.Record) error
	// Identities, if set, signs the records of agents.
	Identities *ledger.Identities
	// Observe is told of each record once it is durable or has failed. It must not block.
	// Nil tells of none.
	Observe func(kind string, took time.Duration, err error)
}

// Recorder puts a record, its values and its spent warrant into one transaction. It
// implements sentinel.Recorder, sentinel.History, sentinel.StoreMarks and habit.Store, and is safe for
// concurrent use.
type Recorder struct {
	o      Options
	drifts drifts
}

// New returns a Recorder.
func New(o Options) *Recorder {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Recorder{o: o, drifts: drifts{known: map[conversation]float64{}}}
}

// Record implements sentinel.Recorder. It returns when everything is on disk. The error
// is store.ErrSpent where the warrant or the call's id was used before, what Record.Check
// found, or the store's.
func (r *Recorder) Record(ctx context.Context, rec sentinel.Record) error {
	if r.o.Observe == nil {
		return r.commitRecord(ctx, rec)
	}
	began := time.Now()
	err := r.commitRecord(ctx, rec)
	r.o.Observe(rec.Kind, time.Since(began), err)
	return err
}

// commitRecord writes all parts of a record in one transaction.
func (r *Recorder) commitRecord(ctx context.Context, rec sentinel.Record) error {
	e := ledger.Entry{
		ID: rec.ID, Time: rec.At, Kind: rec.Kind, Call: rec.CallID, Decision: rec.DecisionID, Conversation: rec.Conversation,
		User: rec.User, Agent: rec.Agent, Skill: rec.Skill, Outcome: rec.Outcome, Gate: rec.Gate, Code: rec.Code, Body: rec.Body,
	}
	keepDrift, err := r.drifts.add(ctx, r.o.Ledger, rec, &e)
	if err != nil {
		return err
	}
	if err := r.o.Identities.Sign(ctx, &e); err != nil { // in the caller's goroutine: the writer's has enough to do
		return err
	}
	if err := r.commitEntry(ctx, rec, e); err != nil {
		return err
	}
	keepDrift()
	return nil
}

func (r *Recorder) commitEntry(ctx context.Context, rec sentinel.Record, e ledger.Entry) error {
	return r.o.Store.Submit(ctx, func(tx *store.Tx) error {
		if rec.Check != nil {
			if err := rec.Check(); err != nil {
				return err
			}
		}
		if rec.Spend != "" {
			if err := store.Spend(tx, rec.Spend, rec.SpendExpires); err != nil {
				return err
			}
		}
		if rec.Once != "" {
			if err := store.Spend(tx, "call/"+rec.Once, r.o.Now().Add(max(rec.OnceFor, r.o.Retention))); err != nil {
				return err
			}
		}
		for _, v := range rec.Values {
			_, err := r.o.Journal.PutTx(tx, journal.Item{
				Call: rec.CallID, Conversation: rec.Conversation, User: rec.User, Kind: v.Name, Name: rec.Kind, Data: v.Data,
			})
			if err != nil {
				return err
			}
		}
		if err := r.putRows(tx, rec); err != nil {
			return err
		}
		_, err := r.o.Ledger.AppendTx(tx, e)
		if err != nil || r.o.OnRecord == nil {
			return err
		}
		return r.o.OnRecord(tx, rec)
	})
}

// putRows keeps what a record leaves of its user beyond its call: marks and habits.
func (r *Recorder) putRows(tx *store.Tx, rec sentinel.Record) error {
	var items []journal.Item
	for _, part := range rec.Parts {
		items = append(items, journal.Item{Call: part.Ref, Conversation: rec.Conversation, Kind: KindPart, Data: part.Data})
	}
	for _, m := range rec.Marks {
		items = append(items, journal.Item{Call: m.Ref, Kind: kindMark, Data: m.Data, Expires: r.o.Now().AddDate(keepMarks, 0, 0)})
	}
	for _, h := range rec.Habits {
		items = append(items, journal.Item{Call: h.Ref, Kind: habit.RowKind, Data: h.Data, Expires: h.Expires})
	}
	for _, item := range items {
		item.User = rec.User
		if _, err := r.o.Journal.PutTx(tx, item); err != nil {
			return err
		}
	}
	return nil
}

// KindPart is the kind of a part of premises in the journal: see sentinel.PremisePart. Its row
// stands under the part's name in place of a call's id.
const KindPart = "premises.part"

// The kinds of such rows in the journal. keepMarks is how many years a mark is kept: a purge
// of its user ends it.
const (
	kindMark  = "store.mark"
	keepMarks = 100
)

// NewHabits returns what remembers approvals in this recorder's journal. The key must be the
// same after a restart.
func (r *Recorder) NewHabits(key [32]byte, log *slog.Logger) *habit.Habits {
	return habit.New(habit.Options{Store: r, Key: key, Now: r.o.Now, Log: log})
}

// Approvals implements habit.Store.
func (r *Recorder) Approvals(ctx context.Context, user, ref string, limit int) ([][]byte, error) {
	values, err := r.o.Journal.Find(ctx, journal.Query{Call: ref, User: user, Kind: habit.RowKind, Newest: true, Limit: limit})
	if err != nil || user == "" {
		return nil, err
	}
	out := make([][]byte, len(values))
	for i, v := range values {
		out[i] = v.Data
	}
	return out, nil
}

// StoreMarks implements sentinel.StoreMarks.
func (r *Recorder) StoreMarks(ctx context.Context, user, ref string) ([][]byte, error) {
	values, err := r.o.Journal.ByCall(ctx, ref)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, v := range values {
		if v.User == user && v.Kind == kindMark {
			out = append(out, v.Data)
		}
	}
	return out, nil
}

// Past implements sentinel.History: it returns what was recorded of one call. The journal
// knows which kind of record a value belongs to, so the newest record of a kind has all
// values of that kind.
func (r *Recorder) Past(ctx context.Context, callID string) ([]sentinel.Record, error) {
	list, err := r.o.Ledger.List(ctx, ledger.Query{Call: callID, Limit: maxRecordsOfCall})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	values, err := r.o.Journal.ByCall(ctx, callID)
	if err != nil {
		return nil, err
	}
	out := make([]sentinel.Record, len(list))
	newest := map[string]int{} // the index in out, by kind
	for i, e := range list {
		out[i] = sentinel.Record{
			Kind: e.Kind, ID: e.ID, At: e.Time, CallID: e.Call, DecisionID: e.Decision, Conversation: e.Conversation,
			User: e.User, Agent: e.Agent, Skill: e.Skill, Outcome: e.Outcome, Gate: e.Gate, Code: e.Code, Body: e.Body,
		}
		newest[e.Kind] = i
	}
	for _, v := range values {
		if v.User != list[0].User || v.Conversation != list[0].Conversation {
			continue // a call is one user's, and so is what is kept of it
		}
		if i, ok := newest[v.Name]; ok {
			out[i].Values = append(out[i].Values, sentinel.Value{Name: v.Kind, Data: v.Data})
		}
	}
	return out, nil
}

// Entry is one record of the ledger as the orchestrator may read it. Body holds no value.
type Entry struct {
	Index                                       int64
	Kind, Call, Decision, Agent, Skill, Outcome string
	At                                          time.Time
	Body                                        []byte
}

// Newest returns the newest records of a user's conversation, at most limit of them, newest
// first. before is the index of the last record of the page before, nil for the first page.
// The error is the store's.
func (r *Recorder) Newest(ctx context.Context, conversation, user string, before *int64, limit int) ([]Entry, error) {
	list, err := r.o.Ledger.List(ctx, ledger.Query{Conversation: conversation, User: user, Newest: true, AfterIndex: before, Limit: limit})
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(list))
	for i := range list {
		e := &list[i]
		out[i] = Entry{e.Index, e.Kind, e.Call, e.Decision, e.Agent, e.Skill, e.Outcome, e.Time, e.Body}
	}
	return out, nil
}
