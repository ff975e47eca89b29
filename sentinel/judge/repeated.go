package judge

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// What a turn has done already is not asked for again by the same words, and what it has paid
// counts towards a limit. A reader can tell whether it was meant to be done twice.

// doneBefore lists the calls of the same skill that this turn has made.
func doneBefore(v *view) iter.Seq[sentinel.Step] {
	return func(yield func(sentinel.Step) bool) {
		t := v.c.Trace()
		for i := range t.Len() {
			if st := t.Step(i); st.Skill == v.c.Name() && !st.Failed && !yield(st) {
				return
			}
		}
	}
}

// findRepeated looks for a call that this turn has made before: a payment of the same amount to the
// same receiver, or any other call that reaches others and has all that the earlier one had. What
// an argument adds to either makes it no other call.
func findRepeated(v *view) finding {
	pays := v.s.Effect() == skills.CostsMoney
	if !pays && !(v.p.changes && v.s.Reaches() == skills.Others) {
		return finding{}
	}
	for st := range doneBefore(v) {
		args := parseArgs(st.Args)
		if pays && paysTheSame(v, args) || !pays && hasAllOf(v.c.Parsed(), args) {
			return finding{found: true}
		}
	}
	return finding{}
}

func parseArgs(args string) map[string]any {
	var m map[string]any
	dec := json.NewDecoder(strings.NewReader(args))
	dec.UseNumber()
	if dec.Decode(&m) != nil {
		return nil
	}
	return m
}

// paysTheSame reports whether arguments have an amount and a receiver of a call, each under its
// own name.
func paysTheSame(v *view, args map[string]any) bool {
	sum, receiver := false, false
	for _, val := range v.values {
		isReceiver := val.kind >= recipient || val.kind == account || val.target
		if (val.kind == amount || isReceiver) && slices.Contains(foldLeaves(args[val.arg], nil), val.fold) {
			sum, receiver = sum || val.kind == amount, receiver || isReceiver
		}
	}
	return sum && receiver
}

// hasAllOf reports whether arguments have all that earlier ones had, which is something.
func hasAllOf(args, earlier map[string]any) bool {
	some := false
	for name, at := range earlier {
		has := foldLeaves(args[name], nil)
		for _, leaf := range foldLeaves(at, nil) {
			if some = true; !slices.Contains(has, leaf) {
				return false
			}
		}
	}
	return some
}

// foldLeaves lists the folded texts and the numbers of a value.
func foldLeaves(at any, out []string) []string {
	switch at := at.(type) {
	case string:
		out = append(out, foldText(strings.TrimSpace(at)))
	case json.Number:
		out = append(out, at.String())
	case []any:
		for _, e := range at {
			out = foldLeaves(e, out)
		}
	case map[string]any:
		for _, e := range at {
			out = foldLeaves(e, out)
		}
	}
	return out
}

// findSpentOverLimit looks for an amount within a limit that the request states, and that goes
// beyond it with what this turn has paid before. A limit for each of several isn't one of all.
func findSpentOverLimit(v *view) finding {
	var f finding
	if v.request == nil || len(v.request.limits) == 0 || v.s.Effect() != skills.CostsMoney || v.own.sums.counted {
		return f
	}
	in := v.statedIn(func(t *text) bool { return len(t.limits) > 0 })
	chosen := chooseLimits(v, in.limits)
	for _, val := range v.values {
		if val.kind != amount {
			continue
		}
		most, stated := statedMost(in, chosen(val.arg))
		if before := sumBefore(v, val.arg); stated && before > 0 && val.amount <= most && before+val.amount > most {
			f.add(val.arg)
		}
	}
	return f
}

// sumBefore adds up what earlier calls of this turn had under an argument.
func sumBefore(v *view, arg string) (total float64) {
	words := v.splitArgName(arg)
	for st := range doneBefore(v) {
		if n, ok := parseArgs(st.Args)[arg].(json.Number); ok {
			if f, err := n.Float64(); err == nil && f > 0 {
				total += inMajorUnits(words, f)
			}
		}
	}
	return total
}
