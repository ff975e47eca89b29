package snapshot

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

// applier does the steps of a journal. Each step can be done again after a kill at any
// point of it. What is on both sides tells how far it came.
type applier struct {
	ctx   context.Context //nolint:containedctx // it lives as long as one applyJournal
	layer *Layer
	redo  bool
	roots map[int]int // open folders
	upper map[int]int
	wrote bool // something in a root was changed
}

// stepConflict is a step that others are in the way of.
type stepConflict struct{ reason Reason }

// Error names the reason.
func (e *stepConflict) Error() string { return "snapshot: others changed a path: " + string(e.reason) }

// action is one thing that a step needs.
type action struct {
	step  step
	index int
	do    func(step, int) error
}

// listActions returns the actions of a journal in their order. Writing comes first, then
// removing, then the permissions of folders, the deepest first.
func (a *applier) listActions(steps []step) []action {
	var out []action
	for i, s := range steps {
		if s.Kind != Deleted {
			out = append(out, action{s, i, a.placeStep})
		}
	}
	for i, s := range steps {
		if s.Kind == Deleted || s.displacesOld() {
			out = append(out, action{s, i, a.removeStep})
		}
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Type == Folder {
			out = append(out, action{steps[i], i, a.finishFolder})
		}
	}
	return out
}

// newApplier returns an applier. A cancelled ctx doesn't stop it half way. redo says that
// an earlier process may have done a part.
func newApplier(ctx context.Context, l *Layer, redo bool) *applier {
	return &applier{ctx: context.WithoutCancel(ctx), layer: l, redo: redo, roots: map[int]int{}, upper: map[int]int{}}
}

// applyJournal does all that a journal needs. It is called once.
func (a *applier) applyJournal(j journal) (Report, error) {
	defer a.close()
	list := a.listActions(j.steps)
	for i, one := range list {
		if err := one.do(one.step, one.index); err != nil {
			return Report{}, a.explainFailure(&UnfinishedError{Done: i, Of: len(list), Err: err}, one.step)
		}
	}
	err := a.layer.syncRoots(j.steps)
	if err == nil {
		a.layer.reachPoint("synced")
		err = writeDurably(a.layer.folder, doneName, []byte(j.digest+"\n"))
	}
	if err != nil {
		return Report{}, &UnfinishedError{Done: len(list), Of: len(list), Err: err}
	}
	return summarizeJournal(j), nil
}

// explainFailure tells a conflict from a failure. Where nothing was written yet, the
// decision is taken back, and a conflict is one like any other.
func (a *applier) explainFailure(u *UnfinishedError, s step) error {
	var conflict *stepConflict
	if !errors.As(u.Err, &conflict) {
		return u
	}
	u.Err, u.Conflicts = nil, []Conflict{{Root: s.Root, Path: s.Path, Reason: conflict.reason}}
	if a.redo || a.wrote || a.layer.withdrawJournal() != nil {
		return u
	}
	return &ConflictError{u.Conflicts}
}

func (a *applier) close() {
	for _, m := range []map[int]int{a.roots, a.upper} {
		for _, fd := range m {
			closeDescriptor(fd)
		}
	}
}

// openFolders returns the root and the upper layer of a step.
func (a *applier) openFolders(i int) (root, upper int, err error) {
	if fd, there := a.roots[i]; there {
		return fd, a.upper[i], nil
	}
	if root, err = a.layer.openRoot(i); err != nil {
		return -1, -1, err
	}
	if upper, err = a.layer.openUpper(i); err != nil {
		closeDescriptor(root)
		return -1, -1, err
	}
	a.roots[i], a.upper[i] = root, upper
	return root, upper, nil
}

// asideName and goneName name what was at a path before. The first is its name until the
// applier looked at it, the second from then on. A copy that isn't complete is called by
// copyName. All lie beside the path.
func (a *applier) asideName(p place) string { return a.nameBeside(p, "aside") }
func (a *applier) goneName(p place) string  { return a.nameBeside(p, "gone") }
func (a *applier) copyName(p place) string  { return a.nameBeside(p, "new") }

func (a *applier) nameBeside(p place, what string) string {
	return ".vedette-" + a.layer.id + "-" + strconv.Itoa(p.index) + "." + what
}

// placeStep writes what a step makes or changes.
func (a *applier) placeStep(s step, index int) error {
	if s.Kind == kept || s.Type == Folder && s.Was == Folder {
		return a.openFolder(s)
	}
	a.layer.reachPoint("place")
	p, err := a.enterPlace(s, index)
	if err != nil {
		return err
	}
	defer p.close()
	if s.Type == Folder {
		return a.makeFolder(p)
	}
	return a.placeFile(p)
}

// openFolder lets the owner write to a folder of the root; finishFolder sets the
// permissions that it shall have.
func (a *applier) openFolder(s step) error {
	root, _, err := a.openFolders(s.Root)
	if err != nil {
		return err
	}
	fd, err := openBeneath(root, s.Path, folderFlags)
	if err != nil {
		return explainMoved(err)
	}
	defer closeDescriptor(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("snapshot: look at a folder of the root: %w", err)
	}
	if st.Ino != s.was.ino {
		return &stepConflict{ConflictMoved}
	}
	if st.Mode&0o700 == 0o700 {
		return nil
	}
	a.wrote = true
	if err := unix.Fchmod(fd, st.Mode&0o7777|0o700); err != nil {
		return fmt.Errorf("snapshot: open a folder for its owner: %w", err)
	}
	return nil
}

