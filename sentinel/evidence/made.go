package evidence

import (
	"math"
	"slices"
	"strconv"
)

// maxOperands bounds the numbers that an amount may be made of.
const maxOperands = 24

// operand is a number with the source that it stands in.
type operand struct {
	n      number
	source int
}

// amounts looks for what an amount is made of.
type amounts struct {
	*builder
	v *value
}

// listOperands returns the numbers that were seen, those of the user first and then those of
// the sources that may be believed most.
func (b *amounts) listOperands() []operand {
	var out []operand
	for _, i := range b.byTrust() {
		s := &b.sources[i]
		if s.clock {
			continue
		}
		for _, n := range s.reading.tokensOf().numbers {
			if n.value == 0 || isYear(n) || s.place.Trust != User && !n.money && !n.percent {
				continue
			}
			if !slices.ContainsFunc(out, func(o operand) bool { return o.n.value == n.value && o.n.percent == n.percent }) {
				if out = append(out, operand{n, i}); len(out) == maxOperands {
					return out
				}
			}
		}
	}
	return out
}

// findMade looks for two numbers that an amount is made of, or a result whose amounts it sums up.
func (b *amounts) findMade() *Made {
	want := math.Abs(b.v.number.value)
	list := b.listOperands()
	for i, x := range list {
		for j, y := range list {
			if op := combine(x.n, y.n, want); op != "" && (i < j || i > j && op != "+" && op != "*") {
				return &Made{Op: op, From: []Operand{b.describeOperand(x), b.describeOperand(y)}}
			}
		}
	}
	for _, i := range b.byTrust() {
		if n, ok := sumOfMoney(b.sources[i].reading.tokensOf().numbers, want); ok {
			return &Made{Op: "sum", Of: n, From: []Operand{{Place: b.sources[i].placeOfNumbers()}}}
		}
	}
	return nil
}

// combine says by which operation two different numbers make a third.
func combine(x, y number, want float64) string {
	switch {
	case y.percent && !x.percent && sameSum(x.value*y.value/100, want),
		y.percent && !x.percent && (sameSum(x.value*(1+y.value/100), want) || sameSum(x.value*(1-y.value/100), want)):
		return "%"
	case x.percent || y.percent:
		return ""
	case sameSum(x.value+y.value, want):
		return "+"
	case sameSum(x.value-y.value, want):
		return "-"
	case isFactor(y) && sameSum(x.value*y.value, want):
		return "*"
	case isFactor(y) && math.Abs(x.value/y.value-want) < cent:
		return "/"
	}
	return ""
}

// isFactor reports whether a number is how many times, or among how many.
func isFactor(n number) bool {
	return n.value == math.Trunc(n.value) && n.value >= 2 && n.value <= 1000
}

// isMadeSafely reports whether an amount is made of what the user and trusted results say alone: a
// stranger could plant the other half.
func (b *amounts) isMadeSafely() bool {
	want := math.Abs(b.v.number.value)
	list := slices.DeleteFunc(b.listOperands(), func(o operand) bool { return b.sources[o.source].trustUnplaced() < Trusted })
	for i, x := range list {
		for j, y := range list {
			if i != j && combine(x.n, y.n, want) != "" {
				return true
			}
		}
	}
	for i := range b.sources {
		if s := &b.sources[i]; s.trustUnplaced() >= Trusted {
			if _, ok := sumOfMoney(s.reading.tokensOf().numbers, want); ok {
				return true
			}
		}
	}
	return false
}

const minSummed = 3

// sumOfMoney reports whether all amounts of a list come to a sum, and how many they are.
func sumOfMoney(list []number, want float64) (n int, ok bool) {
	total := 0.0
	for _, e := range list {
		if e.money {
			total += e.value
			n++
		}
	}
	return n, n >= minSummed && sameSum(total, want)
}

func (b *amounts) describeOperand(o operand) Operand {
	s := &b.sources[o.source]
	out := Operand{Place: s.placeOfNumbers()}
	if !b.v.hidden {
		text := formatSum(o.n.value)
		if o.n.percent {
			text += "%"
		}
		out.Value = b.numberQuote(s, text)
	}
	return out
}

func formatSum(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
