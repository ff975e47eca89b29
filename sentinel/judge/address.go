package judge

import (
	"math/big"
	"strings"
	"unicode"
)

// eachAddress calls ok for each address in a folded text until ok returns false, and reports
// whether it never did. An address is whatever a window might make a link of.
func eachAddress(text string, ok func(kind, string) bool) bool {
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("<>()[]{}\"'`“”‘’„«»,;|\\", r)
	}) {
		w = strings.TrimRight(strings.TrimLeft(w, ".:!?*_"), ".:!?*_")
		if k, at := classifyAddress(w); k != noTarget && !ok(k, at) {
			return false
		}
	}
	return eachGroupedAddress(text, ok)
}

// classifyAddress tells what a word of prose is: an address of some kind and where
// it begins, or noTarget.
func classifyAddress(w string) (kind, string) {
	if len(w) < 6 {
		return noTarget, ""
	}
	if i := strings.Index(w, "://"); i >= 0 {
		return host, w[i-schemeLength(w[:i]):]
	}
	if i := strings.Index(w, "www."); i >= 0 && (i == 0 || !isAlnum(w[i-1])) {
		return host, w[i:]
	}
	for _, s := range [...]string{"http:", "https:", "javascript:", "vbscript:", "data:text/", "//"} {
		if strings.HasPrefix(w, s) && len(w) > len(s) {
			return host, w
		}
	}
	bare := w[strings.LastIndexByte(w, ':')+1:]
	switch {
	case isEmail(bare), isAccount(bare), isWallet(bare):
		return recipient, bare
	case isEmail(w):
		return recipient, w
	case isPage(bare):
		return host, bare
	}
	return noTarget, ""
}

// schemeLength is how many of the last bytes are a scheme.
func schemeLength(s string) int {
	n := 0
	for n < len(s) && isAlnum(s[len(s)-1-n]) && s[len(s)-1-n] < 0x80 {
		n++
	}
	return n
}

// topLevels are the ends of hosts that windows make links of where they stand
// without a scheme. Most words of prose with a dot and a slash end otherwise.
var topLevels = wordSet(`com net org info biz io co app dev xyz top site online shop club link live me tv ai cc eu uk de fr es it nl pl ru
	cn jp br in us ca au ch at be se no dk fi pt tr ua cz ly gg to test example`)

// isPage reports whether a word is a host and a path without a scheme.
func isPage(w string) bool {
	h, _, cut := strings.Cut(w, "/")
	h = h[strings.IndexByte(h, '@')+1:]
	i := strings.LastIndexByte(h, '.')
	if !cut || i <= 0 || !topLevels[h[i+1:]] {
		return false
	}
	for j := range i {
		if !isAlnum(h[j]) && h[j] != '-' && h[j] != '.' {
			return false
		}
	}
	return true
}

// maxAccount is how many letters and digits the longest account number has.
const maxAccount = 34

// eachGroupedAddress finds what people write with blanks in it: accounts and phones.
func eachGroupedAddress(text string, ok func(kind, string) bool) bool {
	for i := 0; i+minPhone < len(text); i++ {
		switch {
		case i > 0 && isAlnum(text[i-1]):
		case text[i] == '+':
			if d := phoneDigits(strings.TrimRight(leadingPhone(text[i:]), " -(./")); d != "" && !ok(recipient, "+"+d) {
				return false
			}
		case text[i] >= 'a' && text[i] <= 'z' && text[i+1] >= 'a' && text[i+1] <= 'z' && text[i+2] >= '0' && text[i+2] <= '9':
			if c := leadingAccount(text[i:]); c != "" && !ok(recipient, c) {
				return false
			}
		}
	}
	return true
}

func leadingPhone(s string) string {
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && strings.IndexByte(" -().+/", s[i]) < 0 || i > 24 {
			return s[:i]
		}
	}
	return s
}

// leadingAccount returns the account number in groups that a text begins with.
func leadingAccount(s string) string {
	var b []byte
	for i := range len(s) {
		switch {
		case isAlnum(s[i]) && s[i] < 0x80:
			b = append(b, s[i])
		case isSeparator(s[i]) && i > 0 && !isSeparator(s[i-1]):
		default:
			return ""
		}
		if len(b) > maxAccount {
			return ""
		}
		if len(b) >= 15 && (i+1 == len(s) || !isAlnum(s[i+1])) && isIBAN(string(b)) {
			return string(b)
		}
	}
	return ""
}

