package snapshot

import (
	"context"
)

// minOverwritten is from how many files of a root on their share counts where some of them
// were written over: a program that writes its one or two results again destroys nothing.
const minOverwritten = 3

// isOverwrite reports whether a change may leave nothing of a file's old content. What is
// counted as lost for its size is none.
func isOverwrite(c Change) bool {
	return c.Kind == Changed && c.Type == File && c.Was == File && c.WasSize > 0 && c.Lost == 0 && c.Refused == ""
}

// addOverwritten adds the files that were written over, where with what is lost they may be
// too many. Contents are read for nothing else.
func (l *Layer) addOverwritten(ctx context.Context, f *Findings, c *Changes, lost map[int]int, limit MaxDeleted) error {
	maybe := map[int]int{}
	for _, one := range c.List {
		if isOverwrite(one) {
			maybe[one.Root]++
		}
	}
	if many, err := l.isTooMany(ctx, lost, maybe, limit); err != nil || !many {
		return err
	}
	over := map[int]int{}
	for i := range l.meta.Roots {
		list, err := l.findOverwritten(ctx, i, c.List)
		if err != nil {
			return err
		}
		f.Overwritten = append(f.Overwritten, list...)
		over[i] = len(list)
	}
	many, err := l.isTooMany(ctx, lost, over, limit)
	f.TooMany = f.TooMany || many
	return err
}

// isTooMany reports whether files that are written over are too many together with what is
// lost. The maps count by root.
func (l *Layer) isTooMany(ctx context.Context, lost, over map[int]int, limit MaxDeleted) (bool, error) {
	all, written := 0, 0
	for i := range l.meta.Roots {
		all, written = all+lost[i]+over[i], written+over[i]
	}
	if written > 0 && all > limit.Files {
		return true, nil
	}
	if limit.Percent <= 0 || limit.Percent >= 100 {
		return false, nil
	}
	for i := range l.meta.Roots {
		gone := lost[i] + over[i]
		if over[i] == 0 || gone < minOverwritten {
			continue
		}
		of, err := l.countFiles(ctx, i, gone*100/limit.Percent+1)
		if err != nil || gone*100 > of*limit.Percent {
			return err == nil, err
		}
	}
	return false, nil
}

// findOverwritten returns the files of one root that keep little of their old content.
func (l *Layer) findOverwritten(ctx context.Context, root int, list []Change) (out []Change, err error) {
	upper, err := l.openUpper(root)
	if err != nil {
		return nil, err
	}
	defer closeFD(upper)
	lower, err := l.openRoot(root)
	if err != nil {
		return nil, err
	}
	defer closeFD(lower)
	for _, c := range list {
		if c.Root != root || !isOverwrite(c) {
			continue
		}
		little, err := compareContents(ctx, lower, upper, c)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil || little { // what can't be compared counts
			out = append(out, c)
		}
	}
	return out, nil
}
