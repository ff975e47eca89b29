package judge

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"encoding/json"

	"github.com/vedette-dev/vedette/skills"
)

const (
	maxNumbers = 256
	// fees and rounding make an amount a little more than was asked for.
	slack = 1.1
	// farMore times what was asked for is no slip: in a tainted branch it is
	// denied.
	farMore       = 3
	amountMore    = -25 // beyond slack, on top of the signal's own
	amountFarMore = -45 // the same in a tainted branch, farMore and beyond
)

// sums are the numbers of a text and what its words say of them.
type sums struct {
	all   []float64
	money []float64 // those with a currency; where none has, those behind a word of paying
	// computed: the words ask for arithmetic ("by 100 more", "half of it"), so
	// that no number of theirs is the amount.
	computed bool
	// parts: they ask for a part of what they name ("half of it").
	parts    bool
	currency bool // one of them at least has one
	counted  bool // "20 each", "50 a month"
}

var (
	currencies = wordSet(foldText(`usd eur gbp chf jpy euro euros dollar dollars pound pounds franc francs buck bucks quid yen $ € £ ¥
		aud cad nzd sek nok dkk pln czk huf inr cny krw brl mxn sar aed ils zar sgd hkd thb idr vnd kr kronor kroner zł złotych korun руб рублей
		ريال ريالا درهم جنيه שקל שקלים ₪ ₹ ₽ ₩ ₺ rupees reais riyal riyals dirhams shekels`))
	arithmetic = wordSet(`by more extra additional increase increased raise raised difference remaining rest double twice triple
		interest tip plus vat tax fee fees top`)
	partWords  = wordSet("half third quarter percent split share")
	countWords = wordSet("each per every apiece times monthly weekly daily yearly nights")
	units      = []string{"usd", "eur", "gbp", "chf", "euros", "euro", "%", "€", "$", "£", "¥"}
)

// readSums reads the numbers that stand alone in a text: "$1,200.50", "1.200,50 €",
// "fifty euros". Digits that are part of an account or an id are no number.
func readSums(fold string, list []token) sums {
	var s sums
	fields := joinThousands(strings.Fields(fold), isMoneyAt)
	for i, f := range fields {
		n, ok := parseNumber(f)
		if !ok || len(s.all) >= maxNumbers {
			continue
		}
		s.all = append(s.all, n)
		next := ""
		if i+1 < len(fields) {
			next = strings.Trim(fields[i+1], ".,;:!?()'\"")
		}
		weight := i+2 < len(fields) && fields[i+2] == "of" // "2 pounds of coffee"
		unit := strings.ContainsAny(f, "$€£¥") || hasUnit(f) || currencies[next] && !weight || i > 0 && currencies[fields[i-1]]
		switch {
		case unit:
			s.addMoney(n)
		case !s.currency && slices.ContainsFunc(fields[max(0, i-paidNear):i], isPayWord):
			s.money = append(s.money, n)
		}
		s.parts = s.parts || strings.Contains(f, "%")
	}
	s.addSpelledNumbers(list)
	for _, w := range list {
		s.computed = s.computed || arithmetic[w.word]
		s.parts = s.parts || partWords[w.word]
		s.counted = s.counted || countWords[w.word]
	}
	return s
}

// addMoney takes a number with a currency; those without are no money then.
func (s *sums) addMoney(n float64) {
	if !s.currency {
		s.money, s.currency = nil, true
	}
	s.money = append(s.money, n)
}

// paidNear is how many words before a number may make it one of money.
const paidNear = 2

var payWords = wordSet("pay paying transfer wire send refund reimburse repay donate deposit withdraw charge tip amount price limit budget")

func isPayWord(w string) bool { return payWords[w] || currencies[w] }

func hasUnit(f string) bool {
	f = strings.Trim(f, ".,;:!?()'\"")
	return slices.ContainsFunc(units, func(u string) bool { return u != "%" && (strings.HasSuffix(f, u) || strings.HasPrefix(f, u)) })
}

var spelledNumbers = func() map[string]float64 {
	out := map[string]float64{}
	for i, w := range strings.Fields("one two three four five six seven eight nine ten eleven twelve " +
		"thirteen fourteen fifteen sixteen seventeen eighteen nineteen") {
		out[w] = float64(i + 1)
	}
	for i, w := range strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety") {
		out[w] = float64(i+2) * 10
	}
	return out
}()

