package grammar

import (
	"math"
	"strconv"
	"strings"
)

// number is a number in a text, in hundredths.
type number struct {
	minor    int64
	negative bool
	inWords  bool
	from, to int
}

// numberWords are the words of numbers in an operator's languages.
type numberWords struct {
	units, multipliers map[string]int64
	links              map[string]bool
	compounds          bool // numbers may be one word
}

// maxMinor is beyond every bound of an intent, and far from an overflow.
const maxMinor = int64(1e15)

// isWhole reports whether the number has no fraction.
func (n number) isWhole() bool { return n.minor%100 == 0 }

// numberAt reads the number that begins at token i, in figures or in words.
func (w numberWords) numberAt(t tokens, i int) (number, bool) {
	if i >= len(t) {
		return number{}, false
	}
	n, ok := w.figuresAt(t, i)
	if !ok {
		n, ok = w.wordsAt(t, i)
	}
	if !ok {
		return n, false
	}
	n.from = i
	if i > 0 && (t.isMark(i-1, "-") && !t[i].spaced && (i == 1 || t[i-1].spaced) || t.is(i-1, minusWords)) {
		n.negative, n.from = true, i-1
	}
	return n, true
}

var minusWords = words("minus negative negativ menos moins")

// figuresAt reads a number in figures, with k, m or a word such as million behind it.
func (w numberWords) figuresAt(t tokens, i int) (number, bool) {
	if t[i].kind != figures {
		return number{}, false
	}
	minor, ok := readFigures(t[i].text)
	if !ok {
		return number{}, false
	}
	n := number{minor: minor, to: i + 1}
	if i+1 < len(t) && t[i+1].kind == word {
		next := t[i+1]
		if times, ok := scales[next.text]; ok && !next.spaced {
			n.minor, n.to = multiply(n.minor, times), i+2
		} else if times, ok := w.multipliers[next.text]; ok {
			n.minor, n.to = multiply(n.minor, times), i+2
		} else if !next.spaced && currencyWords[next.text] == "" {
			return n, false // 3rd is a place and 3D a name; neither counts anything
		}
	}
	return n, true
}

// scales are letters behind figures.
var scales = map[string]int64{"k": 1_000, "m": 1_000_000, "mn": 1_000_000, "mio": 1_000_000, "tsd": 1_000, "bn": 1_000_000_000}

// readFigures reads 1,200.50 and 1.200,50 alike: of two kinds of marks the last one is the decimal; one mark with three
// figures behind it is of thousands.
func readFigures(s string) (minor int64, ok bool) {
	s = strings.ReplaceAll(s, "'", "")
	decimal := strings.LastIndexAny(s, ".,")
	if decimal >= 0 {
		only := !strings.ContainsAny(s[:decimal], ".,") || strings.Count(s, s[decimal:decimal+1]) == strings.Count(s, ".")+strings.Count(s, ",")
		repeated := strings.Count(s, s[decimal:decimal+1]) > 1
		if only && (repeated || len(s)-decimal == 4) {
			decimal = -1 // thousands
		}
	}
	whole, frac := s, ""
	if decimal >= 0 {
		whole, frac = s[:decimal], s[decimal+1:]
	}
	whole = strings.NewReplacer(".", "", ",", "").Replace(whole)
	frac = strings.TrimRight(frac, "0")
	if len(frac) > 2 || len(whole) > 15 {
		return maxMinor, len(frac) <= 2 // a number as long is beyond every bound
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, false
	}
	cents, err := strconv.ParseInt((frac + "00")[:2], 10, 64)
	if err != nil {
		return 0, false
	}
	return min(n, maxMinor/100)*100 + cents, true
}

// multiply multiplies without an overflow.
func multiply(minor, times int64) int64 {
	if minor > maxMinor/max(times, 1) {
		return maxMinor
	}
	return minor * times
}

// wordsAt reads a number in words: five hundred and twenty, zweitausendfünfhundert, quinientos, quatre-vingts.
func (w numberWords) wordsAt(t tokens, i int) (number, bool) {
	total, group, last, to := int64(0), int64(0), int64(math.MaxInt64), 0
	for j := i; j < len(t); j++ {
		if j > i && (t.isMark(j, "-") || t.is(j, w.links)) && w.isNumberWord(t, j+1) {
			continue
		}
		if t[j].kind != word {
			break
		}
		value, isScale, ok := w.numberWord(t[j].text)
		if !ok || j > i && !isScale && value >= last && last < 100 && !(value == 20 && last == 4) {
			break
		}
		switch {
		case isScale && value == 100 || value == 20 && last == 4: // quatre-vingts
			group = max(group, 1) * value
		case isScale:
			total, group = total+max(group, 1)*value, 0
		default:
			group += value
		}
		last, to = value, j+1
		if total > maxMinor/100 || group > maxMinor/100 {
			return number{minor: maxMinor, inWords: true, to: to}, true
		}
	}
	if to == 0 {
		return number{}, false
	}
	return number{minor: (total + group) * 100, inWords: true, to: to}, true
}

// isNumberWord reports whether the token at i is a number in words.
func (w numberWords) isNumberWord(t tokens, i int) bool {
	if i >= len(t) || t[i].kind != word {
		return false
	}
	_, _, ok := w.numberWord(t[i].text)
	return ok
}

// numberWord reads one word as a number. A scale multiplies what stands before it.
func (w numberWords) numberWord(s string) (value int64, isScale, ok bool) {
	if v, ok := w.multipliers[s]; ok {
		return v, true, true
	}
	if v, ok := w.units[s]; ok {
		return v, false, true
	}
	if w.compounds {
		if v, ok := readGerman(s); ok {
			return v, false, true
		}
	}
	return 0, false, false
}

// words is a set of words.
func words(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}
