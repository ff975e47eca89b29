package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/vedette-dev/vedette/orchestrator/eval"
)

// takenOut are the rows that --retry-unjudged took out of the file of results, until
// their cases are decided again.
type takenOut struct {
	rows  []eval.Row
	lines [][]byte
}

// done notes that a case was decided again, or another of its id in its place.
func (t *takenOut) done(res eval.Result) {
	i := slices.IndexFunc(t.rows, func(w eval.Row) bool {
		return w.Line == res.Line && w.Line != "" || w.ID == res.Case.ID && w.ID != ""
	})
	if i >= 0 {
		t.rows, t.lines = slices.Delete(t.rows, i, i+1), slices.Delete(t.lines, i, i+1)
	}
}

// retry takes the rows out that say nothing of their case, so that it is decided
// again.
func (r *results) retry() error {
	var places []int
	var rest []eval.Row
	for i, w := range r.rows {
		if w.Review.NotJudged() != "" {
			places = append(places, i)
			r.taken.rows = append(r.taken.rows, w)
		} else {
			rest = append(rest, w)
		}
	}
	var err error
	if r.taken.lines, err = linesAt(r.f, places); err != nil {
		return fmt.Errorf("%s can't be read: %w", r.name, cause(err))
	}
	if err := r.drop(places); err != nil {
		r.taken = takenOut{} // they are where they were
		return err
	}
	r.rows, r.earlier = rest, eval.NewEarlier(rest)
	return nil
}

// putBack writes the rows again that were taken out and whose cases this run didn't
// come to. What a run that is killed doesn't put back is decided by the next.
func (r *results) putBack() error {
	for _, line := range r.taken.lines {
		if _, err := r.f.Write(line); err != nil {
			return fmt.Errorf("%s can't be written: %w", r.name, cause(err))
		}
	}
	r.taken = takenOut{}
	return nil
}

// linesAt reads lines of a file by their places, which are in order.
func linesAt(f *os.File, places []int) ([][]byte, error) {
	if err := seek(f, 0); err != nil {
		return nil, err
	}
	var out [][]byte
	in := bufio.NewReaderSize(f, 64<<10)
	for n := 0; len(out) < len(places); n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		if n == places[len(out)] {
			out = append(out, line)
		}
	}
	return out, nil
}
