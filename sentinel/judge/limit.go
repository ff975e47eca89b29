package judge

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// limit is a most that a request states: "at most 500", "under 20 euros".
type limit struct {
	most  float64
	money bool   // it has a currency
	noun  string // the stem of what is counted; empty where nothing is said of that
}

// Phrases before and after a number that make it a limit. The loose ones are limits of time
// as well, so they need a currency.
var (
	limitBefore = phraseSet(`at most; no more than; not more than; max; maximum; maximum of; max of; under; below; less than; limit of;
		cap of; capped at; limit is; budget is; budget of; don't go over;
		not go over; maximum amount of; not over; not exceed; not exceeding; never more than;
		au plus; au maximum; maximum de; pas plus de; moins de;
		hochstens; maximal; nicht mehr als; unter; weniger als; nicht uber; como maximo; maximo; maximo de; no mas de; menos de; no maximo;
		nao mais de; nao mais que; nao mais do que; al massimo; massimo; non piu di; meno di; hoogstens; maximaal; niet meer dan; minder dan`)
	limitLoose = phraseSet("up to; within; bis zu; bis; jusqu'a; hasta; ate; fino a; tot; onder")
	limitAfter = phraseSet(`at most; max; maximum; tops; or less; or under; at the most; au plus; au maximum; maximum; ou moins; hochstens;
		maximal; oder weniger; como maximo; maximo; o menos; no maximo; ou menos; al massimo; massimo; o meno; hoogstens; maximaal; of minder`)
	limitPhrases = newPhraseFinder(slices.Concat(limitBefore.list, limitLoose.list, limitAfter.list))
)

// phrases are sets of words that follow each other.
type phrases struct {
	list []string
	has  map[string]bool
}

func phraseSet(list string) phrases {
	p := phrases{has: map[string]bool{}}
	for s := range strings.SplitSeq(list, ";") {
		s = strings.Join(strings.Fields(s), " ")
		p.list, p.has[s] = append(p.list, s), true
	}
	return p
}

// yearWords end the phrases that may stand before a year too.
var yearWords = wordSet("under below unter than de que max maximum")

// maxPhrase is how many words a phrase of a limit has.
const maxPhrase = 4

// readLimits reads the limits that a folded text states.
func readLimits(fold string) []limit {
	if !limitPhrases.find(fold, func(int, int) bool { return true }) {
		return nil
	}
	fields := strings.Fields(fold)
	plain := make([]string, len(fields))
	for i, f := range fields {
		plain[i] = strings.Trim(f, ".,:;!?()\"")
	}
	var out []limit
	for i := 0; i < len(fields) && len(out) < maxNumbers; i++ {
		n, size, ok := readAnyNumber(plain[i:])
		if !ok {
			continue
		}
		before, after := i, i+size
		l := limit{most: n, money: strings.ContainsAny(plain[i], "$€£¥") || hasUnit(plain[i])}
		if before > 0 && currencies[plain[before-1]] {
			before, l.money = before-1, true
		}
		if after < len(plain) && currencies[plain[after]] {
			after, l.money = after+1, true
		}
		stated := limitBefore.endIn(plain[:before]) || l.money && limitLoose.endIn(plain[:before])
		if !stated && !limitAfter.beginIn(plain[after:]) {
			continue
		}
		if goesOn := after < len(plain) && fields[after-1] == plain[after-1]; goesOn && !l.money &&
			!limitAfter.beginIn(plain[after:]) && !isSmallWord(plain[after]) {
			l.noun = stemWord(plain[after])
		}
		// "file it under 2026" names a year, and "at most 2000" doesn't
		if l.money || l.noun != "" || n < 1900 || n > 2100 || stated && before > 0 && !yearWords[plain[before-1]] {
			out = append(out, l)
		}
		i += size - 1
	}
	return out
}

func (p phrases) endIn(words []string) bool {
	for n := 1; n <= min(maxPhrase, len(words)); n++ {
		if p.has[strings.Join(words[len(words)-n:], " ")] {
			return true
		}
	}
	return false
}

func (p phrases) beginIn(words []string) bool {
	for n := 1; n <= min(maxPhrase, len(words)); n++ {
		if p.has[strings.Join(words[:n], " ")] {
			return true
		}
	}
	return false
}

// placeWords say where or whose, and not what is counted.
var placeWords = wordSet(`into onto from with without within toward towards over under upon back away aside out off per each every
	auf aufs aus vom von zum zur nach ins beim sur dans chez par vers depuis sobre hacia desde sul sulla sulle nel nella verso dalla naar
	voor van uit bij then now today tomorrow monthly weekly please altogether total overall once`)

// isSmallWord reports whether a word is none that things are called.
func isSmallWord(w string) bool {
	if functionWords[w] || smallWords[w] || placeWords[w] || len(w) < 3 {
		return true
	}
	for i := range languages {
		if languages[i].function[w] {
			return true
		}
	}
	return false
}

// readAnyNumber reads a number in digits or in words of the languages that are read, and says
// how many words it has.
func readAnyNumber(words []string) (n float64, size int, ok bool) {
	if f, is := parseNumber(words[0]); is {
		return f, 1, true
	}
	total, part := 0.0, 0.0
	for ; size < len(words); size++ {
		w := words[size]
		value, times := readNumberWord(w)
		switch {
		case times == 1000:
			total, part = total+max(part, 1)*max(value, 1)*1000, 0
		case times == 100:
			part = max(part, 1) * max(value, 1) * 100
		case value > 0:
			part += value
		case size > 0 && joinWords[w] && size+1 < len(words) && isNumberWord(words[size+1]):
		default:
			return total + part, size, total+part > 0
		}
	}
	return total + part, size, total+part > 0
}

