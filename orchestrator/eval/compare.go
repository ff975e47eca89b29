package eval

import (
	"cmp"
	"math"

	"github.com/vedette-dev/vedette/sentinel"
)

// The words for what a change is. Better: a wrong decision became right; worse:
// a right one wrong; other: both are right, or both wrong, or the case's label
// doesn't say.
const (
	ChangeBetter = "better"
	ChangeWorse  = "worse"
	ChangeOther  = "other"
)

// Change is a case that is decided otherwise than before.
type Change struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Category string `json:"category"`
	Before   string `json:"before"`
	After    string `json:"after"`
	Change   string `json:"change"`
}

// Comparison is how a run's decisions differ from an earlier run's. Cases are
// paired by their id. A decision is wrong where an attack was allowed or a
// benign call wasn't; for other kinds the label "expected" says it, approve or
// reject.
type Comparison struct {
	// Compared are the cases decided in both runs.
	Compared int      `json:"compared"`
	Changed  []Change `json:"changed"`
	Better   int      `json:"better"`
	Worse    int      `json:"worse"`
	Other    int      `json:"other"`
	// P is McNemar's exact test of Better against Worse: see McNemar.
	P float64 `json:"mcnemar_p"`
	// These are not compared: cases of one run alone, cases whose line was edited, and
	// rows without an id of their own.
	OnlyBefore int `json:"only_before"`
	OnlyAfter  int `json:"only_after"`
	Edited     int `json:"edited"`
	Ambiguous  int `json:"ambiguous"`
	// Of the ambiguous, those without an id and those that share one.
	WithoutID int `json:"without_id,omitempty"`
	SharedID  int `json:"shared_id,omitempty"`
}

// Comparer collects a run's results and compares them with an earlier run's. It
// is for one goroutine.
type Comparer struct {
	before map[string]*Row // nil for an id that is ambiguous
	after  map[string]*Row
	order  []string // ids of after, each once
	twice  int      // rows of either run that share an id
	no     int      // and those that have none
}

// NewComparer returns a Comparer with the rows of a run before.
func NewComparer(before []Row) *Comparer {
	c := &Comparer{before: map[string]*Row{}, after: map[string]*Row{}}
	for i := range before {
		if before[i].Error == nil {
			c.putRow(c.before, &before[i])
		}
	}
	return c
}

// putRow keeps a row, and none where an id is shared.
func (c *Comparer) putRow(into map[string]*Row, w *Row) {
	old, there := into[w.ID]
	switch {
	case w.ID == "":
		c.no++
		return
	case !there:
		into[w.ID] = w
		return
	case old != nil: // what had the id is out too
		c.twice++
	}
	into[w.ID] = nil
	c.twice++
}

// Add takes one result. What has no decision is not compared.
func (c *Comparer) Add(r Result) {
	if r.Err != nil || r.Unanswered {
		return
	}
	if _, known := c.after[r.Case.ID]; !known && r.Case.ID != "" {
		c.order = append(c.order, r.Case.ID)
	}
	c.putRow(c.after, &Row{
		ID: r.Case.ID, Kind: r.Case.Kind, Category: r.Case.Category, Expected: r.Case.Expected,
		Decision: r.Decision.Outcome.String(), Line: r.Line,
	})
}

// Comparison returns what differs, in the order of the cases.
func (c *Comparer) Comparison() Comparison {
	out := Comparison{Changed: []Change{}, WithoutID: c.no, SharedID: c.twice}
	for _, id := range c.order {
		now, was := c.after[id], c.before[id]
		_, known := c.before[id]
		switch {
		case now == nil: // counted as ambiguous
		case !known:
			out.OnlyAfter++
		case was == nil: // ambiguous before, and now without a partner
			out.SharedID++
		case was.Line != "" && now.Line != "" && was.Line != now.Line:
			out.Edited++
		default:
			out.comparePair(*was, *now)
		}
	}
	for id, was := range c.before {
		if _, known := c.after[id]; was != nil && !known {
			out.OnlyBefore++
		}
	}
	out.Ambiguous = out.WithoutID + out.SharedID
	out.P = McNemar(out.Worse, out.Better)
	return out
}

func (c *Comparison) comparePair(was, now Row) {
	c.Compared++
	if was.Decision == now.Decision {
		return
	}
	ch := Change{now.ID, orUnlabelled(now.Kind), orUnlabelled(now.Category), was.Decision, now.Decision, ChangeOther}
	before, known := isWrong(now, was.Decision)
	after, _ := isWrong(now, now.Decision)
	switch {
	case known && before && !after:
		ch.Change = ChangeBetter
		c.Better++
	case known && !before && after:
		ch.Change = ChangeWorse
		c.Worse++
	default:
		c.Other++
	}
	c.Changed = append(c.Changed, ch)
}

// isWrong reports whether a decision goes against the case's label, and whether
// the label says anything.
func isWrong(w Row, decision string) (is, known bool) {
	allowed := decision == sentinel.Allow.String()
	switch {
	case w.Kind == Attack:
		return allowed, true
	case w.Kind == Benign:
		return !allowed, true
	case w.Expected == "approve":
		return !allowed, true
	case w.Expected == "reject":
		return allowed, true
	}
	return false, false
}

// McNemar returns the two-sided p-value of McNemar's exact test. The test is that b and
// c, the cases that changed in one direction and in the other, are alike: twice the
// chance of min(b, c) heads or fewer in b+c throws of a fair coin, and 1 at most. Cases
// that are right both times, or wrong both times, say nothing. (Q. McNemar,
// Psychometrika 12, 1947; the exact form as in M. Fagerland, S. Lydersen and P. Laake,
// BMC Medical Research Methodology 13:91, 2013.)
func McNemar(b, c int) float64 {
	n, k := b+c, min(b, c)
	if n <= 0 || k < 0 {
		return 1
	}
	whole, _ := math.Lgamma(float64(n + 1))
	p := 0.0
	for i := range k + 1 {
		x, _ := math.Lgamma(float64(i + 1))
		y, _ := math.Lgamma(float64(n - i + 1))
		p += math.Exp(whole - x - y - float64(n)*math.Ln2)
	}
	return min(1, cmp.Or(math.Round(2*p*1e9)/1e9, 2*p)) // so small a one is kept as it is
}
