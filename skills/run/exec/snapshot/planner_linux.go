package snapshot

import (
	"context"
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// planner finds for each change what the root has there, and who else changed it.
type planner struct {
	ctx         context.Context //nolint:containedctx // it lives as long as one planSteps
	layer       *Layer
	root, upper int // open folders of the root at hand
	index       int
	made        map[string]bool // folders that the commit makes
	modes       map[string]bool // folders whose permissions a step sets
	checked     map[string]bool // folders whose permissions were looked at
	newFolders  map[string]bool // folders of the root, and whether others changed them
	steps       []step
	conflicts   []Conflict
}

func newPlanner(ctx context.Context, l *Layer) *planner {
	return &planner{ctx: ctx, layer: l, root: -1, upper: -1, index: -1}
}

// planSteps returns the steps of a commit, or the conflicts. It is called once.
func (p *planner) planSteps(list []Change) ([]step, []Conflict, error) {
	defer p.close()
	if back, err := p.layer.meta.isClockBack(); err != nil || back {
		return nil, []Conflict{{Path: ".", Reason: ConflictClock}}, err
	}
	for _, c := range list {
		if err := p.ctx.Err(); err != nil {
			return nil, nil, err
		}
		if c.Refused != "" {
			continue
		}
		if err := p.enterRoot(c.Root); err != nil {
			return nil, nil, err
		}
		reason, err := p.planStep(c)
		if err != nil {
			return nil, nil, err
		}
		if reason != "" {
			p.conflicts = append(p.conflicts, Conflict{Root: c.Root, Path: c.Path, Reason: reason})
		}
		if len(p.conflicts) >= maxConflicts {
			break
		}
	}
	return p.steps, p.conflicts, nil
}

func (p *planner) close() {
	closeDescriptor(p.root)
	closeDescriptor(p.upper)
}

// enterRoot opens the root that the next changes are in.
func (p *planner) enterRoot(i int) (err error) {
	if i == p.index {
		return nil
	}
	p.close()
	p.root, p.upper, p.index = -1, -1, i
	p.made, p.modes, p.checked, p.newFolders = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	if p.root, err = p.layer.openRoot(i); err != nil {
		return err
	}
	p.upper, err = p.layer.openUpper(i)
	return err
}

// planStep adds the step of a change, or returns why it conflicts.
func (p *planner) planStep(c Change) (Reason, error) {
	s := step{Change: c}
	if err := p.lookAtUpper(&s); err != nil {
		return "", err
	}
	if p.made[path.Dir(c.Path)] {
		p.addStep(s)
		return "", nil
	}
	folder, name, err := openParent(p.root, c.Path)
	if err != nil {
		return p.explainParent(err)
	}
	defer closeDescriptor(folder)
	if c.Path == "." {
		return p.planRootItself(s, folder)
	}
	st, found, err := lookAtEntry(folder, name)
	if err != nil {
		return "", fmt.Errorf("snapshot: look at a root: %w", err)
	}
	var reason Reason
	if found {
		s.was = newSeen(st)
		reason, err = p.compareOld(c, folder, name, st)
	} else {
		reason, err = p.checkMissing(s, folder)
	}
	if err != nil || reason != "" {
		return reason, err
	}
	if moved, err := p.isFolderMoved(path.Dir(c.Path)); err != nil || moved {
		return ConflictMoved, err
	}
	p.keepModes(folder, path.Dir(c.Path))
	p.addStep(s)
	return "", nil
}

func (p *planner) addStep(s step) {
	if s.Type == Folder && s.Was != Folder {
		p.made[s.Path] = true
	}
	if s.Type == Folder {
		p.modes[s.Path] = true
	}
	p.steps = append(p.steps, s)
}

// explainParent tells a folder that others moved from one that can't be opened.
func (p *planner) explainParent(err error) (Reason, error) {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.EXDEV):
		return ConflictMoved, nil
	}
	return "", fmt.Errorf("snapshot: open a folder of the root: %w", err)
}