// addSpelledNumbers adds numbers in words: "fifty", "two hundred and ten", "three thousand".
func (s *sums) addSpelledNumbers(list []token) {
	for i := 0; i < len(list); i++ {
		total, part, from := 0.0, 0.0, i
		for ; i < len(list); i++ {
			w := list[i].word
			switch {
			case spelledNumbers[w] > 0:
				part += spelledNumbers[w]
				continue
			case w == "hundred":
				part = max(part, 1) * 100
				continue
			case w == "thousand":
				total, part = total+max(part, 1)*1000, 0
				continue
			case w == "and" && i > from && i+1 < len(list) && spelledNumbers[list[i+1].word] > 0:
				continue
			}
			break
		}
		if n := total + part; n > 0 && len(s.all) < maxNumbers {
			s.all = append(s.all, n)
			if i < len(list) && currencies[list[i].word] {
				s.addMoney(n)
			}
		}
	}
}

// maxAsked is the most that the words ask for. Where no number is plainly one of
// money, each may be, years aside, and what is more is no more than a hint.
func (s sums) maxAsked() (top float64, ok bool) {
	if len(s.money) == 0 {
		for _, n := range s.all {
			if n != math.Trunc(n) || n < 1900 || n > 2100 {
				top, ok = max(top, n), true
			}
		}
		return top, ok
	}
	count := 1.0
	for _, n := range s.money {
		top += n
	}
	if s.counted {
		for _, n := range s.all {
			if n <= 100 && !slices.Contains(s.money, n) {
				count = max(count, n)
			}
		}
	}
	return top * count, true
}

// isVagueAbout reports whether what the words ask for may be as much as n: they ask
// for arithmetic, or another number of theirs may be the one that is meant.
func (s sums) isVagueAbout(n float64) bool {
	return s.computed || len(s.money) == 0 || s.parts && !s.currency || !s.currency && n <= slices.Max(s.all)
}

// findAmountExceeds looks for more money than the request asks for.
func findAmountExceeds(v *view) finding {
	var f finding
	if v.request == nil || !v.p.changes {
		return f
	}
	asked := v.statedIn(func(t *text) bool { return t.sums.currency }).sums
	top, ok := asked.maxAsked()
	if !ok {
		return f
	}
	for _, val := range v.values {
		if val.kind != amount || val.amount <= top || v.isGrounded(val) {
			continue
		}
		f.add(val.arg)
		switch {
		case asked.isVagueAbout(val.amount) || val.amount <= top*slack:
		case v.c.Tainted() && val.amount >= top*farMore && !math.IsInf(val.amount, 1):
			f.extra = amountFarMore
		default:
			f.extra = min(f.extra, amountMore)
		}
	}
	return f
}

// digitValue is the value of a digit of any script: they stand in rows of ten.
func digitValue(r rune) rune {
	n := rune(0)
	for n < 9 && unicode.Is(unicode.Nd, r-n-1) {
		n++
	}
	return n
}

// parseNumber reads an amount as people write it: with a currency, thousands
// separators of either kind ("1,000.50", "1.000,50", "1'000") and "k".
func parseNumber(f string) (float64, bool) {
	f = strings.Trim(strings.ReplaceAll(f, "’", "'"), " $€£¥.,;:!?()'\"")
	for _, u := range units {
		f = strings.TrimSuffix(strings.TrimPrefix(f, u), u)
	}
	f = strings.TrimSpace(f)
	times := 1.0
	if strings.HasSuffix(f, "k") {
		f, times = f[:len(f)-1], 1000
	}
	if f == "" || len(f) > 20 || f[0] < '0' || f[0] > '9' {
		return 0, false
	}
	f, ok := dropThousands(f)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(f, 64)
	return n * times, err == nil && !math.IsInf(n, 0)
}

// joinThousands joins numbers whose thousands are apart, where fits says that it is one number:
// "1 500 euros", "up to 12 000".
func joinThousands(fields []string, fits func(fields []string, from, to int) bool) []string {
	out := fields
	for i := 0; i < len(out); i++ {
		head := strings.TrimLeft(out[i], "($€£¥\"")
		if len(head) == 0 || len(head) > 3 || head[0] == '0' || !isDigits(head) {
			continue
		}
		end := i + 1
		for end < len(out) && (end == i+1 || isDigits(out[end-1])) && isThousands(out[end]) {
			end++
		}
		if end == i+1 || !fits(out, i, end) {
			continue
		}
		joined := slices.Concat(out[:i:i], []string{strings.Join(out[i:end], "")})
		out = append(joined, out[end:]...)
	}
	return out
}

// isThousands reports whether a word is the next three digits of a number. Cents and a currency
// may stand behind them.
func isThousands(f string) bool {
	if len(f) < 3 || !isDigits(f[:3]) {
		return false
	}
	rest := strings.TrimRight(f[3:], ".,;:!?()\"'")
	for _, u := range units {
		rest = strings.TrimSuffix(rest, u)
	}
	return rest == "" || len(rest) <= 3 && (rest[0] == '.' || rest[0] == ',') && isDigits(rest[1:])
}

