package setup

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

type (
	// Label is what a reviewer said of a decision.
	Label = control.Label
	// LabelWord is what a reviewer says.
	LabelWord = control.LabelWord
	// LabelSaid is what a reviewer says, with what it should have been and a note.
	LabelSaid = control.LabelSaid
	// LabelFilter chooses labels.
	LabelFilter = control.LabelFilter
	// LabelDispute is a decision that reviewers hold to be different things.
	LabelDispute = control.LabelDispute
	// LabelledCases are cases of labelled decisions.
	LabelledCases = control.LabelledCases
)

// LabelWords lists what can be said of a decision, LabelOutcomes what a wrong one should have been.
func LabelWords() []string {
	var out []string
	for _, w := range control.LabelWords() {
		out = append(out, string(w))
	}
	return out
}

// LabelOutcomes lists what a wrong decision should have been.
func LabelOutcomes() []string { return control.LabelOutcomes() }

// Labels reaches the labels of a database: through the process that runs on it, or in the database itself where no
// process does.
type Labels struct {
	process *control.Client
	offline control.OfflineLabels
	whole   bool // the keys are known
}

// NewLabels returns the labels of a database. Without the key folder there must be a process on it, for all but lists.
func NewLabels(s records.Source) *Labels {
	return &Labels{Dial(s.Database), control.OfflineLabels{Database: s.Database, Driver: s.Driver, Keys: s.Keys}, s.Keys != ""}
}

// Put says something of a decision in the name of the system's user. By and Via are not used.
func (l *Labels) Put(ctx context.Context, s LabelSaid) (out Label, err error) {
	s.By, s.Via = control.NameLocal(os.Getuid()), control.ViaCommand
	err = l.reachLabels(ctx, func() error {
		out, err = l.process.PutLabel(ctx, s)
		return err
	}, func() error {
		out, err = l.offline.Put(ctx, s)
		return err
	})
	return out, adviseOnLabel(err)
}

// List returns labels, the newest first. Any Viewer stands for the system's user. Where no process runs there are no
// notes: reading needs no key, and keeps no process from starting.
func (l *Labels) List(ctx context.Context, f LabelFilter) ([]Label, error) {
	if f.Viewer != "" {
		f.Viewer = control.NameLocal(os.Getuid())
	}
	list, err := l.process.ListLabels(ctx, f)
	if errors.Is(err, control.ErrNotRunning) {
		return l.offline.List(ctx, f)
	}
	return list, adviseOnLabel(err)
}

// Disputes returns the decisions of which reviewers said different things, as List does.
func (l *Labels) Disputes(ctx context.Context, viewer string, limit int) ([]LabelDispute, error) {
	if viewer != "" {
		viewer = control.NameLocal(os.Getuid())
	}
	list, err := l.process.ListDisputes(ctx, viewer, limit)
	if errors.Is(err, control.ErrNotRunning) {
		return l.offline.Disputes(ctx, viewer, limit)
	}
	return list, adviseOnLabel(err)
}

// WriteExpectation returns a case as an item of a configuration's tests, and whether all of the case is in it.
func WriteExpectation(raw json.RawMessage) (text string, whole bool, err error) {
	return control.WriteExpectation(raw)
}

// Export hands out the cases of all labelled decisions, or of the one of a record, a page at a time, each on record in
// the name of the system's user. An error of take ends it and is returned.
func (l *Labels) Export(ctx context.Context, record string, take func(LabelledCases) error) error {
	for part := (control.LabelledPart{Record: record}); ; {
		var page LabelledCases
		err := l.reachLabels(ctx, func() (err error) {
			page, err = l.process.ExportLabels(ctx, part)
			return err
		}, func() (err error) {
			page, err = l.offline.Export(ctx, part, control.NameLocal(os.Getuid()), control.ViaCommand)
			return err
		})
		if err != nil {
			return adviseOnLabel(err)
		}
		if err := take(page); err != nil {
			return err
		}
		if part.After = page.Next; part.After == "" {
			return nil
		}
	}
}

// reachLabels asks the process, and opens the database where none listens.
func (l *Labels) reachLabels(ctx context.Context, ask, open func() error) error {
	return reachEither(ctx, ask, open, either{l.offline.Database, l.whole, "keep labels",
		"stop that program, and start it again afterwards: it may be of an earlier version"})
}

// adviseOnLabel adds what a person can do about a decision of which nothing can be said.
func adviseOnLabel(err error) error {
	todo := ""
	switch {
	case errors.Is(err, control.ErrLabelUnknown):
		todo = "vedette ledger list 'kind:decision' shows the ids"
	case errors.Is(err, control.ErrLabelAmbiguous):
		todo = "give more of the id; vedette ledger list shows the ids"
	case errors.Is(err, control.ErrNoLabels):
		todo = "start it again: it may be of an earlier version"
	}
	if todo == "" {
		return err
	}
	return &advice.Error{Err: err, Todo: todo}
}
