package evidence

import (
	"math"
	"strconv"
	"strings"
)

// number is a number of a text.
type number struct {
	value float64
	// money: a currency stands beside it, or a word for money before it.
	money bool
	// percent: it is a part of something.
	percent bool
	// spelled is the word that it is written as; empty for digits.
	spelled string
}

var (
	currencyWords = wordSet(`usd eur gbp chf jpy sek nok dkk pln euro euros dollar dollars pound pounds franc francs franken quid yen
		$ € £ ¥ kr zł`)
	amountNames = wordSet(`amount amounts price total totals sum cost costs fee fees payment balance betrag summe preis montant prix total
		importe precio cantidad importo prezzo rent salary budget budgets value`)
	minorNames = wordSet("cent cents pence minor")
	countNames = wordSet("quantity qty count seats licenses rooms units tickets copies pieces guests people nights number_of")
)

// currencySigns are cut off numbers.
const currencySigns = "$€£¥"

// readNumber reads a folded word as people write amounts: with a currency, a sign of percent and
// thousands separators of either kind.
func readNumber(w string) (n number, ok bool) {
	if len(w) > 40 || !hasDigit(w) {
		return number{}, false
	}
	w = strings.Trim(w, ".,;:!?()'\"*~")
	w = strings.TrimPrefix(w, "-")
	if len(w) == 0 || len(w) > 24 {
		return number{}, false
	}
	bare := strings.Trim(w, currencySigns)
	n.money = bare != w
	for _, u := range [...]string{"eur", "usd", "gbp", "chf"} {
		if cut := strings.TrimSuffix(strings.TrimPrefix(bare, u), u); cut != bare {
			bare, n.money = cut, true
		}
	}
	if cut := strings.TrimSuffix(bare, "%"); cut != bare {
		bare, n.percent = cut, true
	}
	times := 1.0
	if cut := strings.TrimSuffix(bare, "k"); cut != bare && len(cut) > 0 {
		bare, times = cut, 1000
	}
	bare = strings.TrimSpace(bare)
	if bare == "" || bare[0] < '0' || bare[0] > '9' {
		return number{}, false
	}
	if bare, ok = dropThousands(bare); !ok {
		return number{}, false
	}
	v, err := strconv.ParseFloat(bare, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return number{}, false
	}
	n.value = v * times
	return n, true
}

// dropThousands drops thousands separators and makes a decimal comma a point. Only groups of
// three are thousands.
func dropThousands(f string) (string, bool) {
	for i := range len(f) {
		if (f[i] < '0' || f[i] > '9') && strings.IndexByte(".,'", f[i]) < 0 {
			return "", false
		}
	}
	comma, point := strings.LastIndexByte(f, ','), strings.LastIndexByte(f, '.')
	thousands, decimal := ",", "."
	switch {
	case comma >= 0 && point >= 0 && comma > point:
		thousands, decimal = ".", ","
	case comma >= 0 && point >= 0:
	case comma >= 0 && len(f)-comma < 4 && strings.Count(f, ",") == 1:
		thousands, decimal = ".", ","
	case point > 0 && len(f)-point == 4 && f[0] != '0', strings.Count(f, ".") > 1:
		thousands, decimal = ".", ","
	}
	whole, rest, cut := strings.Cut(f, decimal)
	groups := strings.Split(strings.ReplaceAll(whole, "'", thousands), thousands)
	for i, g := range groups {
		if len(groups) > 1 && (i > 0 && len(g) != 3 || i == 0 && (g == "" || len(g) > 3)) {
			return "", false
		}
	}
	whole = strings.Join(groups, "")
	if cut {
		whole += "." + rest
	}
	return whole, true
}

// spelledNumbers are the number words that a request is read for. Half, third and quarter are
// what something is divided by.
var spelledNumbers = map[string]float64{
	"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
	"thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
	"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100,
	"thousand": 1000, "dozen": 12, "half": 2, "twice": 2, "double": 2, "third": 3, "thirds": 3, "quarter": 4,
	"zwei": 2, "drei": 3, "vier": 4, "funf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "zwolf": 12, "halfte": 2,
	"halbe": 2, "drittel": 3, "viertel": 4, "hundert": 100, "tausend": 1000,
	"deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "dix": 10, "moitie": 2, "tiers": 3, "cent": 100,
	"dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "diez": 10, "mitad": 2, "tercio": 3, "cien": 100,
}