// isAccount reports whether a word looks like an IBAN: two letters, two
// digits and at least eleven more letters or digits.
func isAccount(w string) bool {
	if len(w) < 15 || len(w) > 34 || w[0] < 'a' || w[0] > 'z' || w[1] < 'a' || w[1] > 'z' {
		return false
	}
	digits := 0
	for i := 2; i < len(w); i++ {
		if !isAlnum(w[i]) || w[i] >= 0x80 || i < 4 && (w[i] < '0' || w[i] > '9') {
			return false
		}
		if w[i] <= '9' {
			digits++
		}
	}
	return digits >= 8
}

func isEmail(s string) bool {
	i := strings.LastIndexByte(s, '@')
	return i > 0 && strings.IndexByte(s[i:], '.') > 1 && !strings.ContainsAny(s, " \t\n/")
}

// isIBAN holds an account number to its own check digits. So an id of letters and digits is
// hardly ever taken for one.
func isIBAN(c string) bool {
	if !isAccount(c) {
		return false
	}
	var b strings.Builder
	for _, r := range c[4:] + c[:4] {
		if r >= 'a' {
			b.WriteString([...]string{"1", "2", "3"}[(r-'a')/10])
			r = '0' + (r-'a')%10
		}
		b.WriteRune(r)
	}
	n, ok := new(big.Int).SetString(b.String(), 10)
	return ok && n.Mod(n, big.NewInt(97)).Int64() == 1
}

// isWallet reports whether a folded text looks like the address of a purse of
// coins.
func isWallet(s string) bool {
	head, rest := "", ""
	for _, h := range []string{"0x", "bc1", "ltc1", "addr1"} {
		if r, ok := strings.CutPrefix(s, h); ok {
			head, rest = h, r
		}
	}
	if head == "" || len(rest) < 38 || len(rest) > 110 || head == "0x" && len(rest) != 40 {
		return false
	}
	return dropGrouping(rest) == rest && hasDigit(rest) && (head != "0x" || strings.Trim(rest, "0123456789abcdef") == "")
}

const minPhone = 8

// isPhone reports whether a text is a number of a phone with its country.
func isPhone(s string) bool {
	return (strings.HasPrefix(s, "+") || strings.HasPrefix(s, "00")) && phoneDigits(s) != ""
}

// phoneDigits returns the digits of a text that is nothing but a phone's number. The signs for
// the way out of the country are left out.
func phoneDigits(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			b.WriteRune(r)
		case !strings.ContainsRune(" -().+/", r):
			return ""
		}
	}
	d := strings.TrimPrefix(b.String(), "00")
	if len(d) < minPhone || len(d) > 15 {
		return ""
	}
	return d
}

// isHandle reports whether a text is "@" and a name.
func isHandle(s string) bool {
	return len(s) > 2 && s[0] == '@' && !strings.ContainsAny(s[1:], " @/.:,")
}

// namesDomain reports whether a text lets in everybody of a domain.
func namesDomain(s string) bool {
	d, ok := strings.CutPrefix(s, "domain:")
	return ok && strings.Contains(d, ".")
}

// readMailboxes returns the addresses of a text, and whether there is nothing else in it. It
// returns none where a part with an "@" is no plain address.
func readMailboxes(s string) (found []string, only bool) {
	only = true
	for p := range strings.FieldsFuncSeq(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`,;<>()"?&=`, r) }) {
		p = strings.TrimPrefix(p, "mailto:")
		switch {
		case isEmail(foldText(p)):
			found = append(found, p)
		case strings.Contains(p, "@"):
			return nil, false
		default:
			only = false
		}
	}
	return found, only
}

// hasPhoneSaid reports whether the user's own words have a phone's number without its country.
func hasPhoneSaid(v *view, val value) bool {
	return isPhone(val.fold) && v.anySaid(func(t *text) bool { return holdsNationalNumber(t.meant, val.fold) })
}

// minNational is how many digits of a phone's number people write at least, and maxCountry how many a country has.
const (
	minNational = 8
	maxCountry  = 3
)

// holdsNationalNumber reports whether a text has an international number without its country.
func holdsNationalNumber(text, number string) bool {
	digits := phoneDigits(number)
	for country := 1; country <= maxCountry && len(digits)-country >= minNational; country++ {
		national := digits[country:]
		if holdsPhone(text, national) || holdsPhone(text, "0"+national) {
			return true
		}
	}
	return false
}
