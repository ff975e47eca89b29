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
	open  []int            // those that begin with a pattern or a stem
}

func indexOf(list []place) *index {
	x := &index{list: list, first: map[string][]int{}}
	for i, pl := range list {
		if first := pl.at[0]; first == "*" || strings.HasSuffix(first, "…") {
			x.open = append(x.open, i)
		} else {
			x.first[first] = append(x.first[first], i)
		}
	}
	return x
}

// holds returns the signal of the first place that holds the path, or "".
// without, if not empty, is a signal whose places are passed over.
func (x *index) holds(parts []string, without string) string {
	if slices.ContainsFunc(parts, patterned) {
		return x.scan(parts, without) // a pattern may stand for any of the names
	}
	best := len(x.list)
	try := func(candidates []int) {
		for _, i := range candidates {
			if i >= best {
				return
			}
			if pl := &x.list[i]; (without == "" || pl.signal != without) && pl.holds(parts) {
				best = i
			}
		}
	}
	for _, p := range parts {
		try(x.first[p])
	}
	try(x.open)
	if best == len(x.list) {
		return ""
	}
	return x.list[best].signal
}

// scan tries all places in turn.
func (x *index) scan(parts []string, without string) string {
	for i := range x.list {
		if pl := &x.list[i]; (without == "" || pl.signal != without) && pl.holds(parts) {
			return pl.signal
		}
	}
	return ""
}

var (
	coreIndex    = indexOf(core)
	storesIndex  = indexOf(stores)
	watchedIndex = indexOf(watched)
	laterIndex   = indexOf(later)
	startupIndex = indexOf(startupAll)
	systemIndex  = indexOf(system)
	usersIndex   = indexOf(users)
	leavingIndex = indexOf(leaving)
)