// soundAlikes are the number words that are taken for each other.
var soundAlikes = map[float64]float64{13: 30, 14: 40, 15: 50, 16: 60, 17: 70, 18: 80, 19: 90,
	30: 13, 40: 14, 50: 15, 60: 16, 70: 17, 80: 18, 90: 19}

const cent = 0.01

// sameSum reports whether two sums are equal to the cent.
func sameSum(a, b float64) bool { return math.Abs(a-b) < cent/2 }

// maxNumbers bounds how many numbers of one text are kept.
const maxNumbers = 512

// readNumbers reads the numbers that stand alone in a folded text. Years are numbers too; a
// word that holds letters, or that is part of a date or an id, is none.
func readNumbers(fold string) []number {
	var out []number
	before := ""
	var last *number
	for w := range strings.FieldsFuncSeq(fold, isNumberBreak) {
		bare := strings.Trim(w, ".,;:!?'\"*")
		if last != nil && currencyWords[bare] {
			last.money = true
		}
		last = nil
		n, ok := readNumber(w)
		if v := spelledNumbers[bare]; !ok && v != 0 {
			n, ok = number{value: v, spelled: bare}, true
		}
		if ok && len(out) < maxNumbers {
			n.money = n.money || currencyWords[before] || amountNames[before]
			out = append(out, n)
			last = &out[len(out)-1]
		}
		before = bare
	}
	return out
}

func isNumberBreak(r rune) bool {
	return r == ' ' || r == '\n' || r == '\t' || r == '\r' || r == '(' || r == ')' || r == '|' || r == ';' || r == '=' || r == '"' || r == ':'
}

// Words around a limit that a user states.
var (
	limitBefore = []string{"at most", "no more than", "not more than", "up to", "maximum of", "maximum", "max", "less than", "under", "below",
		"hochstens", "maximal", "bis zu", "unter", "nicht mehr als", "au plus", "au maximum", "moins de", "maximum de", "jusqu'a",
		"como maximo", "menos de", "hasta", "no mas de", "al massimo", "meno di", "fino a"}
	limitAfter = wordSet("most max maximum tops hochstens maximal maximo massimo limit")
	// notMoney are words behind a number that is a limit of something else.
	notMoney = wordSet(`minute minutes hour hours day days week weeks month months year years person people guests page pages word words
		km miles characters percent % minuten stunden tage wochen monate personen each per every apiece pro je stuck chacun cada`)
)

// readLimit returns the least limit that folded words of a user state.
func readLimit(fold string) (limit float64, ok bool) {
	fields := strings.Fields(fold)
	for i, w := range fields {
		n, isNumber := readNumber(w)
		if !isNumber || n.percent || i+1 < len(fields) && notMoney[strings.Trim(fields[i+1], ".,;:!?")] ||
			i+2 < len(fields) && notMoney[strings.Trim(fields[i+2], ".,;:!?")] {
			continue
		}
		if isLimited(fields, i) && (!ok || n.value < limit) {
			limit, ok = n.value, true
		}
	}
	return limit, ok
}

// isLimited reports whether the words around the i-th say that it is the most.
func isLimited(fields []string, i int) bool {
	before := strings.Join(fields[max(0, i-4):i], " ")
	if before != "" && currencyWords[fields[i-1]] {
		before = strings.TrimSuffix(before, " "+fields[i-1])
	}
	for _, p := range limitBefore {
		if before == p || strings.HasSuffix(before, " "+p) {
			return true
		}
	}
	for j := i + 1; j < min(len(fields), i+4); j++ {
		w := strings.Trim(fields[j], ".,;:!?")
		switch {
		case limitAfter[w]:
			return true
		case w == "at" || currencyWords[w]:
		default:
			return false
		}
	}
	return false
}
