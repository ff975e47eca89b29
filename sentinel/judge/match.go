package judge

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// isUnspaced reports whether a letter beside an address is of a script that puts
// no blanks between words: "a@b.test에게" is to a@b.test.
func isUnspaced(r rune, end byte) bool {
	return end < utf8.RuneSelf && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// holdsValue reports whether a folded text has the value as a whole: "ann@x.org" is
// not in "joann@x.org", nor "x.org" in "x.org.evil.net".
func holdsValue(text string, val value) bool {
	want := val.fold
	switch val.kind {
	case host, readHost:
		return holdsHost(text, want)
	case recipient, account:
		if c := dropGrouping(want); len(c) >= minAccount && hasDigit(c) && holdsGrouped(text, c) {
			return true
		}
		if d := phoneDigits(want); d != "" && holdsPhone(text, d) {
			return true
		}
	}
	return holdsWhole(text, strings.Trim(want, `"'`))
}

func holdsWhole(text, want string) bool {
	if want == "" {
		return false
	}
	for from := 0; ; {
		i := strings.Index(text[from:], want)
		if i < 0 {
			return false
		}
		i += from
		if !joinsBefore(text[:i], want) && !joinsAfter(text[i+len(want):], want) {
			return true
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		from = i + n
	}
}

// joinsBefore reports whether what stands before belongs to the same word or address.
func joinsBefore(s, want string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	if isWordRune(r) {
		return s != "" && !isUnspaced(r, want[0])
	}
	return s != "" && strings.ContainsAny(want, "@.") && strings.ContainsRune("._+-@", r) && len(s) > 1 && s[len(s)-2] > ' '
}

// joinsAfter reports whether what follows belongs to the same word or address. A dot ends a
// sentence only before a blank.
func joinsAfter(s, want string) bool {
	if s == "" {
		return false
	}
	r, n := utf8.DecodeRuneInString(s)
	if isWordRune(r) {
		return !strings.HasPrefix(s, "th ") && !isUnspaced(r, want[len(want)-1])
	}
	if !strings.ContainsAny(want, "@.") || !strings.ContainsRune(".-@", r) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(s[n:])
	return isWordRune(next)
}

// holdsHost finds a URL's host, with or without "www.": what the user named
// may be asked for any of its pages.
func holdsHost(text, url string) bool {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	if i := strings.IndexAny(url, `/\?#`); i >= 0 {
		url = url[:i]
	}
	if i := strings.LastIndexByte(url, '@'); i >= 0 {
		url = url[i+1:]
	}
	url = strings.TrimPrefix(url, "www.")
	return strings.Contains(url, ".") && (holdsWhole(text, url) || holdsWhole(text, "www."+url))
}

// holdsGrouped finds an account number that people write in groups.
func holdsGrouped(text, c string) bool {
	for from := 0; from < len(text); from++ {
		if text[from] != c[0] || from > 0 && isAlnum(text[from-1]) {
			continue
		}
		i, j := from, 0
		for i < len(text) && j < len(c) && (text[i] == c[j] || j > 0 && isSeparator(text[i]) && !isSeparator(text[i-1])) {
			if text[i] == c[j] {
				j++
			}
			i++
		}
		if j == len(c) && (i == len(text) || !isAlnum(text[i])) {
			return true
		}
	}
	return false
}

// holdsPhone finds the number of a phone, however it is grouped.
func holdsPhone(text, d string) bool {
	for from := 0; from < len(text); from++ {
		if text[from] != d[0] || from > 0 && isAlnum(text[from-1]) && !strings.HasSuffix(text[:from], "00") {
			continue
		}
		i, j := from, 0
		for i < len(text) && j < len(d) && (text[i] == d[j] || strings.IndexByte(" -()./", text[i]) >= 0) {
			if text[i] == d[j] {
				j++
			}
			i++
		}
		if j == len(d) && (i == len(text) || !isAlnum(text[i])) {
			return true
		}
	}
	return false
}

// holdsDomain finds a domain behind an address' "@" or by itself. The end or the beginning of
// another domain doesn't count.
func holdsDomain(text, domain string) bool {
	return holdsWhole(text, domain) || holdsWhole(text, "www."+domain) || holdsAfterAt(text, domain)
}

func holdsAfterAt(text, domain string) bool {
	for {
		i := strings.Index(text, "@"+domain)
		if i < 0 {
			return false
		}
		text = text[i+1+len(domain):]
		if !joinsAfter(text, domain) {
			return true
		}
	}
}

func isSeparator(b byte) bool { return b == ' ' || b == '-' }

func isAlnum(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b >= utf8.RuneSelf }

// dropGrouping drops the blanks and hyphens of a value of letters and digits;
// anything else gives "".
func dropGrouping(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ' || c == '-':
		case c < utf8.RuneSelf && isAlnum(c):
			out = append(out, c)
		default:
			return ""
		}
	}
	return string(out)
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }
