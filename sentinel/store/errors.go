package store

import (
	"errors"
	"fmt"
	"runtime/debug"
)

var (
	// ErrUnavailable is returned when the group that a submission belonged to
	// could not be made durable. Nothing of it may be acted upon.
	ErrUnavailable = errors.New("store unavailable")
	// ErrLocked is returned by Open when another process, or another Store of
	// this one, already writes to the same file.
	ErrLocked = errors.New("database is in use by another writer")
	// ErrDriver is returned by Open for a driver that is not built in.
	ErrDriver = errors.New("unknown database driver")
	// ErrClosed is returned for submissions that the writer had not picked up
	// when the store was closed. They did not run.
	ErrClosed = errors.New("store is closed")
	// ErrSpent is returned by Spend for an id that was spent before.
	ErrSpent = errors.New("warrant was already spent")
	// ErrBusy is returned by Checkpoint when readers held the write-ahead log
	// open for the whole time. The data is safe; the log still has old pages.
	ErrBusy = errors.New("readers hold the write-ahead log")
	// ErrNewer is returned by Migrate when the file was written by a newer
	// version of the program.
	ErrNewer = errors.New("database was written by a newer version")
	// ErrClaimed is returned by Claim for a name that is taken.
	ErrClaimed = errors.New("already open on this store")
	// ErrTx is returned when a Tx is used after its submission has ended.
	ErrTx = errors.New("transaction has ended")
	// ErrArchived is returned by Open for a file that another went on from, where that isn't there.
	ErrArchived = errors.New("this database file was closed")
	// ErrNoFile is returned by OpenReader when there is no database file.
	ErrNoFile = errors.New("no such database file")
)

// PanicError is what Submit returns when the submitted function panicked. The
// panic's value is left out on purpose: it may quote arguments.
type PanicError struct {
	// Type is the Go type of the value that was panicked with.
	Type string
	// Stack is the stack of the writer at that moment.
	Stack []byte
}

// Error says that the submission panicked and with which type of value.
func (e *PanicError) Error() string {
	return "submitted function panicked with a value of type " + e.Type
}

func newPanicError(v any) *PanicError {
	return &PanicError{Type: fmt.Sprintf("%T", v), Stack: debug.Stack()}
}

// asUnavailable wraps cause, whose text comes from SQLite or a hook. That text
// names tables and codes but no values.
func asUnavailable(doing string, cause error) error {
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, doing, cause)
}
