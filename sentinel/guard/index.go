package guard

import (
	"slices"
	"strings"
)

// index finds the places of a list that may hold a path without trying each:
// most paths have no component that any place begins with. It gives what a
// search from the list's beginning gives, and is never changed once made.
type index struct {
	list  []place
	first map[string][]int // places by the name they begin with
	// lengths are, by the first byte of such a name, the lengths that names have.
	lengths [256]uint32
	open    []int // those that begin with a pattern or a stem
}

// maxLength is the length from which on names count as equally long.
const maxLength = 31

func newIndex(list []place) *index {
	x := &index{list: list, first: map[string][]int{}}
	for i, pl := range list {
		if first := pl.at[0]; first == "*" || strings.HasSuffix(first, "…") {
			x.open = append(x.open, i)
		} else {
			x.first[first] = append(x.first[first], i)
			x.lengths[first[0]] |= 1 << min(len(first), maxLength)
		}
	}
	return x
}

// findSignal returns the signal of the first place that holds the path, or "".
// without, if not empty, is a signal whose places are passed over.
func (x *index) findSignal(parts []string, without string) string {
	if slices.ContainsFunc(parts, isPattern) {
		return x.tryEachPlace(parts, without) // a pattern may stand for any of the names
	}
	best := len(x.list)
	try := func(candidates []int) {
		for _, i := range candidates {
			if i >= best {
				return
			}
			if pl := &x.list[i]; (without == "" || pl.signal != without) && pl.holdsPath(parts) {
				best = i
			}
		}
	}
	for _, p := range parts {
		if p != "" && x.lengths[p[0]]>>min(len(p), maxLength)&1 != 0 {
			try(x.first[p])
		}
	}
	try(x.open)
	if best == len(x.list) {
		return ""
	}
	return x.list[best].signal
}

// tryEachPlace tries all places in turn.
func (x *index) tryEachPlace(parts []string, without string) string {
	for i := range x.list {
		if pl := &x.list[i]; (without == "" || pl.signal != without) && pl.holdsPath(parts) {
			return pl.signal
		}
	}
	return ""
}

var (
	coreIndex    = newIndex(core)
	storesIndex  = newIndex(stores)
	watchedIndex = newIndex(watched)
	laterIndex   = newIndex(later)
	startupIndex = newIndex(startupAll)
	systemIndex  = newIndex(system)
	usersIndex   = newIndex(users)
	leavingIndex = newIndex(leaving)
)
