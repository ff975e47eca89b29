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
	// of are the stems of what the limit is set on: of "deposit" in "the deposit under 100".
	of map[string]bool
}

// Phrases before and after a number that make it a limit. The loose ones are limits of time
// as well, so they need a currency.
var (
	limitBefore = phraseSet(`at most; no more than; not more than; max; maximum; maximum of; max of; under; below; less than; limit of;
		cap of; capped at; limit is; budget is; budget of; don't go over;
		not go over; maximum amount of; not over; not exceed; not exceeding; never more than;
		au plus; au maximum; maximum de; pas plus de; moins de;
		hochstens; maximal; nicht mehr als; unter; weniger als; nicht uber; como maximo; maximo; maximo de; no mas de; menos de; no maximo;
		nao mais de; nao mais que; nao mais do que; al massimo; massimo; non piu di; meno di; hoogstens; maximaal; niet meer dan; minder dan;
		najwyżej; nie więcej niż; maksymalnie; mniej niż; poniżej; не больше; не более; не дороже; не больше чем; максимум; меньше; дешевле;
		högst; inte mer än; mindre än; højst; højest; maks; ikke mere end; mindre end; en fazla; azami; nejvýše; maximálně;
		مش أكثر من; مش أكتر من; ليس أكثر من; لا يزيد عن; لا تزيد عن; لا يتجاوز; لا تتجاوز; بحد أقصى; أقل من; לא יותר מ; מקסימום; פחות מ`)
	limitLoose = phraseSet("up to; within; bis zu; bis; jusqu'a; hasta; ate; fino a; tot; onder; до; حتى; עד")
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
	for s := range strings.SplitSeq(foldText(list), ";") {
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
	fields := joinThousands(strings.Fields(fold), func(list []string, from, to int) bool {
		return isMoneyAt(list, from, to) || limitBefore.endIn(list[:from]) || limitAfter.beginIn(trimWords(list[to:]))
	})
	plain := trimWords(fields)
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
			l.of = readSubject(fields, before, after)
			out = append(out, l)
		}
		i += size - 1
	}
	return out
}

// trimWords are words without the signs around them.
func trimWords(fields []string) []string {
	plain := make([]string, len(fields))
	for i, f := range fields {
		plain[i] = strings.Trim(f, ".,:;!?()\"")
	}
	return plain
}

// clauseEnds are words that begin another clause.
var clauseEnds = wordSet("and but or then while und aber oder dann et mais ou puis y pero o luego e mas ma poi en maar of dan")

// subjectWords stand between a limit and what it is set on.
var subjectWords = wordSet("for on fur pour para por per voor")

// maxSubject is how many words around a limit may name what it is set on.
const maxSubject = 8

// readSubject returns the stems of what a limit is set on: the words of its clause before it,
// and those that follow a "for".
func readSubject(fields []string, from, to int) map[string]bool {
	of := readSubjectBefore(fields[:from])
	if to >= len(fields) || !subjectWords[fields[to]] || endsClause(fields[to-1]) {
		return of
	}
	for i := to + 1; i < min(len(fields), to+maxSubject); i++ {
		w := strings.Trim(fields[i], ".,:;!?()\"'")
		if clauseEnds[w] || isNumber(w) {
			break
		}
		if isSubject(w) {
			of[stemWord(w)] = true
		}
		if endsClause(fields[i]) {
			break
		}
	}
	return of
}

// readSubjectBefore reads the clause that ends with a limit. A comma may stand before the limit
// ("the rent, under 500"), unless the words before it are those of another number.
func readSubjectBefore(fields []string) map[string]bool {
	of := map[string]bool{}
	isFirst, crossed := true, false
	for i := len(fields) - 1; i >= max(0, len(fields)-maxSubject); i-- {
		w := strings.Trim(fields[i], ".,:;!?()\"'")
		if endsClause(fields[i]) {
			if !isFirst || !strings.HasSuffix(fields[i], ",") {
				break
			}
			crossed = true
		}
		if isNumber(w) && crossed {
			return map[string]bool{}
		}
		if clauseEnds[w] || isNumber(w) {
			break
		}
		if limitWords[w] {
			continue
		}
		isFirst = false
		if isSubject(w) && (!isPayWord(w) || i > 0 && articles[fields[i-1]]) {
			of[stemWord(w)] = true
		}
	}
	return of
}

