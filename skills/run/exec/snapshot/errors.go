package snapshot

import (
	"errors"
	"fmt"
)

// Errors that callers tell apart. None of them names a path in its text; the typed
// ones hold the paths in fields.
var (
	// ErrUnsupported is returned where this system has no overlay.
	ErrUnsupported = errors.New("snapshot: this system has no overlay; run the skill with write_mode: direct")
	// ErrDigest is returned by Commit where the changes aren't those that were approved.
	ErrDigest = errors.New("snapshot: the changes aren't those that were approved; list and approve them again")
	// ErrBusy is returned where another process commits or discards the layer.
	ErrBusy = errors.New("snapshot: another process works on this layer; try again when it is done")
	// ErrBegun is returned by Commit where a commit was begun before: Resume it.
	ErrBegun = errors.New("snapshot: a commit of this layer was begun; resume it")
	// ErrNotBegun is returned by Resume where no commit was begun: nothing was written.
	ErrNotBegun = errors.New("snapshot: no commit of this layer was begun; the roots are as they were")
	// ErrJournal is returned where the journal can't be read. How far the commit came is unknown.
	ErrJournal = errors.New("snapshot: the journal is damaged; compare the layer with its roots by hand")
	// ErrNoLayer is returned by Load where there is no such layer.
	ErrNoLayer = errors.New("snapshot: there is no such layer in the state folder")
)

var errLine = errors.New("snapshot: a line isn't as it was written")

// StateError is a state folder that can't hold a layer.
type StateError struct {
	Folder string
	Why    string
}

// Error names the folder, the reason and the remedy.
func (e *StateError) Error() string {
	return fmt.Sprintf("snapshot: state folder %q %s; put the state on a volume (ext4, xfs, btrfs or tmpfs of Linux 6.6)", e.Folder, e.Why)
}

// RootError is a root over which there can be no layer.
type RootError struct {
	Root string
	Why  string
}

// Error names the root and the reason.
func (e *RootError) Error() string { return fmt.Sprintf("snapshot: root %q %s", e.Root, e.Why) }

// LimitError is a layer, or what it would remove, beyond a bound.
type LimitError struct {
	What  string // changes, bytes, depth, path
	Limit int64
}

// Error names the bound.
func (e *LimitError) Error() string {
	return fmt.Sprintf("snapshot: the changes exceed the limit of %d %s; discard them, or raise the limit", e.Limit, e.What)
}

// RefusedError is a commit of changes of which some can't be committed. Nothing was.
type RefusedError struct{ Changes []Change }

// Error counts them.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("snapshot: %d changes can't be committed; nothing was", len(e.Changes))
}

// The reasons for which a path conflicts.
const (
	ConflictEdited   Reason = "edited"   // others wrote to it since the start
	ConflictAppeared Reason = "appeared" // others made something there
	ConflictGone     Reason = "gone"     // others removed it
	ConflictFolder   Reason = "folder"   // others made or removed entries of its folder, perhaps this one
	ConflictMoved    Reason = "moved"    // others moved its folder, or put a link in its place
	ConflictClock    Reason = "clock"    // the clock was set back, so times prove nothing
)

// Conflict is a path that others changed while the program ran.
type Conflict struct {
	Root   int
	Path   string
	Reason Reason
}

// ConflictError is a commit that others were in the way of. Nothing was committed and
// the layer is kept.
type ConflictError struct{ Conflicts []Conflict }

// Error counts them.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("snapshot: others changed %d of the paths since the start; nothing was committed", len(e.Conflicts))
}

// UnfinishedError is a commit that began and didn't end. Resume may finish it.
type UnfinishedError struct {
	Done, Of  int        // steps
	Conflicts []Conflict // what stood in the way, if others did
	Err       error      // what failed otherwise
}

// Error says how far the commit came.
func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("snapshot: the commit came to step %d of %d; resume it when what stands in its way is gone", e.Done, e.Of)
}

// Unwrap returns what failed, which may be nil.
func (e *UnfinishedError) Unwrap() error { return e.Err }
