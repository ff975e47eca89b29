package evidence

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// foldText makes two spellings of one word alike, as sentinel.FoldText does: case,
// compatibility forms and accents. Line breaks stay where they are.
func foldText(s string) string {
	if isPlain(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// wordJoins are characters inside of addresses, hosts and paths: with a letter or digit beyond,
// the word goes on.
const wordJoins = ".-_@/+"

// indexWhole returns where want stands in text as a whole, at or after from; -1 where it
// doesn't. "evil.test" is not in "evil.test.org", nor "ann@x.org" in "joann@x.org".
func indexWhole(text, want string, from int) int {
	if want == "" {
		return -1
	}
	for from <= len(text) {
		i := strings.Index(text[from:], want)
		if i < 0 {
			return -1
		}
		i += from
		if endsWord(text[:i], want) && startsWord(text[i+len(want):], want) {
			return i
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		from = i + size
	}
	return -1
}

func holdsWhole(text, want string) bool { return indexWhole(text, want, 0) >= 0 }

// standsAlone reports whether no letter or digit is beside a part of a text.
func standsAlone(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return (from == 0 || !isWordRune(before)) && (to == len(text) || !isWordRune(after))
}

func endsWord(before, want string) bool {
	r, size := utf8.DecodeLastRuneInString(before)
	switch {
	case size == 0:
		return true
	case isWordRune(r):
		return isUnspaced(r) && want[0] < utf8.RuneSelf
	case !strings.ContainsRune(wordJoins, r):
		return true
	}
	r, size = utf8.DecodeLastRuneInString(before[:len(before)-size])
	return size == 0 || !isWordRune(r)
}

func startsWord(after, want string) bool {
	r, size := utf8.DecodeRuneInString(after)
	switch {
	case size == 0:
		return true
	case isWordRune(r):
		return isUnspaced(r) && want[len(want)-1] < utf8.RuneSelf
	case !strings.ContainsRune(wordJoins, r):
		return true
	}
	r, size = utf8.DecodeRuneInString(after[size:])
	return size == 0 || !isWordRune(r)
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// isUnspaced reports whether a letter is of a script that puts no blanks between words.
func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// wordsOf splits a folded text into runs of letters and digits.
func wordsOf(fold string) []string {
	return strings.FieldsFunc(fold, func(r rune) bool { return !isWordRune(r) })
}

// splitName splits the name of an argument or a skill into folded words: "toAddress" is to and
// address.
func splitName(name string) []string {
	if isSmallLetters(name) {
		return []string{name}
	}
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return wordsOf(b.String())
}

// isSmallLetters reports whether a name is one word as most are.
func isSmallLetters(name string) bool {
	for i := range len(name) {
		if name[i] < 'a' || name[i] > 'z' {
			return false
		}
	}
	return name != ""
}

func wordSet(row string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(row) {
		out[w] = true
	}
	return out
}

func hasAny(words []string, in map[string]bool) bool {
	for _, w := range words {
		if in[w] {
			return true
		}
	}
	return false
}

func lastOf(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	return words[len(words)-1:]
}

func hasDigit(s string) bool {
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			return true
		}
	}
	return false
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
