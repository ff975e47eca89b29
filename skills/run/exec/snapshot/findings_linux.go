package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// examiner finds what a person should see of the changes in a layer.
type examiner struct {
	ctx   context.Context //nolint:containedctx // it lives as long as one Findings or Inert
	layer *Layer
	list  []Change
}

// listFindings returns what a person should see. The examiner counts the files of a root
// only where the percentage needs it, and only as far.
func (e *examiner) listFindings(limit MaxDeleted) (Findings, error) {
	f, lost := sortFindings(e.list)
	inert, err := e.listInert()
	if err != nil {
		return f, err
	}
	f.RunsLater = slices.DeleteFunc(f.RunsLater, func(later Change) bool { return slices.Contains(inert, later) })
	bare, err := e.listBareRepositories()
	if err != nil {
		return f, err
	}
	steered, err := e.listSteered()
	if err != nil {
		return f, err
	}
	for _, one := range slices.Concat(bare, steered) {
		if !slices.Contains(f.RunsLater, one) {
			f.RunsLater = append(f.RunsLater, one)
		}
	}
	all := 0
	for i := range e.layer.meta.Roots {
		if lost[i] == 0 {
			continue
		}
		all += lost[i]
		r := Removal{Root: i, Lost: lost[i]}
		if limit.Percent > 0 && limit.Percent < 100 {
			need := lost[i]*100/limit.Percent + 1
			of, err := e.countFiles(i, need)
			if err != nil {
				return f, err
			}
			r.Of, r.Least = of, of >= need
			f.TooMany = f.TooMany || r.Lost*100 > r.Of*limit.Percent
		}
		f.Removals = append(f.Removals, r)
	}
	f.TooMany = f.TooMany || all > limit.Files
	return f, e.addOverwritten(&f, lost, limit)
}

// listInert returns the changes that run nothing later though their names say so.
func (e *examiner) listInert() ([]Change, error) {
	configs, out := newRepositories(e.list)
	for _, one := range configs {
		plain, err := e.isPlainConfig(one)
		if err != nil {
			return nil, err
		}
		if plain {
			out = append(out, one)
		}
	}
	return out, nil
}

// isPlainConfig reads the file that a change made. Content that isn't the change's is not
// plain.
func (e *examiner) isPlainConfig(c Change) (bool, error) {
	upper, err := e.layer.openUpper(c.Root)
	if err != nil {
		return false, err
	}
	defer closeDescriptor(upper)
	fd, err := openBeneath(upper, c.Path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return false, nil // what can't be read asks
	}
	file := os.NewFile(uintptr(fd), "config")
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxGitConfig+1))
	if err != nil || e.ctx.Err() != nil {
		return false, e.ctx.Err()
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]) == c.SHA256 && isPlainGitConfig(string(text)), nil
}

// countFiles counts the files of a root up to enough.
func (e *examiner) countFiles(i, enough int) (int, error) {
	root, err := e.layer.openRoot(i)
	if err != nil {
		return 0, err
	}
	defer closeDescriptor(root)
	n := 0
	err = countBelow(e.ctx, root, enough, e.layer.meta.Limits.Depth, &n)
	return n, err
}

func countBelow(ctx context.Context, fd, enough, depth int, n *int) error {
	names, err := listNames(fd, 1<<24)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if *n >= enough {
			return nil
		}
		st, found, err := lookAtEntry(fd, name)
		if err != nil || !found {
			continue
		}
		if entryTypeOf(st) != Folder {
			*n++
			continue
		}
		if depth == 0 {
			continue
		}
		sub, err := openBeneath(fd, name, folderFlags)
		if err != nil {
			continue // what can't be entered doesn't count, which asks sooner
		}
		err = countBelow(ctx, sub, enough, depth-1, n)
		closeDescriptor(sub)
		if err != nil {
			return err
		}
	}
	return nil
}