// makeFolder makes a folder that its owner alone can enter until it is complete.
func (a *applier) makeFolder(p place) error {
	st, found, err := lookAtEntry(p.folder, p.name)
	if err != nil {
		return fmt.Errorf("snapshot: look at a root: %w", err)
	}
	if found && entryTypeOf(st) == Folder && a.redo {
		return nil
	}
	if p.Was != None {
		if err := a.putPathAside(p); err != nil {
			return err
		}
		a.layer.reachPoint("aside")
	}
	err = unix.Mkdirat(p.folder, p.name, 0o700)
	if errors.Is(err, unix.EEXIST) {
		return &stepConflict{ConflictAppeared}
	}
	if err != nil {
		return fmt.Errorf("snapshot: make a folder: %w", err)
	}
	a.wrote = true
	return nil
}

// removeStep removes what a step deletes, or what stood in the place of something of
// another type.
func (a *applier) removeStep(s step, index int) error {
	a.layer.reachPoint("remove")
	p, err := a.enterPlace(s, index)
	if err != nil {
		return err
	}
	defer p.close()
	if s.Kind == Deleted {
		if err := a.putPathAside(p); err != nil {
			return err
		}
	}
	a.layer.reachPoint("gone")
	return removeTree(p.folder, a.goneName(p))
}

// putPathAside takes what is at a path out of the way, if it is what was listed. It can be
// done again: what is aside was moved, and what is gone was also looked at.
func (a *applier) putPathAside(p place) error {
	aside, gone := a.asideName(p), a.goneName(p)
	if _, found, err := lookAtEntry(p.folder, gone); err != nil || found {
		return err
	}
	_, moved, err := lookAtEntry(p.folder, aside)
	if err != nil {
		return fmt.Errorf("snapshot: look at a root: %w", err)
	}
	if !moved {
		st, found, err := lookAtEntry(p.folder, p.name)
		switch {
		case err != nil:
			return fmt.Errorf("snapshot: look at a root: %w", err)
		case !found && a.redo:
			return nil // it was removed before
		case !found:
			return &stepConflict{ConflictGone}
		case newSeen(st) != p.was:
			return &stepConflict{ConflictEdited}
		}
		a.layer.reachPoint("take")
		if err := unix.Renameat2(p.folder, p.name, p.folder, aside, unix.RENAME_NOREPLACE); err != nil {
			return fmt.Errorf("snapshot: put a path aside: %w", err)
		}
	}
	a.layer.reachPoint("moved")
	if ok, err := a.isAsListed(p, aside); err != nil || !ok {
		if e := unix.Renameat2(p.folder, aside, p.folder, p.name, unix.RENAME_NOREPLACE); e != nil {
			a.wrote = true
		}
		if err == nil {
			err = &stepConflict{ConflictEdited}
		}
		return err
	}
	a.wrote = true
	if err := unix.Renameat2(p.folder, aside, p.folder, gone, unix.RENAME_NOREPLACE); err != nil {
		return fmt.Errorf("snapshot: put a path aside: %w", err)
	}
	return nil
}

// isAsListed reports whether what was moved is what was listed, down to its last file.
func (a *applier) isAsListed(p place, name string) (bool, error) {
	st, found, err := lookAtEntry(p.folder, name)
	if err != nil || !found || st.Ino != p.was.ino || entryTypeOf(st) == File && st.Size != p.WasSize {
		return false, err
	}
	if entryTypeOf(st) != Folder {
		return true, nil
	}
	fd, err := openBeneath(p.folder, name, folderFlags)
	if err != nil {
		return false, fmt.Errorf("snapshot: open a folder that is gone: %w", err)
	}
	defer closeDescriptor(fd)
	t, err := measureTree(a.ctx, fd, a.layer.meta.Limits, st.Dev, a.layer.meta.isChangedSinceStart)
	return err == nil && !t.newer && t.sum == p.Listing, err
}

// finishFolder gives a folder its permissions and attributes.
func (a *applier) finishFolder(s step, _ int) error {
	a.layer.reachPoint("finish")
	root, upper, err := a.openFolders(s.Root)
	if err != nil {
		return err
	}
	fd, err := openBeneath(root, s.Path, folderFlags)
	if err != nil {
		return explainMoved(err)
	}
	defer closeDescriptor(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("snapshot: look at a folder of the root: %w", err)
	}
	if s.Was == Folder && st.Ino != s.was.ino {
		return &stepConflict{ConflictMoved}
	}
	if s.Kind != kept && path.Clean(s.Path) != "." {
		from, err := openBeneath(upper, s.Path, folderFlags)
		if err != nil {
			return fmt.Errorf("snapshot: open a changed folder: %w", err)
		}
		err = errors.Join(unix.Fchmod(fd, s.Mode|0o700), copyAttrs(from, fd))
		closeDescriptor(from)
		if err != nil {
			return fmt.Errorf("snapshot: set attributes of a folder: %w", err)
		}
	}
	if err := unix.Fchmod(fd, s.Mode); err != nil {
		return fmt.Errorf("snapshot: set permissions: %w", err)
	}
	return nil
}
