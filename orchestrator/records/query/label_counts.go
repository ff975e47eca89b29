package query

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// LabelCounts count decisions by what reviewers hold of them. Labelled are those that all their reviewers hold to
// be the same: right, too strict (a false alarm), or too lax. The others are left out of it.
type LabelCounts struct {
	Labelled  int64 `json:"labelled"`
	Right     int64 `json:"right"`
	TooStrict int64 `json:"too_strict"`
	TooLax    int64 `json:"too_lax"`
	Disputed  int64 `json:"disputed"`
	Unsure    int64 `json:"unsure"`
}

// ReadLabels has the statistics count what reviewers said of the decisions that are added from now on.
func (s *Statistics) ReadLabels(ctx context.Context, r *store.Reader) (err error) {
	s.opinions, err = label.ReadOpinions(ctx, r)
	return err
}

// addOpinion counts what reviewers hold of a decision.
func (s *Statistics) addOpinion(r *ledger.Record) {
	o, ok := s.opinions[r.ID]
	if !ok {
		return
	}
	c := s.Labels[o.Decided]
	if c == nil {
		c = &LabelCounts{}
		s.Labels[o.Decided] = c
	}
	switch o.Class {
	case label.ClassDisputed:
		c.Disputed++
		return
	case label.ClassUnsure:
		c.Unsure++
		return
	case label.ClassRight:
		c.Right++
	case label.ClassTooStrict:
		c.TooStrict++
	case label.ClassTooLax:
		c.TooLax++
	}
	c.Labelled++
}

// labelsTable is the table of what reviewers said.
func (s *Statistics) labelsTable(colour bool) *terminal.Table {
	right := map[int]bool{}
	for i := range 6 {
		right[i+1] = true
	}
	t := &terminal.Table{Colour: colour, Right: right}
	if len(s.Labels) > 0 {
		t.Add("  decided", "labelled", "right", "too strict", "too lax", "disputed", "unsure", "false alarms")
	}
	for _, decided := range slices.Sorted(maps.Keys(s.Labels)) {
		c := s.Labels[decided]
		cells := []string{"  " + decided}
		for _, n := range []int64{c.Labelled, c.Right, c.TooStrict, c.TooLax, c.Disputed, c.Unsure} {
			cells = append(cells, strconv.FormatInt(n, 10))
		}
		t.Add(append(cells, describeShare(c.TooStrict, c.Labelled))...)
	}
	return t
}

// describeShare says a share with how many it is of.
func describeShare(n, of int64) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%% of %d", 100*float64(n)/float64(of), of)
}
