package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// Keys are the ledger's keys in a key folder: *keys.Keys.
type Keys interface {
	// Ledger is the key in force. LedgerForNextFile makes the one that is to come, once; PendingLedger returns it while
	// it waits, and TakeNextLedger puts it in the place of the one in force.
	Ledger() string
	LedgerForNextFile() (string, error)
	PendingLedger() (skey string, ok bool, err error)
	TakeNextLedger() (kept string, err error)
}

// OpenWith opens the ledger of a store with the keys of a key folder. It finishes what a kill in the midst of an
// archive left: the last record of the file before, and the key's place. Where the former fails, the ledger is open
// and the next call tries again. The errors are those of Open and of the keys.
func OpenWith(ctx context.Context, st *store.Store, k Keys, o Options) (*Ledger, error) {
	signer, err := NewSigner(k.Ledger())
	if err != nil {
		return nil, err
	}
	l, err := Open(ctx, st, signer, o)
	if !errors.Is(err, ErrHead) {
		return l, err
	}
	skey, ok, kerr := k.PendingLedger()
	if kerr != nil || !ok {
		return nil, errors.Join(err, kerr)
	}
	next, nerr := NewSigner(skey)
	if nerr != nil {
		return nil, errors.Join(err, nerr)
	}
	if l, nerr = Open(ctx, st, next, o); nerr != nil {
		return nil, err // the key in force is what its reader knows
	}
	if err := l.FinishArchive(ctx, signer); err != nil {
		return l, nil //nolint:nilerr // the private key that is needed for it stays where it is
	}
	_, err = k.TakeNextLedger()
	return l, err
}

// ArchiverOptions are what is archived, and when by itself. Store, Ledger and Keys are required.
type ArchiverOptions struct {
	Store  *store.Store
	Ledger *Ledger
	Keys   Keys
	// MaxBytes and MaxAge are the size and the age of a file from which on ArchiveIfDue archives it; zero is never. Age is
	// the time since its first record.
	MaxBytes int64
	MaxAge   time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	Log *slog.Logger
}

// Archiver archives one  It is safe for concurrent use.
type Archiver struct {
	o  ArchiverOptions
	mu sync.Mutex // held while it archives
}

// NewArchiver returns an Archiver.
func NewArchiver(o ArchiverOptions) *Archiver {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Archiver{o: o}
}

// The steps beside those of store.Store.Succeed, as Archive tells of them before each.
const (
	StepKey   = "key"   // the next file's key takes the place of the old one
	StepClean = "clean" // what moved is removed from the file that was closed
)

// UnfinishedError says that the next file of the ledger is in use, and that something is left to be done with the
// one before. It is done at the next start, and before the next purge.
type UnfinishedError struct{ Err error }

// Error says what failed.
func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("the ledger goes on in the next file, and the one before isn't finished: %v", e.Err)
}

// Unwrap returns the cause.
func (e *UnfinishedError) Unwrap() error { return e.Err }

// Archive closes the file in use and has another go on: see Ledger.Archive. by names who did it, for the record. onStep is told of each
// step before it; nil for none. The error is an *UnfinishedError where the next file is in use; after every other
// one nothing has happened. ErrNothing: there are no records.
func (a *Archiver) Archive(ctx context.Context, by string, onStep func(step string)) (out Archived, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if onStep == nil {
		onStep = func(string) {}
	}
	skey, err := a.o.Keys.LedgerForNextFile()
	if err != nil {
		return out, err
	}
	next, err := NewSigner(skey)
	if err != nil {
		return out, err
	}
	out, err = a.o.Ledger.Archive(ctx, next, by, onStep)
	if out.File.Number == 0 {
		return out, err
	}
	if err == nil { // else the key that must close the file stays
		onStep(StepKey)
		_, err = a.o.Keys.TakeNextLedger()
	}
	onStep(StepClean)
	if err = errors.Join(err, a.o.Store.CleanOlder(ctx)); err != nil {
		err = &UnfinishedError{err}
	}
	a.o.Log.Info("The ledger was archived: another database file goes on.", "archive", out.Path, "records", out.Records,
		"file", out.File.Path, "by", by)
	return out, err
}

// ArchiveIfDue archives the file in use where it is too large or too old, and finishes what an earlier archive left.
func (a *Archiver) ArchiveIfDue(ctx context.Context) error {
	why, err := a.findReason(ctx)
	if err != nil || why == "" {
		return errors.Join(err, a.o.Store.CleanOlder(ctx))
	}
	_, err = a.Archive(ctx, "config:"+why, nil)
	if errors.Is(err, ErrNothing) {
		return nil
	}
	return err
}

// findReason returns the setting by which the file in use is to be archived, or none.
func (a *Archiver) findReason(ctx context.Context) (string, error) {
	if a.o.MaxBytes > 0 {
		info, err := os.Stat(a.o.Store.File().Path)
		if err != nil {
			return "", fmt.Errorf("size of the database: %w", err)
		}
		if info.Size() >= a.o.MaxBytes {
			return "max_bytes", nil
		}
	}
	if a.o.MaxAge > 0 {
		began, err := a.o.Ledger.FileBegan(ctx)
		if err != nil {
			return "", err
		}
		if !began.IsZero() && a.o.Now().Sub(began) >= a.o.MaxAge {
			return "max_age", nil
		}
	}
	return "", nil
}
