package query

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// numbers are a range of hundredths: from <= n <= to. none matches a record that has no number.
type numbers struct {
	from, to float64
	none     bool
}

func (r numbers) contain(n *int) bool {
	if n == nil {
		return r.none
	}
	return !r.none && r.from <= float64(*n) && float64(*n) <= r.to
}

// readNumbers reads a value of a key that has numbers from 0 to 1: 0.5, >0.5, >=0.5, <0.5, <=0.5, 0.4..0.7, or nothing.
func readNumbers(word string) (r numbers, ok bool) {
	r = numbers{from: 0, to: 100}
	if word == "" {
		r.none = true
		return r, true
	}
	if first, last, isRange := strings.Cut(word, ".."); isRange {
		r.from, ok = readFraction(first)
		to, ok2 := readFraction(last)
		r.to = to
		return r, ok && ok2 && r.from <= r.to
	}
	rest := strings.TrimLeft(word, "<>=")
	n, ok := readFraction(rest)
	switch word[:len(word)-len(rest)] {
	case "":
		r.from, r.to = n, n
	case ">":
		r.from = math.Nextafter(n, 1000)
	case ">=":
		r.from = n
	case "<":
		r.to = math.Nextafter(n, -1)
	case "<=":
		r.to = n
	default:
		return r, false
	}
	return r, ok
}

// readFraction reads a number from 0 to 1, as hundredths. Digits behind them are kept: 0.505 lies between two.
func readFraction(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return math.Round(f*1e6) / 1e4, err == nil && f >= 0 && f <= 1
}

// addNumbers adds a range of numbers to the term.
func (t *term) addNumbers(word string, at int) error {
	r, ok := readNumbers(word)
	if !ok {
		return &Error{at, fmt.Sprintf("%s needs numbers from 0 to 1: write %s:>0.5, %s:<=0.2, %s:0.4..0.7 or %s:\"\" for none",
			t.key, t.key, t.key, t.key, t.key)}
	}
	t.ranges = append(t.ranges, r)
	return nil
}
