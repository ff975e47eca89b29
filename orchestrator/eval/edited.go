package eval

import "slices"

// NoteNew notes a result that stands in no row. A nil Earlier notes nothing.
func (e *Earlier) NoteNew(r Result) {
	if e == nil || r.Case.ID == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.anew[r.Case.ID]++
}

// Replaced returns, once every case was gone through, the places of the rows
// whose case was edited: no line has become of theirs, and another line of the
// same id was decided instead. Others are the rest of the rows without a line,
// which may be of cases that this run wasn't given. Nil has none.
func (e *Earlier) Replaced() (places []int, others int) {
	if e == nil {
		return nil, 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var left []int
	for _, list := range e.decided {
		for _, k := range list {
			left = append(left, k.at)
		}
	}
	for _, list := range e.errors {
		left = append(left, list...)
	}
	slices.Sort(left)
	for _, at := range left {
		id := e.rows[at].ID
		if e.anew[id] == 0 {
			others++
			continue
		}
		e.anew[id]--
		places = append(places, at)
	}
	return places, others
}
