package records

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

// Sealed reads records and the values behind them, beside the process that writes them. It writes
// nothing. What it opens are values: show them to no person without leave, and log none.
type Sealed struct {
	Ledger  *ledger.Reader
	Journal *journal.Reader
	// DigestKey salts the digests of calls in records.
	DigestKey [32]byte
}

// OpenSealed opens the database and the keys of s for reading. It makes no key. Close what it returns.
func OpenSealed(ctx context.Context, s Source, now func() time.Time) (_ *Sealed, err error) {
	out := &Sealed{}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Close())
		}
	}()
	if out.Ledger, err = s.openReader(ctx); err != nil {
		return nil, err
	}
	if _, err = out.Ledger.List(ctx, ledger.Query{Limit: 1}); err != nil {
		return nil, s.AdviseOn(err)
	}
	k, err := loadKeys(s)
	if err != nil {
		return nil, err
	}
	out.DigestKey = k.Digest()
	out.Journal, err = journal.OpenReader(ctx, s.Database, journal.SingleKey(k.Journal()), now)
	if errors.Is(err, journal.ErrKey) {
		return nil, &advice.Error{Err: err, Todo: nameKeys}
	}
	return out, s.AdviseOn(err)
}

const nameKeys = "name the key folder with --keys FOLDER"

// loadKeys loads the keys that are there. Loading would make what is missing: a reader makes no keys.
func loadKeys(s Source) (*keys.Keys, error) {
	for _, name := range []string{"journal.key", "digest.key", "ledger.key", "warrant.key"} {
		if _, err := os.Stat(filepath.Join(s.Keys, name)); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("there is no %s", name)
			}
			return nil, &advice.Error{Err: fmt.Errorf("the key folder %s can't be used: %w", s.Keys, advice.CauseOf(err)), Todo: nameKeys}
		}
	}
	return keys.LoadOrCreate(s.Keys)
}

// Close closes the database.
func (s *Sealed) Close() error {
	var errs []error
	if s.Ledger != nil {
		errs = append(errs, s.Ledger.Close())
	}
	if s.Journal != nil {
		errs = append(errs, s.Journal.Close())
	}
	return errors.Join(errs...)
}
