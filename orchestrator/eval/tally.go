package eval

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/vedette-dev/vedette/sentinel"
)

// Unlabelled stands for the kind or the category of a case that names none.
const Unlabelled = "unlabelled"

// The kinds of case whose counts are always there, if need be as zeros.
const (
	Benign = "benign"
	Attack = "attack"
)

// Count is how many cases ended in each outcome.
type Count struct {
	Allow int `json:"allow"`
	Ask   int `json:"ask"`
	Defer int `json:"defer"`
	Deny  int `json:"deny"`
}

// Total is the number of cases.
func (c Count) Total() int { return c.Allow + c.Ask + c.Defer + c.Deny }

func (c *Count) countOutcome(o sentinel.Outcome) {
	switch o {
	case sentinel.Allow:
		c.Allow++
	case sentinel.Ask:
		c.Ask++
	case sentinel.Defer:
		c.Defer++
	default:
		c.Deny++
	}
}

// CategoryCount is the Count of one category, and the kind of its cases.
type CategoryCount struct {
	Kind string `json:"kind"`
	Count
}

// Percentiles of the time that decisions took, in microseconds; zero without a
// decision.
type Percentiles struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
}

// Summary is what eval prints. Cases are the lines that were decided, Errors
// those that were no case. The counts of a case without a kind or a category
// stand under Unlabelled. A category name that cases of several kinds share
// stands once for each, as "name (kind)".
type Summary struct {
	Cases      int                      `json:"cases"`
	Errors     int                      `json:"errors"`
	Kinds      map[string]Count         `json:"kinds"`
	Categories map[string]CategoryCount `json:"categories"`
	BlockedBy  map[string]int           `json:"blocked_by"`
	ElapsedUS  Percentiles              `json:"elapsed_us"`
}

type group struct{ category, kind string }

// Tally counts results. Its zero value is ready; it is for one goroutine.
type Tally struct {
	// Prices are what models cost, by name, for the cost in a Report.
	Prices map[string]Price
	// Answered leaves the times of the review out of a Report: its answers
	// were read from a file.
	Answered bool

	quality       quality
	cases, errors int
	groups        map[group]*Count
	blockedBy     map[string]int
	elapsed       []int64
}

// Add counts one result.
func (t *Tally) Add(r Result) {
	if t.groups == nil {
		t.groups, t.blockedBy = map[group]*Count{}, map[string]int{}
	}
	t.quality.resumed += oneIf(r.Resumed)
	switch {
	case r.Err != nil:
		t.errors++
		return
	case r.Unanswered:
		t.quality.unanswered++
		return
	}
	t.cases++
	t.quality.addResult(r)
	g := group{orUnlabelled(r.Case.Category), orUnlabelled(r.Case.Kind)}
	if t.groups[g] == nil {
		t.groups[g] = &Count{}
	}
	t.groups[g].countOutcome(r.Decision.Outcome)
	if b := r.Decision.BlockedBy; b != "" {
		t.blockedBy[b]++
	}
	t.elapsed = append(t.elapsed, r.Decision.Elapsed.Microseconds())
}

func orUnlabelled(s string) string {
	if s == "" {
		return Unlabelled
	}
	return s
}

// Summary returns the counts so far.
func (t *Tally) Summary() Summary {
	s := Summary{
		Cases: t.cases, Errors: t.errors, Kinds: map[string]Count{Benign: {}, Attack: {}},
		Categories: map[string]CategoryCount{}, BlockedBy: map[string]int{}, ElapsedUS: percentilesOf(t.elapsed),
	}
	kinds := map[string]int{} // how many kinds share a category
	for g := range t.groups {
		kinds[g.category]++
	}
	order := slices.SortedFunc(maps.Keys(t.groups), func(a, b group) int {
		return cmp.Or(cmp.Compare(kinds[a.category], kinds[b.category]), cmp.Compare(a.category, b.category), cmp.Compare(a.kind, b.kind))
	})
	for _, g := range order {
		c, k := t.groups[g], s.Kinds[g.kind]
		s.Kinds[g.kind] = Count{k.Allow + c.Allow, k.Ask + c.Ask, k.Defer + c.Defer, k.Deny + c.Deny}
		name := g.category
		// Again where a corpus has a category of just that name: no count is lost.
		for taken := kinds[name] > 1; taken; _, taken = s.Categories[name] {
			name += " (" + g.kind + ")"
		}
		s.Categories[name] = CategoryCount{g.kind, *c}
	}
	maps.Copy(s.BlockedBy, t.blockedBy)
	return s
}

// percentilesOf returns percentiles by nearest rank.
func percentilesOf(us []int64) Percentiles {
	if len(us) == 0 {
		return Percentiles{}
	}
	sorted := slices.Sorted(slices.Values(us))
	rank := func(p float64) int64 { return sorted[int(math.Ceil(p*float64(len(sorted))))-1] }
	return Percentiles{rank(0.50), rank(0.99)}
}

// Wilson returns the 95% interval of a rate of which k in n were seen. Without
// any it is 0 to 1: nothing is known.
func Wilson(k, n int) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	const z = 1.96
	p, m := float64(k)/float64(n), float64(n)
	d := 1 + z*z/m
	mid, half := p+z*z/(2*m), z*math.Sqrt((p*(1-p)+z*z/(4*m))/m)
	return max(0, (mid-half)/d), min(1, (mid+half)/d)
}
