package judge

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/evidence"
)

// The signals of the call's evidence. Those of near misses are made of SignalNearMiss and a way
// to be near: "near_miss_swapped". evidence.Signals lists them.
const (
	// SignalRival is a doubt: another record fits the request better than the recipient's own.
	SignalRival = evidence.SignalRival
	// SignalLeftOut is of a recipient, host or account that has no room in the evidence. It asks,
	// so that no long list hides one from the reviewer.
	SignalLeftOut = "evidence_left_out"
)

const (
	// amountNear is what a near miss costs, together with all else that is said of its value.
	amountNear    = -35
	amountRival   = -15
	amountLeftOut = -31
)

// findEvidenceSigns lists what the evidence of the call speaks against it, beside what was found
// without it.
func findEvidenceSigns(v *view, found []sentinel.Evidence) []sentinel.Evidence {
	near, doubts, asks := v.c.NearMisses()
	if len(near)+len(doubts) == 0 && !asks {
		return nil
	}
	var out []sentinel.Evidence
	add := func(signal, arg string, amount int) {
		i := slices.IndexFunc(out, func(e sentinel.Evidence) bool { return e.Signal == signal })
		if i < 0 {
			i = len(out)
			out = append(out, sentinel.Evidence{Signal: signal})
		}
		e := &out[i]
		e.Amount = min(e.Amount, amount)
		if arg != "" && !slices.Contains(e.Args, arg) {
			e.Args = append(e.Args, arg)
		}
	}
	counted := map[string]bool{}
	for _, f := range near {
		n := 0
		if !counted[f.Arg] { // two ways to be near are one sign
			n = min(0, amountNear-costOfSame(v, found, f))
		}
		counted[f.Arg] = true
		add(f.Signal, f.Arg, n)
	}
	for _, f := range doubts {
		add(f.Signal, f.Arg, amountRival)
	}
	if asks {
		add(SignalLeftOut, "", amountLeftOut)
	}
	return out
}

// costOfSame is the most that a hard signal takes for the same argument's value. With a near miss
// it is one sign, so that the two together cost what the greater costs.
func costOfSame(v *view, found []sentinel.Evidence, near evidence.Finding) (n int) {
	for _, e := range found {
		if near.Arg != "" && slices.Contains(e.Args, near.Arg) && saysOfValue(e.Signal) &&
			!isDoubt(e, circumstancesOf(v)) {
			n = min(n, e.Amount)
		}
	}
	return n
}

// saysOfValue reports whether a signal is of where a value comes from or of its size.
func saysOfValue(signal string) bool {
	switch signal {
	case SignalNearMiss, SignalAmountExceeds, SignalOtherDate, SignalOverLimit, SignalOtherID:
		return true
	}
	for _, f := range family {
		if f != "" && strings.HasPrefix(signal, f+"_") {
			return true
		}
	}
	return false
}

// describeDetail says in words what the call carries and what its values almost are, where that
// is a signal: names of arguments and skills, and no value.
func describeDetail(c sentinel.Call, found []sentinel.Evidence) string {
	lines := []string{}
	if s := describeFlows(c, found); s != "" {
		lines = append(lines, s)
	}
	near, doubts, _ := c.NearMisses()
	for _, f := range append(near, doubts...) {
		if s := f.Detail(); !slices.Contains(lines, s) && len(lines) < maxDetail {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "; ")
}

// maxDetail is how many lines a detail has.
const maxDetail = 8
