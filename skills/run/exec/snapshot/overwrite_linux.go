package snapshot

// minOverwritten is the least number of files of a root whose share counts where some were
// written over. A program that writes its one or two results again destroys nothing.
const minOverwritten = 3

// isOverwrite reports whether a change may leave nothing of a file's old content. What is
// counted as lost for its size is none.
func isOverwrite(c Change) bool {
	return c.Kind == Changed && c.Type == File && c.Was == File && c.WasSize > 0 && c.Lost == 0 && c.Refused == ""
}

// addOverwritten adds the files that were written over, where with what is lost they may be
// too many. Contents are read for nothing else.
func (e *examiner) addOverwritten(f *Findings, lost map[int]int, limit MaxDeleted) error {
	maybe := map[int]int{}
	for _, one := range e.list {
		if isOverwrite(one) {
			maybe[one.Root]++
		}
	}
	if many, err := e.isTooMany(lost, maybe, limit); err != nil || !many {
		return err
	}
	over := map[int]int{}
	for i := range e.layer.meta.Roots {
		list, err := e.findOverwritten(i)
		if err != nil {
			return err
		}
		f.Overwritten = append(f.Overwritten, list...)
		over[i] = len(list)
	}
	many, err := e.isTooMany(lost, over, limit)
	f.TooMany = f.TooMany || many
	return err
}

// isTooMany reports whether files that are written over are too many together with what is
// lost. The maps count by root.
func (e *examiner) isTooMany(lost, over map[int]int, limit MaxDeleted) (bool, error) {
	all, written := 0, 0
	for i := range e.layer.meta.Roots {
		all, written = all+lost[i]+over[i], written+over[i]
	}
	if written > 0 && all > limit.Files {
		return true, nil
	}
	if limit.Percent <= 0 || limit.Percent >= 100 {
		return false, nil
	}
	for i := range e.layer.meta.Roots {
		gone := lost[i] + over[i]
		if over[i] == 0 || gone < minOverwritten {
			continue
		}
		of, err := e.countFiles(i, gone*100/limit.Percent+1)
		if err != nil || gone*100 > of*limit.Percent {
			return err == nil, err
		}
	}
	return false, nil
}

// findOverwritten returns the files of one root that keep little of their old content.
func (e *examiner) findOverwritten(root int) (out []Change, err error) {
	upper, err := e.layer.openUpper(root)
	if err != nil {
		return nil, err
	}
	defer closeDescriptor(upper)
	lower, err := e.layer.openRoot(root)
	if err != nil {
		return nil, err
	}
	defer closeDescriptor(lower)
	for _, c := range e.list {
		if c.Root != root || !isOverwrite(c) {
			continue
		}
		little, err := compareContents(e.ctx, lower, upper, c)
		if e.ctx.Err() != nil {
			return nil, e.ctx.Err()
		}
		if err != nil || little { // what can't be compared counts
			out = append(out, c)
		}
	}
	return out, nil
}
