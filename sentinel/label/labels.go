package label

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// Options are the parts of Labels. Ledger and Journal must be those of Store.
type Options struct {
	Store   *store.Store
	Ledger  *ledger.Ledger
	Journal *journal.Journal
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Labels are the labels of one store. It is safe for concurrent use.
type Labels struct {
	o       Options
	filling sync.Mutex // held while the ledger is looked through for the queue
}

// Open opens the labels of a store.
func Open(ctx context.Context, o Options) (*Labels, error) {
	if o.Store == nil || o.Ledger == nil || o.Journal == nil {
		return nil, errors.New("labels need a store, its ledger and its journal")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := o.Store.Migrate(ctx, "labels", schema); err != nil {
		return nil, err
	}
	return &Labels{o: o}, nil
}

// kindNote is the kind of a note in the journal.
const kindNote = "label.note"

// refOf is the reference under which the journal has a label's note. The call's own would mix it with the
// values that a restart reads.
func refOf(id string) string { return "label/" + id }

// Put takes what a reviewer says. When it returns, the label is on disk with its record. The same word a second
// time changes nothing. The errors are ErrLabel, ErrUnknown and ErrAmbiguous, or the store's.
func (l *Labels) Put(ctx context.Context, s Said) (Label, error) {
	if err := s.check(); err != nil {
		return Label{}, err
	}
	rec, err := l.findDecision(ctx, s.Of)
	if err != nil {
		return Label{}, err
	}
	made := Label{
		ID: ids.New(), Record: rec.ID, Decision: rec.Decision, Call: rec.Call, Conversation: rec.Conversation, User: rec.User,
		Skill: rec.Skill, Decided: DecidedOf(&rec), Gate: rec.Gate, Code: rec.Code, Word: s.Word, Should: s.Should, By: s.By, Via: s.Via,
		At: l.o.Now().UTC().Truncate(time.Millisecond), Note: s.Note, HasNote: s.Note != "",
	}
	if made.Word == Wrong && made.Should == made.Decided {
		return Label{}, fmt.Errorf("%w: %s is what was decided", ErrLabel, made.Decided)
	}
	out := Label{}
	err = l.o.Store.Submit(ctx, func(tx *store.Tx) error {
		out, err = l.putTx(tx, made)
		return err
	})
	return out, err
}

// putTx adds a label, or returns the one that stands and says the same.
func (l *Labels) putTx(tx *store.Tx, made Label) (Label, error) {
	rows, err := tx.Query(sqlStanding, made.Record, made.By)
	if err != nil {
		return made, err
	}
	for rows.Next() {
		old, err := scanLabel(rows)
		if err != nil {
			return made, err
		}
		if old.Word == made.Word && old.Should == made.Should && !old.HasNote && !made.HasNote {
			return old, rows.Close()
		}
	}
	if err := rows.Err(); err != nil {
		return made, err
	}
	if _, err := tx.Exec(sqlReplace, made.Record, made.By); err != nil {
		return made, err
	}
	if made.HasNote {
		made.sealed, err = l.o.Journal.PutTx(tx, journal.Item{
			Call: refOf(made.ID), Conversation: made.Conversation, User: made.User, Kind: kindNote, Data: []byte(made.Note),
		})
		if err != nil {
			return made, err
		}
	}
	_, err = tx.Exec(sqlInsert, made.ID, made.Record, made.Decision, made.Call, made.Conversation, made.User, made.Skill, made.Decided,
		made.Gate, made.Code, string(made.Word), made.Should, made.By, made.Via, made.At.UnixMilli(), made.sealed)
	if err != nil {
		return made, err
	}
	e, err := made.entry()
	if err != nil {
		return made, err
	}
	_, err = l.o.Ledger.AppendTx(tx, e)
	return made, err
}

// findDecision finds the record of a decision by its own id, by that of another record of its call, or by the id
// of its decision or call.
func (l *Labels) findDecision(ctx context.Context, of string) (ledger.Record, error) {
	rec, err := l.o.Ledger.Get(ctx, of)
	switch {
	case err == nil && isDecision(&rec):
		return rec, nil
	case err == nil && rec.Call != "":
		return l.chooseDecision(ctx, ledger.Query{Call: rec.Call, Decision: rec.Decision})
	case err == nil:
		return rec, ErrUnknown
	case !errors.Is(err, ledger.ErrNotFound):
		return rec, err
	case len(of) > ledger.MaxKey || of == "":
		return rec, ErrUnknown
	}
	if rec, err = l.chooseDecision(ctx, ledger.Query{Call: of}); errors.Is(err, ErrUnknown) {
		return l.chooseDecision(ctx, ledger.Query{Decision: of})
	}
	return rec, err
}

// chooseDecision returns the newest decision among the records that a query finds.
func (l *Labels) chooseDecision(ctx context.Context, q ledger.Query) (ledger.Record, error) {
	q.Newest = true
	list, err := l.o.Ledger.List(ctx, q)
	if err != nil {
		return ledger.Record{}, err
	}
	for i := range list {
		if isDecision(&list[i]) {
			return list[i], nil
		}
	}
	return ledger.Record{}, ErrUnknown
}

// FindDecision returns the record of a decision as Put finds it.
func (l *Labels) FindDecision(ctx context.Context, of string) (ledger.Record, error) {
	return l.findDecision(ctx, of)
}

// List returns labels, the newest first, with their notes where the journal still has them.
func (l *Labels) List(ctx context.Context, f Filter) ([]Label, error) {
	list, err := List(ctx, l.o.Store.Reader(), f)
	if err != nil {
		return nil, err
	}
	return list, l.openNotes(ctx, list)
}

// openNotes reads the notes of labels.
func (l *Labels) openNotes(ctx context.Context, list []Label) error {
	for i := range list {
		if list[i].sealed == 0 {
			continue
		}
		v, err := l.o.Journal.Get(ctx, list[i].sealed)
		switch {
		case errors.Is(err, journal.ErrErased), errors.Is(err, journal.ErrNotFound):
		case err != nil:
			return err
		case v.Kind == kindNote && v.Call == refOf(list[i].ID): // a row that names another value shows none
			list[i].Note = string(v.Data)
		}
	}
	return nil
}

// Disputes returns decisions that reviewers hold to be different things, with notes: see ListDisputes.
func (l *Labels) Disputes(ctx context.Context, viewer string, limit int) ([]Dispute, error) {
	list, err := ListDisputes(ctx, l.o.Store.Reader(), viewer, limit)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if err := l.openNotes(ctx, list[i].Labels); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Conceal leaves out records of what others said of decisions of which a reviewer has said nothing yet.
func (l *Labels) Conceal(ctx context.Context, viewer string, list []ledger.Record) ([]ledger.Record, error) {
	out := make([]ledger.Record, 0, len(list))
	for i := range list {
		hidden, err := l.isHidden(ctx, viewer, &list[i])
		if err != nil {
			return nil, err
		}
		if !hidden {
			out = append(out, list[i])
		}
	}
	return out, nil
}

// isHidden reports whether a record is what another reviewer said, and too early to be seen.
func (l *Labels) isHidden(ctx context.Context, viewer string, r *ledger.Record) (bool, error) {
	if r.Kind != RecordLabelled {
		return false, nil
	}
	var b labelBody
	if readable := json.Unmarshal(r.Body, &b) == nil; !readable || b.By == viewer {
		return false, nil
	}
	n := 0
	err := l.o.Store.Reader().QueryRow(ctx, sqlHasSaid, b.Record, viewer).Scan(&n)
	return n == 0, err
}

// exportBody is what the ledger holds of an export.
type exportBody struct {
	V        int    `json:"v"`
	By       string `json:"by"`
	Via      string `json:"via,omitempty"`
	Cases    int    `json:"cases"`
	Withheld int    `json:"withheld"`
}

// RecordExport puts on record who read the values of labelled calls, and of how many.
func (l *Labels) RecordExport(ctx context.Context, by, via string, cases, withheld int) error {
	body, err := json.Marshal(exportBody{1, by, via, cases, withheld})
	if err != nil {
		return err
	}
	return l.o.Store.Submit(ctx, func(tx *store.Tx) error {
		_, err := l.o.Ledger.AppendTx(tx, ledger.Entry{ID: ids.New(), Time: l.o.Now(), Kind: RecordExported, Body: body})
		return err
	})
}
