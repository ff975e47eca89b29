// Package sink writes the ledger's records to a file a month, for programs that read files.
//
//	s, err := sink.Open(sink.Options{Folder: "log", Ledger: parts.Ledger, Log: log})
//	err = s.Run(ctx)
//
// The package isn't stable: docs/api.md lists those that are.
//
// Records are read from the ledger after they are durable, so no decision waits for a file, and the
// ledger itself is the queue: what can't be written now is written later. The last line of the files
// says how far they have come. So after a crash nothing is missing and nothing stands there twice.
//
// A line is the record as `vedette ledger export` has it. With Options.Intents it has the user's request
// besides, under "intent".
//
// What not to do: don't take the files for evidence. The ledger is signed, and they are not. Don't count on a
// purge for them: it doesn't reach these files, which are their keeper's to erase.
package sink

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// ErrOtherLedger says that the files have records which the ledger has not.
var ErrOtherLedger = errors.New("the sink's files are of another ledger, or of a newer copy of this one")

// Ledger has the records; *ledger.Ledger is one.
type Ledger interface {
	List(ctx context.Context, q ledger.Query) ([]ledger.Record, error)
}

// Options of a Sink.
type Options struct {
	// Folder holds the files, named 2026-11.jsonl by the records' time in UTC.
	Folder string
	Ledger Ledger
	// Intents, where it is set, opens the users' requests.
	Intents *journal.Reader
	// Every is how often Run looks for records; zero is a second.
	Every time.Duration
	Log   *slog.Logger
}

// Stats say how a Sink is doing.
type Stats struct {
	// Behind is how many records the ledger has and the files have not; Failures is how often they could
	// not be written.
	Behind, Failures int64
}

// Sink writes the files. It is safe for concurrent use.
type Sink struct {
	o Options

	mu     sync.Mutex
	placed bool
	next   int64 // the index of the record that is written next
	late   bool  // the operator was told

	behind, failures atomic.Int64
}

// Open checks the folder, and makes it where it is missing.
func Open(o Options) (*Sink, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Every = cmp.Or(o.Every, time.Second)
	return &Sink{o: o}, makeFolder(o.Folder)
}

// Stats returns how the sink is doing.
func (s *Sink) Stats() Stats { return Stats{s.behind.Load(), s.failures.Load()} }

// Run writes records as they come until ctx ends. What can't be written is tried again.
func (s *Sink) Run(ctx context.Context) error {
	tick := time.NewTicker(s.o.Every)
	defer tick.Stop()
	for {
		_ = s.CatchUp(ctx) // it was told, and counted
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// pageSize is how many records are in memory at a time.
const pageSize = 256

// CatchUp writes every record that the files have not.
func (s *Sink) CatchUp(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.writeAll(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.placed = false // what the files have is looked at again
		s.failures.Add(1)
	}
	if newest, nerr := s.o.Ledger.List(ctx, ledger.Query{Newest: true, Limit: 1}); nerr == nil && len(newest) == 1 && err != nil {
		s.behind.Store(max(0, newest[0].Index+1-s.next))
	} else if err == nil {
		s.behind.Store(0)
	}
	switch {
	case err != nil && !s.late:
		s.o.Log.Warn("records can't be written to ledger.sink; decisions go on, and the records follow once they can be",
			"behind", s.behind.Load(), "error", err)
	case err == nil && s.late:
		s.o.Log.Info("ledger.sink has every record again")
	}
	s.late = err != nil
	return err
}

// writeAll writes pages until there is none.
func (s *Sink) writeAll(ctx context.Context) error {
	if !s.placed {
		if err := s.findPlace(ctx); err != nil {
			return err
		}
		s.placed = true
	}
	for {
		after := s.next - 1
		page, err := s.o.Ledger.List(ctx, ledger.Query{AfterIndex: &after, Limit: pageSize})
		if err != nil || len(page) == 0 {
			return err
		}
		if err := s.writePage(ctx, page); err != nil {
			return err
		}
	}
}

// findPlace finds the record that comes next by the last lines of the files.
func (s *Sink) findPlace(ctx context.Context) error {
	last, found, err := findLast(s.o.Folder)
	if err != nil {
		return err
	}
	if !found {
		s.next = 0
		return nil
	}
	before := last.Index - 1
	at, err := s.o.Ledger.List(ctx, ledger.Query{AfterIndex: &before, Limit: 1})
	switch {
	case err != nil:
		return err
	case len(at) == 0 || at[0].Index != last.Index || at[0].ID != last.ID:
		return fmt.Errorf("%w: record %d differs; name another folder with ledger.sink", ErrOtherLedger, last.Index)
	}
	s.next = last.Index + 1
	return nil
}

// line is a record in a file.
type line struct {
	ledger.Record
	Intent string `json:"intent,omitempty"`
}

// writePage writes records, those of a month at once.
func (s *Sink) writePage(ctx context.Context, page []ledger.Record) error {
	intents, err := s.findIntents(ctx, page)
	if err != nil {
		return err
	}
	for len(page) > 0 {
		name := fileName(page[0].Time)
		n := 0
		var out bytes.Buffer
		for ; n < len(page) && fileName(page[n].Time) == name; n++ {
			text, err := json.Marshal(line{page[n], intents[page[n].ID]})
			if err != nil {
				return fmt.Errorf("record %d can't be written as JSON: %w", page[n].Index, err)
			}
			out.Write(terminal.CleanJSON(text))
			out.WriteByte('\n')
		}
		if err := appendFile(s.o.Folder, name, out.Bytes()); err != nil {
			return err
		}
		s.next, page = page[n-1].Index+1, page[n:]
	}
	return nil
}

// findIntents returns the requests of decisions by the records' ids, as far as they are kept.
func (s *Sink) findIntents(ctx context.Context, page []ledger.Record) (map[string]string, error) {
	out := map[string]string{}
	if s.o.Intents == nil {
		return out, nil
	}
	var calls []string
	for i := range page {
		if page[i].Kind == sentinel.RecordDecision {
			calls = append(calls, page[i].Call)
		}
	}
	values, err := s.o.Intents.ByCalls(ctx, calls, []string{sentinel.ValuePremises})
	if err != nil {
		return nil, err
	}
	for i := range page {
		list := slices.DeleteFunc(slices.Clone(values[page[i].Call]), func(v journal.Value) bool {
			return v.User != page[i].User || v.Conversation != page[i].Conversation
		})
		if page[i].Kind != sentinel.RecordDecision || len(list) == 0 {
			continue
		}
		text, err := sentinel.RecallRequest(list[len(list)-1].Data, func(ref string) ([]byte, error) { return s.openPart(ctx, ref) })
		if err != nil && !errors.Is(err, sentinel.ErrNotKept) {
			return nil, err
		}
		out[page[i].ID] = text
	}
	return out, nil
}

// openPart opens a part of premises.
func (s *Sink) openPart(ctx context.Context, ref string) ([]byte, error) {
	list, err := s.o.Intents.ByCall(ctx, ref)
	if err != nil || len(list) == 0 {
		return nil, errors.Join(err, sentinel.ErrNotKept)
	}
	return list[len(list)-1].Data, nil
}
