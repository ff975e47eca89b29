// Package shown opens a database to show its owner what is kept of one call, and what decided.
//
//	s, err := shown.ReadStory(ctx, src, "0199a1b2") // without values, also beside a running server
//	s, err = shown.ReadValues(ctx, src, "0199a1b2", shown.Reader{By: "local:ann", Via: "cli"})
//	p, err := shown.ReadPolicy(ctx, src, "3f0a9c")
//
// The package isn't stable: docs/api.md lists those that are.
//
// ReadValues needs the database for itself, and puts the reading on record. The others read beside a
// running server, and need no key.
//
// What not to do: don't log a story with values.
package shown

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/policies"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/orchestrator/records/story"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

type (
	// Story is all that is kept of one call.
	Story = story.Story
	// Reader is who is shown values.
	Reader = story.Reader
	// Policy is what a policy's digest stands for.
	Policy = policies.Policy
	// PolicyItem is a policy in a list.
	PolicyItem = policies.Item
)

// ReadStory tells what the ledger holds of a call, without values, also while another process writes to
// the database.
func ReadStory(ctx context.Context, s records.Source, id string) (out Story, err error) {
	r, err := ledger.OpenReader(ctx, s.Database)
	if err != nil {
		return out, s.AdviseOn(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	out, err = story.Read(ctx, r, id)
	return out, s.AdviseOn(records.AdviseOnID(id, err))
}

// ReadValues tells a story with the values that the journal has. It is on record who read them. It
// needs the database for itself: the error is records.ErrInUse where a process has it open.
func ReadValues(ctx context.Context, s records.Source, id string, who Reader) (out Story, err error) {
	if err := s.CheckDatabase(); err != nil {
		return out, err
	}
	for _, name := range []string{"journal.key", "ledger.key"} { // loading would make them: a reader makes no keys
		if _, err := os.Stat(filepath.Join(s.Keys, name)); err != nil {
			return out, &advice.Error{
				Err:  fmt.Errorf("the key folder %s can't be used: there is no %s", s.Keys, name),
				Todo: "name the key folder with --keys FOLDER",
			}
		}
	}
	if _, err := ReadStory(ctx, s, id); err != nil { // a mistaken id opens nothing for writing
		return out, err
	}
	st, err := store.Open(ctx, store.Options{Path: s.Database, Driver: s.Driver})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	t, err := newTeller(ctx, s, st)
	if err != nil {
		return out, err
	}
	out, err = t.TellWithValues(ctx, id, who)
	return out, s.AdviseOn(records.AdviseOnID(id, err))
}

// newTeller opens journal and ledger. The journal comes first: it refuses the keys of another database
// before the ledger signs.
func newTeller(ctx context.Context, s records.Source, st *store.Store) (*story.Teller, error) {
	k, err := keys.LoadOrCreate(s.Keys)
	if err != nil {
		return nil, err
	}
	jr, err := journal.Open(ctx, st, journal.SingleKey(k.Journal()), journal.Options{})
	if err != nil {
		return nil, err
	}
	l, err := ledger.OpenWith(ctx, st, k, ledger.Options{})
	if err != nil {
		return nil, err
	}
	return story.New(story.Options{Store: st, Ledger: l, Journal: jr}), nil
}

// ListPolicies lists the policies that are kept, also while another process writes to the database.
func ListPolicies(ctx context.Context, s records.Source) (list []PolicyItem, err error) {
	err = readStore(ctx, s, func(r *store.Reader) error {
		list, err = policies.List(ctx, r)
		return err
	})
	return list, err
}

// ReadPolicy returns what a policy's digest, or the beginning of one, stands for. One that isn't what the
// digest stands for is a *records.IntegrityError.
func ReadPolicy(ctx context.Context, s records.Source, begin string) (p Policy, err error) {
	err = readStore(ctx, s, func(r *store.Reader) error {
		p, err = policies.Find(ctx, r, begin)
		return err
	})
	if err == nil {
		err = p.Verify()
	}
	switch {
	case errors.Is(err, policies.ErrChanged):
		return p, &records.IntegrityError{
			Err: fmt.Errorf("policy %q: %w", begin, err), Todo: "vedette ledger verify says whether records were changed, too",
		}
	case errors.Is(err, policies.ErrUnknown), errors.Is(err, policies.ErrAmbiguous):
		return p, &advice.Error{Err: fmt.Errorf("policy %q: %w", begin, err), Todo: "vedette ledger policy lists those that are kept"}
	}
	return p, err
}

// readStore opens the database for reading.
func readStore(ctx context.Context, s records.Source, read func(*store.Reader) error) (err error) {
	r, err := store.OpenReader(ctx, s.Database)
	if err != nil {
		return s.AdviseOn(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return read(r)
}

// ComparePolicies returns how the second policy differs from the first.
func ComparePolicies(first, second Policy) []policies.Change { return policies.Diff(first, second) }
