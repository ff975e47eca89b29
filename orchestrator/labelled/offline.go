package labelled

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

// Offline reaches the labels of a database that no process has open.
type Offline struct {
	// Database is its file, Driver as the configuration says it, Keys the key folder.
	Database, Driver, Keys string
}

// List returns labels, also while a process writes to the database. It needs no key, so there are no notes.
func (o Offline) List(ctx context.Context, f label.Filter) (list []label.Label, err error) {
	err = o.read(ctx, func(r *store.Reader) error {
		list, err = label.List(ctx, r, f)
		return err
	})
	return list, err
}

// Disputes returns the decisions of which reviewers said different things, as List does.
func (o Offline) Disputes(ctx context.Context, viewer string, limit int) (list []label.Dispute, err error) {
	err = o.read(ctx, func(r *store.Reader) error {
		list, err = label.ListDisputes(ctx, r, viewer, limit)
		return err
	})
	return list, err
}

// read opens the database for reading as long as use runs.
func (o Offline) read(ctx context.Context, use func(*store.Reader) error) (err error) {
	r, err := store.OpenReader(ctx, o.Database)
	if err != nil {
		return adviseOn(o.Database, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return use(r)
}

// Put takes what a reviewer says. The error is store.ErrLocked where a process has the database open, or one of
// label.Labels.Put.
func (o Offline) Put(ctx context.Context, s label.Said) (out label.Label, err error) {
	err = o.open(ctx, func(src Sources) error {
		out, err = src.Labels.Put(ctx, s)
		return err
	})
	return out, err
}

// Export makes the cases of a page, on record in the name of by. The error is store.ErrLocked where a process has the
// database open.
func (o Offline) Export(ctx context.Context, part Part, by, via string) (out Page, err error) {
	err = o.open(ctx, func(src Sources) error {
		out, err = Export(ctx, src, part, by, via)
		return err
	})
	return out, err
}

// exportPage is how many labels one page of an export is made of.
const exportPage = 100

// Export makes the cases of a page, on record in the name of by.
func Export(ctx context.Context, s Sources, part Part, by, via string) (Page, error) {
	page, err := Make(ctx, s, part, exportPage)
	if err != nil {
		return Page{}, err
	}
	if err := s.Labels.RecordExport(ctx, by, via, len(page.Cases), len(page.Withheld)); err != nil {
		return Page{}, err
	}
	return page, nil
}

// open opens the database for as long as use runs. It makes no database and no key: a mistaken path changes nothing.
func (o Offline) open(ctx context.Context, use func(Sources) error) (err error) {
	if _, err := store.FindNewest(o.Database); err != nil {
		return adviseOn(o.Database, store.ErrNoFile)
	}
	for _, name := range []string{"journal.key", "ledger.key"} {
		if _, err := os.Stat(filepath.Join(o.Keys, name)); err != nil {
			return &advice.Error{
				Err:  fmt.Errorf("the keys of %s are not in %s: %s can't be read", o.Database, o.Keys, name),
				Todo: "name the configuration that the database was made under with --config FILE",
			}
		}
	}
	k, err := keys.LoadOrCreate(o.Keys)
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, store.Options{Path: o.Database, Driver: o.Driver})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	// The journal comes first: it refuses the keys of another database before the ledger signs.
	jr, err := journal.Open(ctx, st, journal.SingleKey(k.Journal()), journal.Options{})
	if err != nil {
		return err
	}
	l, err := ledger.OpenWith(ctx, st, k, ledger.Options{})
	if err != nil {
		return err
	}
	all, err := label.Open(ctx, label.Options{Store: st, Ledger: l, Journal: jr})
	if err != nil {
		return err
	}
	return use(Sources{&l.Reader, jr, all})
}

// adviseOn adds what an operator can do where there is no database.
func adviseOn(database string, err error) error {
	if errors.Is(err, store.ErrNoFile) {
		return &advice.Error{
			Err:  fmt.Errorf("no such database: %s", database),
			Todo: "it is made when Vedette first decides a call; name another with --config FILE or --db FILE",
		}
	}
	return err
}