var joinWords = wordSet("and und et y e en")

func isNumberWord(w string) bool {
	v, times := readNumberWord(w)
	return v > 0 || times > 0
}

// readNumberWord reads one word: a number, or how many times it takes the one before it. In
// "funfhundert" it is both.
func readNumberWord(w string) (value float64, times int) {
	if v := countingWords[w]; v > 0 {
		return v, 0
	}
	for suffix, t := range timesWords {
		if head, found := strings.CutSuffix(w, suffix); found {
			if head == "" {
				return 0, t
			}
			if v := countingWords[head]; v > 0 && v < 100 {
				return v, t
			}
		}
	}
	return 0, 0
}

var timesWords = map[string]int{"hundred": 100, "hundert": 100, "cent": 100, "cents": 100, "cien": 100, "ciento": 100,
	"cientos": 100, "cem": 100, "centos": 100, "cento": 100, "honderd": 100,
	"thousand": 1000, "tausend": 1000, "mille": 1000, "mila": 1000, "mil": 1000, "duizend": 1000}

// countingWords are the numbers of the languages that are read, folded.
var countingWords = func() map[string]float64 {
	out := map[string]float64{"quinientos": 500, "quinhentos": 500, "duzentos": 200, "trezentos": 300, "setecientos": 700, "novecientos": 900}
	for w, n := range spelledNumbers {
		out[w] = n
	}
	for _, row := range []string{
		"un deux trois quatre cinq six sept huit neuf dix onze douze", "ein zwei drei vier funf sechs sieben acht neun zehn elf zwolf",
		"uno dos tres cuatro cinco seis siete ocho nueve diez once doce", "um dois tres quatro cinco seis sete oito nove dez onze doze",
		"uno due tre quattro cinque sei sette otto nove dieci undici dodici", "een twee drie vier vijf zes zeven acht negen tien elf twaalf",
	} {
		for i, w := range strings.Fields(row) {
			if len(w) > 2 && w != "ein" && w != "een" && w != "uno" {
				out[w] = float64(i + 1)
			}
		}
	}
	for _, row := range []string{
		"vingt trente quarante cinquante soixante", "zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig",
		"veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa", "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
		"venti trenta quaranta cinquanta sessanta settanta ottanta novanta", "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
	} {
		for i, w := range strings.Fields(row) {
			out[w] = float64(i+2) * 10
		}
	}
	return out
}()

// findOverLimit looks for more than the request states as the most.
func findOverLimit(v *view) finding {
	var f finding
	if v.request == nil || len(v.request.limits) == 0 || !v.p.changes {
		return f
	}
	in := v.statedIn(func(t *text) bool { return len(t.limits) > 0 })
	if most, ok := statedMost(in, func(l limit) bool { return l.noun == "" }); ok {
		for _, val := range v.values {
			if val.kind == amount && val.amount > most && !slices.Contains(v.own.sums.all, val.amount) {
				f.add(val.arg)
			}
		}
		if arg, total := sumItems(v); total > most {
			f.add(arg)
		}
	}
	v.s.Walk(v.c.Parsed(), func(a skills.Arg) {
		n, ok := a.Value.(json.Number)
		words := splitName(a.Name)
		if !ok || len(words) == 0 {
			return
		}
		most, stated := statedMost(in, func(l limit) bool {
			return !l.money && (countNames[words[len(words)-1]] || l.noun != "" && hasStem(words, l.noun))
		})
		if c, err := n.Float64(); stated && err == nil && c > most {
			f.add(v.declaredName(a))
		}
	})
	return f
}

func hasStem(words []string, stem string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return stemWord(w) == stem })
}

// statedMost returns the greatest of the limits that fit, for all that are counted: "at most 20 each".
func statedMost(t *text, fits func(limit) bool) (most float64, ok bool) {
	for _, l := range t.limits {
		if fits(l) {
			most, ok = max(most, l.most), true
		}
	}
	if t.sums.counted {
		count := 1.0
		for _, n := range t.sums.all {
			if n <= 100 && n != most {
				count = max(count, n)
			}
		}
		most *= count
	}
	return most, ok
}

// sumItems adds up a list of things with a price and a number each. Where several arguments are
// such lists, it is the dearest.
func sumItems(v *view) (arg string, total float64) {
	for name, value := range v.c.Parsed() {
		list, _ := value.([]any)
		sum := 0.0
		for _, e := range list {
			item, _ := e.(map[string]any)
			price, count := 0.0, 1.0
			for k, x := range item {
				n, isNumber := x.(json.Number)
				if !isNumber {
					continue
				}
				words := splitName(k)
				switch n, err := n.Float64(); {
				case err != nil || len(words) == 0:
				case countNames[words[len(words)-1]]:
					count = n
				case words[len(words)-1] == "price" || words[len(words)-1] == "cost":
					price = inMajorUnits(words, n)
				}
			}
			sum += price * count
		}
		if sum > total && v.s.Declares(name) {
			arg, total = name, sum
		}
	}
	return arg, total
}
