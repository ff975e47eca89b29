package records

import (
	"context"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// Archived is what an archive of the ledger did.
type Archived = ledger.Archived

// ArchiveLedger closes the ledger's database file and has another go on. It needs the database for itself: the error
// is ErrInUse where a process has it open. A file that isn't finished yet is an *ledger.UnfinishedError.
func ArchiveLedger(ctx context.Context, s Source, by string) (out Archived, err error) {
	if err := s.CheckDatabase(); err != nil {
		return out, err
	}
	k, err := loadKeys(s)
	if err != nil {
		return out, err
	}
	st, err := store.Open(ctx, store.Options{Path: s.Database, Driver: s.Driver})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	// The journal comes first: it refuses the keys of another database before the ledger signs.
	if _, err := journal.Open(ctx, st, journal.SingleKey(k.Journal()), journal.Options{}); err != nil {
		return out, err
	}
	l, err := ledger.OpenWith(ctx, st, k, ledger.Options{})
	if err != nil {
		return out, err
	}
	return ledger.NewArchiver(ledger.ArchiverOptions{Store: st, Ledger: l, Keys: k}).Archive(ctx, by, nil)
}

// AdviseOnArchive adds what an operator can do where the ledger could not be archived.
func AdviseOnArchive(err error) error {
	var unfinished *ledger.UnfinishedError
	switch {
	case errors.Is(err, ledger.ErrNothing):
		return &advice.Error{Err: err, Todo: "archive it once there is something in it"}
	case errors.As(err, &unfinished):
		return &advice.Error{Err: err, Todo: "it is finished at the next start, and before the next purge; stop programs that read the archive"}
	}
	return err
}

// ListArchives lists the files that the ledger goes on from, the oldest first, also while another process writes.
func ListArchives(ctx context.Context, s Source) (list []ledger.Archive, err error) {
	r, err := s.openReader(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	list, err = r.Archives(ctx)
	if errors.Is(err, ledger.ErrTampered) {
		return nil, &IntegrityError{err, "vedette ledger verify says more"}
	}
	return list, s.AdviseOn(err)
}

// DescribeMissing says which archives are not where the database looks for them, in words; empty where all are.
func DescribeMissing(list []ledger.Archive) []string {
	var out []string
	for _, a := range list {
		if a.Path == "" {
			out = append(out, fmt.Sprintf("file %d of the ledger, with records %d to %d, is not here", a.Number, a.From, a.From+a.Records))
		}
	}
	return out
}
