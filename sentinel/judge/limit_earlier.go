package judge

import (
	"math"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// People state a limit once and go on: "no more than 1,500", and two turns later "book it". And the price often stands in
// the record that is chosen and in no argument.

// SignalOverEarlierLimit is of more than an earlier turn's request states as the most, and of a record whose prices are all
// beyond a stated limit. It is in doubt: the limit may have been on something else.
const SignalOverEarlierLimit = "over_earlier_limit"

// findOverEarlierLimit looks for such an amount, and for such a record.
func findOverEarlierLimit(v *view) finding {
	var f finding
	if v.request == nil || v.s.Effect() != skills.CostsMoney && v.p.needs&(pays|books) == 0 {
		return f
	}
	in, earlier := limitsInForce(v)
	most := math.Inf(1)
	for _, l := range limitsOn(in) {
		if l.noun == "" && (l.money || l.most >= minPlainLimit) {
			most = min(most, l.most)
		}
	}
	if math.IsInf(most, 1) {
		return f
	}
	priced := false
	for _, val := range v.values {
		if val.kind != amount {
			continue
		}
		priced = true
		if earlier && val.amount > most && !slices.Contains(v.own.sums.all, val.amount) {
			f.add(val.arg)
		}
	}
	if priced {
		return f
	}
	for i, val := range v.values {
		if i < maxValues && (val.target || val.kind == reference) && isRecordBeyond(v, val, most) {
			f.add(val.arg)
		}
	}
	return f
}

// minPlainLimit is the least limit without a currency that is one of money: "at most 3" counts things.
const minPlainLimit = 20

// limitsInForce returns the words that state limits: this request's, else the newest earlier ones that do.
func limitsInForce(v *view) (in *text, earlier bool) {
	if len(v.own.limits) > 0 || len(v.request.limits) > 0 {
		return v.statedIn(func(t *text) bool { return len(t.limits) > 0 }), false
	}
	for _, t := range v.said[min(1, len(v.said)):] {
		if len(t.limits) > 0 {
			return t, true
		}
	}
	return nil, false
}

func limitsOn(t *text) []limit {
	if t == nil {
		return nil
	}
	return t.limits
}

// isRecordBeyond reports whether results have prices in the records of an id, and each is more than a limit.
func isRecordBeyond(v *view, val value, most float64) bool {
	beyond, within := false, false
	look := func(s sentinel.Step) {
		for _, r := range pricedRecordsWith(s, val) {
			for _, price := range readPrices(r) {
				beyond, within = beyond || price > most, within || price <= most
			}
		}
	}
	for i := range v.c.Trace().Len() {
		look(v.c.Trace().Step(i))
	}
	for r := range v.c.Trace().PastResults() {
		look(r.Step)
	}
	return beyond && !within
}

// pricedRecordsWith returns the folded records of a result under an id: lines, or objects as "key value" lines.
func pricedRecordsWith(s sentinel.Step, val value) []string {
	if !looksLikeJSON(strings.TrimSpace(s.Result)) {
		return recordsWith(s, val)
	}
	var out []string
	eachObject(s.Result, func(o object) {
		if !slices.ContainsFunc(o.fields, func(f field) bool { return foldText(strings.TrimSpace(f.text)) == val.fold }) {
			return
		}
		var b strings.Builder
		for _, f := range o.fields {
			if isAny(splitName(f.key), amountNames) {
				b.WriteString("$" + strings.TrimSpace(foldText(f.text)) + "\n")
			}
		}
		out = append(out, b.String())
	})
	return out
}

// readPrices returns the numbers of a record that have a currency.
func readPrices(record string) []float64 {
	if s := readSums(record, splitTokens(record)); s.currency {
		return s.money
	}
	return nil
}
