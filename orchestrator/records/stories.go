package records

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/policies"
	"github.com/vedette-dev/vedette/orchestrator/records/story"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

// Story tells what the ledger holds of a call, without values, also while another process writes to
// the database.
func (s Source) Story(ctx context.Context, id string) (out story.Story, err error) {
	r, err := s.openReader(ctx)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	out, err = story.Read(ctx, r, id)
	return out, s.adviseOnID(id, err)
}

// StoryWithValues tells a story with the values that the journal has. It is on record who read them. It
// needs the database for itself: the error is ErrInUse where a process has it open.
func (s Source) StoryWithValues(ctx context.Context, id string, who story.Reader) (out story.Story, err error) {
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
	if _, err := s.Story(ctx, id); err != nil { // a mistaken id opens nothing for writing
		return out, err
	}
	st, err := store.Open(ctx, store.Options{Path: s.Database, Driver: s.Driver})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	t, err := s.newTeller(ctx, st)
	if err != nil {
		return out, err
	}
	out, err = t.TellWithValues(ctx, id, who)
	return out, s.adviseOnID(id, err)
}

// newTeller opens journal and ledger. The journal comes first: it refuses the keys of another database
// before the ledger signs.
func (s Source) newTeller(ctx context.Context, st *store.Store) (*story.Teller, error) {
	k, err := keys.LoadOrCreate(s.Keys)
	if err != nil {
		return nil, err
	}
	signer, err := ledger.NewSigner(k.Ledger())
	if err != nil {
		return nil, err
	}
	jr, err := journal.Open(ctx, st, journal.SingleKey(k.Journal()), journal.Options{})
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(ctx, st, signer, ledger.Options{})
	if err != nil {
		return nil, err
	}
	return story.New(story.Options{Store: st, Ledger: l, Journal: jr}), nil
}

// adviseOnID adds what to do about an id that names no record, or several.
func (s Source) adviseOnID(id string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrNotFound):
		return &advice.Error{Err: fmt.Errorf("no record, decision or call has the id %q", id), Todo: "vedette ledger list shows the ids"}
	case errors.Is(err, ledger.ErrAmbiguous):
		return &advice.Error{
			Err:  fmt.Errorf("several records start with %q", id),
			Todo: "give more of the id; vedette ledger list shows the ids",
		}
	}
	return s.adviseOn(err)
}

// Policies lists the policies that are kept, also while another process writes to the database.
func (s Source) Policies(ctx context.Context) (list []policies.Item, err error) {
	err = s.readStore(ctx, func(r *store.Reader) error {
		list, err = policies.List(ctx, r)
		return err
	})
	return list, err
}

// Policy returns what a policy's digest, or the beginning of one, stands for. One that isn't what the
// digest stands for is an *IntegrityError.
func (s Source) Policy(ctx context.Context, begin string) (p policies.Policy, err error) {
	err = s.readStore(ctx, func(r *store.Reader) error {
		p, err = policies.Find(ctx, r, begin)
		return err
	})
	if err == nil {
		err = p.Verify()
	}
	switch {
	case errors.Is(err, policies.ErrChanged):
		return p, &IntegrityError{fmt.Errorf("policy %q: %w", begin, err), "vedette ledger verify says whether records were changed, too"}
	case errors.Is(err, policies.ErrUnknown), errors.Is(err, policies.ErrAmbiguous):
		return p, &advice.Error{Err: fmt.Errorf("policy %q: %w", begin, err), Todo: "vedette ledger policy lists those that are kept"}
	}
	return p, err
}

// readStore opens the database for reading.
func (s Source) readStore(ctx context.Context, read func(*store.Reader) error) (err error) {
	r, err := store.OpenReader(ctx, s.Database)
	if err != nil {
		return s.adviseOn(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return read(r)
}