// lookAtUpper takes down which file of the upper layer the change is.
func (p *planner) lookAtUpper(s *step) error {
	if s.Type != File && s.Type != Link {
		return nil
	}
	folder, name, err := openParent(p.upper, s.Path)
	if err != nil {
		return fmt.Errorf("snapshot: open a changed folder: %w", err)
	}
	defer closeDescriptor(folder)
	st, found, err := lookAtEntry(folder, name)
	if err != nil || !found {
		return fmt.Errorf("snapshot: look at a change: %w", errors.Join(err, errChanged(found)))
	}
	s.upper = st.Ino
	return nil
}

func errChanged(found bool) error {
	if found {
		return nil
	}
	return ErrDigest
}

// planRootItself plans a change of the root folder by itself.
func (p *planner) planRootItself(s step, folder int) (Reason, error) {
	var st unix.Stat_t
	if err := unix.Fstat(folder, &st); err != nil {
		return "", fmt.Errorf("snapshot: look at a root: %w", err)
	}
	if p.isChangedSinceStart(st) && st.Ctim != st.Mtim {
		return ConflictEdited, nil
	}
	s.was = newSeen(st)
	p.addStep(s)
	return "", nil
}

// checkMissing checks a change where the root has nothing. Where its folder changed since
// the start, others may have removed something, which nothing would tell.
func (p *planner) checkMissing(s step, folder int) (Reason, error) {
	if s.Was != None || s.Kind == Deleted {
		return ConflictGone, nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(folder, &st); err != nil {
		return "", fmt.Errorf("snapshot: look at a folder of the root: %w", err)
	}
	if p.isChangedSinceStart(st) {
		return ConflictFolder, nil
	}
	return "", nil
}

// compareOld compares what is in the root with what was listed, and with the start.
func (p *planner) compareOld(c Change, folder int, name string, st unix.Stat_t) (Reason, error) {
	switch {
	case c.Was == None:
		return ConflictAppeared, nil
	case c.Was != entryTypeOf(st), p.isChangedSinceStart(st):
		return ConflictEdited, nil
	}
	if c.Was != Folder || c.Type == Folder {
		return "", nil
	}
	fd, err := openBeneath(folder, name, folderFlags)
	if err != nil {
		return p.explainParent(err)
	}
	defer closeDescriptor(fd)
	t, err := measureTree(p.ctx, fd, p.layer.meta.Limits, st.Dev, p.isChangedSinceStart)
	if err == nil && (t.newer || t.sum != c.Listing) {
		return ConflictEdited, nil
	}
	return "", err
}

// isFolderMoved reports whether others may have put another folder in the place of one on the way
// to rel. That changes both its own time and its parent's. So
// do entries that others make in both, which then looks the same.
func (p *planner) isFolderMoved(rel string) (bool, error) {
	if rel == "." {
		return false, nil
	}
	if moved, err := p.isFolderMoved(path.Dir(rel)); err != nil || moved {
		return moved, err
	}
	parent, err := p.isFolderChanged(path.Dir(rel))
	if err != nil || !parent {
		return false, err
	}
	return p.isFolderChanged(rel)
}

// isFolderChanged reports whether a folder of the root was changed since the start.
func (p *planner) isFolderChanged(rel string) (bool, error) {
	if known, there := p.newFolders[rel]; there {
		return known, nil
	}
	fd, err := openBeneath(p.root, rel, folderFlags)
	if err != nil {
		reason, err := p.explainParent(err)
		return reason != "", err
	}
	defer closeDescriptor(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, fmt.Errorf("snapshot: look at a folder of the root: %w", err)
	}
	p.newFolders[rel] = p.isChangedSinceStart(st)
	return p.newFolders[rel], nil
}

// keepModes adds a step that gives a folder its own permissions back, where the commit
// must open it for writing.
func (p *planner) keepModes(folder int, rel string) {
	var st unix.Stat_t
	if p.checked[rel] || unix.Fstat(folder, &st) != nil {
		return
	}
	p.checked[rel] = true
	if st.Mode&0o300 == 0o300 || p.modes[rel] {
		return
	}
	mode := st.Mode & 0o7777
	c := Change{Root: p.index, Path: rel, Kind: kept, Type: Folder, Was: Folder, Mode: mode, WasMode: mode}
	p.steps = append(p.steps, step{Change: c, was: newSeen(st)})
}

// isChangedSinceStart reports whether something was changed since the start.
func (p *planner) isChangedSinceStart(st unix.Stat_t) bool {
	return p.layer.meta.isChangedSinceStart(st)
}