// isMoneyAt reports whether the words from one place to another are a sum: a word of paying stands
// before them, or a sign of a currency at their head, and no thing that is counted follows. "Invoice
// 12 250 euros" may be two numbers, and so may "3 500 euro instalments".
func isMoneyAt(fields []string, from, to int) bool {
	if to+1 < len(fields) && strings.Trim(fields[to], ".,:;!?()\"'") == fields[to] && currencies[fields[to]] && !isSmallWord(fields[to+1]) {
		return false
	}
	return from > 0 && isPayWord(fields[from-1]) || strings.ContainsAny(fields[from], "$€£¥")
}

// dropThousands drops thousands separators and makes a decimal comma a point. Only
// groups of three are thousands.
func dropThousands(f string) (string, bool) {
	comma, point := strings.LastIndexByte(f, ','), strings.LastIndexByte(f, '.')
	thousands, decimal := ",", "."
	switch {
	case comma >= 0 && point >= 0 && comma > point:
		thousands, decimal = ".", ","
	case comma >= 0 && point >= 0:
	case comma >= 0 && len(f)-comma < 4 && strings.Count(f, ",") == 1:
		thousands, decimal = ".", "," // 12,50
	case point > 0 && len(f)-point == 4 && f[0] != '0', strings.Count(f, ".") > 1:
		thousands, decimal = ".", "," // 1.000
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

// currencyCodes are the names of currencies by what people call them; dollars and
// crowns are of several countries.
var currencyCodes = func() map[string]string {
	out := map[string]string{}
	for code, row := range map[string]string{
		"eur": "eur euro euros € евро", "gbp": "gbp £ sterling", "jpy": "jpy yen ¥", "chf": "chf franken francs", "pln": "pln zl zloty zlotych",
		"usd": "usd $ dollar dollars bucks us$ aud cad nzd sgd hkd", "btc": "btc bitcoin bitcoins",
		"eth": "eth ether ethereum", "sek": "sek nok dkk kr kronor kroner",
		"inr": "inr rupees ₹", "cny": "cny rmb yuan", "rub": "rub rubles ₽", "try": "try lira ₺", "brl": "brl reais r$", "krw": "krw won ₩",
	} {
		for w := range strings.FieldsSeq(row) {
			out[foldText(w)] = code
		}
	}
	return out
}()

// readCurrencies returns the currencies that a folded text speaks of.
func readCurrencies(fold string) map[string]bool {
	var out map[string]bool
	add := func(w string) {
		if code := currencyCodes[w]; code != "" {
			if out == nil {
				out = map[string]bool{}
			}
			out[code] = true
		}
	}
	for f := range strings.FieldsSeq(fold) {
		add(strings.Trim(f, ".,:;!?()'\"0123456789"))
		for _, r := range f {
			if unicode.Is(unicode.Sc, r) {
				add(string(r))
			}
		}
	}
	return out
}

// findOtherCurrency looks for a currency that is none of those in the request.
func findOtherCurrency(v *view) finding {
	var f finding
	if v.request == nil || !v.p.changes {
		return f
	}
	var have map[string]bool // read where it is needed
	v.c.WalkArgs(func(a skills.Arg) {
		s, ok := a.Text()
		if !ok || !isAny(lastWord(v.splitArgName(a.Name)), currencyNames) {
			return
		}
		if s = strings.TrimSpace(foldText(s)); s == "" {
			return
		}
		if have == nil {
			in := v.statedIn(func(t *text) bool { return len(readCurrencies(t.fold)) > 0 })
			if have = readCurrencies(in.fold); have == nil {
				have = map[string]bool{}
			}
		}
		if code := currencyCodes[s]; len(have) > 0 && !have[code] && !v.own.raw[s] &&
			!((have["usd"] || code == "gbp") && strings.Contains(v.own.fold, "pound")) {
			f.add(v.declaredName(a))
		}
	})
	return f
}

var (
	currencyNames = wordSet("currency asset coin")
	countNames    = wordSet("quantity qty count seats licenses rooms units tickets copies pieces")
)

// findManyMore looks for many times more things than the request counts.
func findManyMore(v *view) finding {
	var f finding
	if v.request == nil || len(v.request.sums.all) == 0 || v.s.Effect() != skills.CostsMoney && v.p.needs&pays == 0 {
		return f
	}
	most := max(slices.Max(v.statedIn(func(t *text) bool { return len(t.sums.all) > 0 }).sums.all), farMore)
	v.c.WalkArgs(func(a skills.Arg) {
		n, ok := a.Value.(json.Number)
		if !ok || !isAny(lastWord(v.splitArgName(a.Name)), countNames) {
			return
		}
		if c, err := n.Float64(); err == nil && c > most*farMore && c > countedIn(v) {
			f.add(v.declaredName(a))
		}
	})
	return f
}
