package orchestrator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-dev/vedette/sentinel/review"
)

// tell prints the timeline for people: what each spell came to in the ledger,
// and the breaker's changes as the log has them.
func (d *drill) tell(t *testing.T) {
	var b strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	line("%d callers of 4 users; calls of each effect, inward and outward", drillCallers)
	at := func(m time.Time) string { return fmt.Sprintf("%7.3f s", max(m.Sub(d.began), 0).Seconds()) }
	for i, s := range spells {
		line("%s  %s", at(d.starts[i]), s.what)
		var tried []time.Time // and open again
		for k, c := range d.changes {
			switch {
			case d.spellAt(c.at) != i:
			case c.from == "half-open" && c.to == "open":
				tried = append(tried, c.at)
			case c.from == "open" && k+1 < len(d.changes) && d.changes[k+1].to == "open": // told with what follows
			default:
				line("%s      breaker %s -> %s", at(c.at), c.from, c.to)
			}
		}
		if n := len(tried); n > 0 {
			line("%s      breaker half-open -> open: %d tries that failed, until %.3f s", at(tried[0]), n, tried[n-1].Sub(d.began).Seconds())
		}
		line("               %s", d.sums(i))
	}
	t.Log("\n" + b.String())
}

// sums are what the calls of a spell came to.
func (d *drill) sums(spell int) string {
	n, outcomes, failures := 0, map[string]int{}, map[string]int{}
	for _, a := range d.made {
		if a.spell != int64(spell) {
			continue
		}
		n++
		g := ofReview(d.records[a.turn].decision.Gates)
		switch f := g.Meta["failure"]; {
		case f == "":
			outcomes["judged"]++
		case g.Code == review.CodeDegraded:
			outcomes["allowed, degraded"]++
			failures[f]++
		default:
			outcomes[g.Outcome]++
			failures[f]++
		}
	}
	return fmt.Sprintf("%d calls: %s%s", n, tallied(outcomes), tallied(failures, "; no judgement because of "))
}

// tallied writes counts, the largest first.
func tallied(counts map[string]int, lead ...string) string {
	if len(counts) == 0 {
		return ""
	}
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return counts[b] - counts[a] })
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%d %s", counts[k], k)
	}
	return strings.Join(lead, "") + strings.Join(keys, ", ")
}
