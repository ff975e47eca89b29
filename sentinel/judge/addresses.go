package judge

import (
	"strings"
	"unicode"
)

// addressesIn calls ok for each address in a folded text, however a window
// might make a link of it, until ok returns false; it reports whether that
// never happened.
func addressesIn(text string, ok func(kind, string) bool) bool {
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("<>()[]{}\"'`“”‘’„«»,;|\\", r)
	}) {
		w = strings.TrimRight(strings.TrimLeft(w, ".:!?*_"), ".:!?*_")
		if k, at := addressOf(w); k != noTarget && !ok(k, at) {
			return false
		}
	}
	return grouped(text, ok)
}

// addressOf tells what a word of prose is: an address of some kind and where
// it begins, or noTarget.
func addressOf(w string) (kind, string) {
	if len(w) < 6 {
		return noTarget, ""
	}
	if i := strings.Index(w, "://"); i >= 0 {
		return host, w[i-schemeBefore(w[:i]):]
	}
	if i := strings.Index(w, "www."); i >= 0 && (i == 0 || !alnum(w[i-1])) {
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

// schemeBefore is how many of the last bytes are a scheme.
func schemeBefore(s string) int {
	n := 0
	for n < len(s) && alnum(s[len(s)-1-n]) && s[len(s)-1-n] < 0x80 {
		n++
	}
	return n
}

// topLevels are the ends of hosts that windows make links of where they stand
// without a scheme. Most words of prose with a dot and a slash end otherwise.
var topLevels = set(`com net org info biz io co app dev xyz top site online shop club link live me tv ai cc eu uk de fr es it nl pl ru cn jp
	br in us ca au ch at be se no dk fi pt tr ua cz ly gg to test example`)

// isPage reports whether a word is a host and a path without a scheme.
func isPage(w string) bool {
	h, _, cut := strings.Cut(w, "/")
	h = h[strings.IndexByte(h, '@')+1:]
	i := strings.LastIndexByte(h, '.')
	if !cut || i <= 0 || !topLevels[h[i+1:]] {
		return false
	}
	for j := range i {
		if !alnum(h[j]) && h[j] != '-' && h[j] != '.' {
			return false
		}
	}
	return true
}

// maxAccount is how many letters and digits the longest account number has.
const maxAccount = 34

// grouped finds what people write with blanks in it: accounts and phones.
func grouped(text string, ok func(kind, string) bool) bool {
	for i := 0; i+minPhone < len(text); i++ {
		switch {
		case i > 0 && alnum(text[i-1]):
		case text[i] == '+':
			if d := phoneDigits(strings.TrimRight(phoneRun(text[i:]), " -(./")); d != "" && !ok(recipient, "+"+d) {
				return false
			}
		case text[i] >= 'a' && text[i] <= 'z' && text[i+1] >= 'a' && text[i+1] <= 'z' && text[i+2] >= '0' && text[i+2] <= '9':
			if c := accountAt(text[i:]); c != "" && !ok(recipient, c) {
				return false
			}
		}
	}
	return true
}

func phoneRun(s string) string {
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && strings.IndexByte(" -().+/", s[i]) < 0 || i > 24 {
			return s[:i]
		}
	}
	return s
}

// accountAt returns the account number in groups that a text begins with.
func accountAt(s string) string {
	var b []byte
	for i := range len(s) {
		switch {
		case alnum(s[i]) && s[i] < 0x80:
			b = append(b, s[i])
		case separator(s[i]) && i > 0 && !separator(s[i-1]):
		default:
			return ""
		}
		if len(b) > maxAccount {
			return ""
		}
		if len(b) >= 15 && (i+1 == len(s) || !alnum(s[i+1])) && isIBAN(string(b)) {
			return string(b)
		}
	}
	return ""
}