// articles stand before a noun, so "the deposit" is none that deposits.
var articles = wordSet("the a an my our his her their this that der die das den dem ein eine le la les el los il lo de het o os as")

func endsClause(field string) bool { return strings.ContainsAny(field[len(field)-1:], ".,;:!?") }

func isSubject(w string) bool { return !isSmallWord(w) && !limitWords[w] }

func isNumber(w string) bool {
	_, is := parseNumber(w)
	return is
}

// limitWords are the words of the phrases of limits.
var limitWords = func() map[string]bool {
	out := map[string]bool{}
	for _, p := range slices.Concat(limitBefore.list, limitLoose.list, limitAfter.list) {
		for w := range strings.FieldsSeq(p) {
			out[w] = true
		}
	}
	return out
}()

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
	findOverAmount(v, in, &f)
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

// findOverAmount adds the amounts that are more than the request states as the most.
func findOverAmount(v *view, in *text, f *finding) {
	chosen := chooseLimits(v, in.limits)
	for _, val := range v.values {
		if val.kind != amount {
			continue
		}
		most, ok := statedMost(in, chosen(val.arg))
		if ok && val.amount > most && !isExempt(v, in, val.amount) {
			f.add(val.arg)
		}
	}
	most, ok := statedMost(in, chosen(""))
	if arg, total := sumItems(v); ok && total > most {
		f.add(arg)
	}
}

// isExempt reports whether the request names an amount that is no limit: "pay the invoice of
// 540, and at most 50 for the tip".
func isExempt(v *view, in *text, n float64) bool {
	return slices.Contains(v.own.sums.all, n) && !slices.ContainsFunc(in.limits, func(l limit) bool { return l.most == n })
}

// chooseLimits tells which limits of amounts are those of an argument. Where the request has
// several, that is the one on what the argument is called, else on what the call speaks of, and
// else each of them: "at most 20 for lunch, at most 500 for the hotel".
func chooseLimits(v *view, list []limit) func(arg string) func(limit) bool {
	isAmount := func(l limit) bool { return l.noun == "" }
	several := 0
	for i := range list {
		if isAmount(list[i]) {
			several++
		}
	}
	if several < 2 {
		return func(string) func(limit) bool { return isAmount }
	}
	said := map[string]bool{}
	domain, _, _ := strings.Cut(v.s.Name(), ".") // the action is that of all limits
	for _, w := range splitName(domain) {
		said[stemWord(w)] = true
	}
	v.c.WalkArgs(func(a skills.Arg) {
		if s, ok := a.Text(); ok {
			for _, w := range splitTokens(foldText(s[:min(len(s), maxSaid)])) {
				said[w.stem] = true
			}
		}
	})
	return func(arg string) func(limit) bool {
		named := map[string]bool{}
		for _, w := range splitName(arg) {
			named[stemWord(w)] = true
		}
		for _, words := range []map[string]bool{named, said} {
			fits := func(l limit) bool { return isAmount(l) && sharesKey(l.of, words) }
			if slices.ContainsFunc(list, fits) {
				return fits
			}
		}
		return isAmount
	}
}

// maxSaid bounds the bytes of each argument that are read for what a limit is set on.
const maxSaid = 4 << 10

func sharesKey(a, b map[string]bool) bool {
	for k := range a {
		if b[k] {
			return true
		}
	}
	return false
}

func hasStem(words []string, stem string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return stemWord(w) == stem })
}

// statedMost returns the greatest of the limits that fit, for all that are counted: "at most 20
// each".
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
