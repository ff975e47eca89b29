package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Commit writes the changes to the roots, where they are those of the digest. ErrDigest,
// *RefusedError, *ConflictError and *LimitError mean that nothing was written.
// *UnfinishedError means that the commit began, so Resume it; ErrBegun that one had begun
// before; ErrBusy that another process is at it. After nil the layer holds nothing of use:
// Discard it when the outcome is recorded.
func (l *Layer) Commit(ctx context.Context, digest string, o CommitOptions) (Report, error) {
	unlock, err := l.lock()
	if err != nil {
		return Report{}, err
	}
	defer unlock()
	if state, err := l.State(); err != nil || state != StateOpen {
		return Report{}, errors.Join(err, ErrBegun)
	}
	j, err := l.decideCommit(ctx, digest, o)
	if err != nil {
		return Report{}, err
	}
	l.reachPoint("decided")
	if err := writeDurably(l.folder, journalName, encodeJournal(j)); err != nil {
		// The name may be there although it isn't durable.
		return Report{}, errors.Join(err, l.withdrawJournal())
	}
	l.reachPoint("journal")
	return newApplier(ctx, l, false).applyJournal(j)
}

// decideCommit lists the changes once more and plans their steps. What it returns is durable
// in the upper layer.
func (l *Layer) decideCommit(ctx context.Context, digest string, o CommitOptions) (journal, error) {
	changes, err := l.Changes(ctx)
	if err != nil {
		return journal{}, err
	}
	steps, conflicts, err := newPlanner(ctx, l).planSteps(changes.List)
	if err != nil {
		return journal{}, err
	}
	refused := changes.Refused()
	switch {
	// What others did changes the list too. The paths say more than another digest.
	case len(conflicts) > 0:
		return journal{}, &ConflictError{conflicts}
	case changes.Digest != digest:
		return journal{}, ErrDigest
	case len(refused) > 0 && !o.LeaveRefused:
		return journal{}, &RefusedError{refused}
	}
	if err := l.syncUpper(steps); err != nil {
		return journal{}, err
	}
	return journal{digest: digest, left: len(refused), steps: steps}, nil
}

// Resume ends a commit that was begun, in this process or in one that died. Errors:
// ErrNotBegun where there was none, so nothing was written; ErrJournal; *UnfinishedError
// where something still stands in the way.
func (l *Layer) Resume(ctx context.Context) (Report, error) {
	unlock, err := l.lock()
	if err != nil {
		return Report{}, err
	}
	defer unlock()
	state, err := l.State()
	if err != nil {
		return Report{}, err
	}
	if state == StateOpen {
		return Report{}, ErrNotBegun
	}
	raw, err := os.ReadFile(filepath.Join(l.folder, journalName))
	if err != nil {
		return Report{}, fmt.Errorf("%w: %w", ErrJournal, withoutPath(err))
	}
	j, err := decodeJournal(raw, len(l.meta.Roots))
	if err != nil {
		return Report{}, err
	}
	if state == StateCommitted {
		return summarizeJournal(j), nil
	}
	return newApplier(ctx, l, true).applyJournal(j)
}

// withdrawJournal takes a decision back of which no step was done.
func (l *Layer) withdrawJournal() error {
	err := os.Remove(filepath.Join(l.folder, journalName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("snapshot: take a decision back: %w", withoutPath(err))
	}
	return syncFolder(l.folder)
}

// manyFiles is from where on one flush of the whole file system is cheaper than one per
// file.
const manyFiles = 64

// syncUpper makes durable what will be moved, so that a commit after a power failure
// doesn't move empty files.
func (l *Layer) syncUpper(steps []step) error {
	files := map[int][]string{}
	total := 0
	for _, s := range steps {
		if s.Type == File || s.Type == Link {
			files[s.Root] = append(files[s.Root], s.Path)
			total++
		}
	}
	for i, paths := range files {
		upper, err := l.openUpper(i)
		if err != nil {
			return err
		}
		if total > manyFiles {
			err = unix.Syncfs(upper)
		} else {
			err = syncPaths(upper, paths)
		}
		closeDescriptor(upper)
		if err != nil {
			return fmt.Errorf("snapshot: flush the changes: %w", err)
		}
	}
	return nil
}

// syncRoots flushes every folder that steps wrote to.
func (l *Layer) syncRoots(steps []step) error {
	folders := map[int]map[string]bool{}
	for _, s := range steps {
		if folders[s.Root] == nil {
			folders[s.Root] = map[string]bool{}
		}
		folders[s.Root][path.Dir(s.Path)] = true
		if s.Type == Folder {
			folders[s.Root][s.Path] = true
		}
	}
	for i, list := range folders {
		root, err := l.openRoot(i)
		if err != nil {
			return err
		}
		err = syncFolders(root, list)
		closeDescriptor(root)
		if err != nil {
			return fmt.Errorf("snapshot: flush the roots: %w", err)
		}
	}
	return nil
}

func summarizeJournal(j journal) Report {
	r := Report{Digest: j.digest, Left: j.left}
	for _, s := range j.steps {
		switch s.Kind {
		case kept:
		case Deleted:
			r.Deleted++
		default:
			r.Written++
		}
	}
	return r
}
