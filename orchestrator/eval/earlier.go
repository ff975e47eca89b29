package eval

import (
	"slices"
	"sync"

	"github.com/vedette-dev/vedette/orchestrator/cases"
)

// Earlier are the results of an earlier run. An Evaluator that has them decides no line
// again that is in them. It is safe for concurrent use.
type Earlier struct {
	mu        sync.Mutex
	decided   map[string][]keptRow // by line
	errors    map[fault][]int      // places of rows
	rows      []Row
	unwritten map[string]int // results that are in no row, by id
}

// keptRow is a row and its place among the rows.
type keptRow struct {
	row Row
	at  int
}

// fault is a line that was no case. The line is read again, which costs nothing, and
// known by what was wrong with it.
type fault struct {
	id string
	cases.Error
}

// NewEarlier returns the Earlier of a file's rows. A line that stands in the
// cases more often than in the rows is decided for the rest.
func NewEarlier(rows []Row) *Earlier {
	e := &Earlier{decided: map[string][]keptRow{}, errors: map[fault][]int{}, rows: rows, unwritten: map[string]int{}}
	for i, w := range rows {
		switch {
		case w.Error != nil:
			f := fault{w.ID, *w.Error}
			e.errors[f] = append(e.errors[f], i)
		case w.Line != "":
			e.decided[w.Line] = append(e.decided[w.Line], keptRow{w, i})
		}
	}
	return e
}

// Has reports whether a result stands in the rows, once for each row. The caller
// that writes the other results leaves this one out. A nil Earlier has no results.
func (e *Earlier) Has(r Result) bool {
	if e == nil || r.Err == nil {
		return r.Resumed
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	f := fault{r.Case.ID, *r.Err}
	if len(e.errors[f]) == 0 {
		return false
	}
	e.errors[f] = e.errors[f][1:]
	return true
}

// takeRow returns the result of a line, once for each row. The line's digest holds
// its id too. Nil has none.
func (e *Earlier) takeRow(line string) (Result, bool) {
	if e == nil {
		return Result{}, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	left := e.decided[line]
	if len(left) == 0 {
		return Result{}, false
	}
	e.decided[line] = left[1:]
	return left[0].row.Result(), true
}

// NoteNew notes a result that stands in no row. A nil Earlier notes nothing.
func (e *Earlier) NoteNew(r Result) {
	if e == nil || r.Case.ID == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unwritten[r.Case.ID]++
}

// Replaced returns the places of the rows whose case was edited. It is called once
// every case was gone through: a row is replaced where its line didn't come, and
// another line of the same id was decided. Others are the rest of the rows without a
// line, which may be of cases that this run wasn't given. Nil has none.
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
		if e.unwritten[id] == 0 {
			others++
			continue
		}
		e.unwritten[id]--
		places = append(places, at)
	}
	return places, others
}
