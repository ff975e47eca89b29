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

// Findings returns what a person should see of the changes. The files of a root are
// counted only where the percentage needs it, and only as far.
func (l *Layer) Findings(ctx context.Context, c *Changes, limit MaxDeleted) (Findings, error) {
	f, lost := sortFindings(c.List)
	inert, err := l.Inert(ctx, c)
	if err != nil {
		return f, err
	}
	f.RunsLater = slices.DeleteFunc(f.RunsLater, func(later Change) bool { return slices.Contains(inert, later) })
	bare, err := l.listBare(c)
	if err != nil {
		return f, err
	}
	steered, err := l.listSteered(ctx, c)
	if err != nil {
		return f, err
	}
	for _, one := range slices.Concat(bare, steered) {
		if !slices.Contains(f.RunsLater, one) {
			f.RunsLater = append(f.RunsLater, one)
		}
	}
	all := 0
	for i := range l.meta.Roots {
		if lost[i] == 0 {
			continue
		}
		all += lost[i]
		r := Removal{Root: i, Lost: lost[i]}
		if limit.Percent > 0 && limit.Percent < 100 {
			need := lost[i]*100/limit.Percent + 1
			of, err := l.countFiles(ctx, i, need)
			if err != nil {
				return f, err
			}
			r.Of, r.Least = of, of >= need
			f.TooMany = f.TooMany || r.Lost*100 > r.Of*limit.Percent
		}
		f.Removals = append(f.Removals, r)
	}
	f.TooMany = f.TooMany || all > limit.Files
	return f, l.addOverwritten(ctx, &f, c, lost, limit)
}

// Inert returns the changes that run nothing later though their names say so: of a
// repository that the program made itself the configuration, where it sets nothing that
// runs, and the samples of hooks. A clone needs no question for them.
func (l *Layer) Inert(ctx context.Context, c *Changes) ([]Change, error) {
	configs, out := newRepositories(c.List)
	for _, one := range configs {
		plain, err := l.isPlainConfig(ctx, one)
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
func (l *Layer) isPlainConfig(ctx context.Context, c Change) (bool, error) {
	upper, err := l.openUpper(c.Root)
	if err != nil {
		return false, err
	}
	defer closeFD(upper)
	fd, err := openBeneath(upper, c.Path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return false, nil // what can't be read asks
	}
	file := os.NewFile(uintptr(fd), "config")
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxGitConfig+1))
	if err != nil || ctx.Err() != nil {
		return false, ctx.Err()
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]) == c.SHA256 && isPlainGitConfig(string(text)), nil
}

// countFiles counts the files of a root up to enough.
func (l *Layer) countFiles(ctx context.Context, i, enough int) (int, error) {
	root, err := l.openRoot(i)
	if err != nil {
		return 0, err
	}
	defer closeFD(root)
	n := 0
	err = countBelow(ctx, root, enough, l.meta.Limits.Depth, &n)
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
		st, found, err := lookAt(fd, name)
		if err != nil || !found {
			continue
		}
		if typeOf(st) != Folder {
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
		closeFD(sub)
		if err != nil {
			return err
		}
	}
	return nil
}
