package host

import (
	"strings"
	"unicode/utf8"
)

// UnicodeHost returns text with each label in it that is spelt in Punycode
// ("xn--mnchen-3ya.de") as it is shown to people ("münchen.de"), so that it can
// be compared with what they wrote. What can't be decoded stays.
func UnicodeHost(text string) string {
	if !hasPuny(text) {
		return text
	}
	var b strings.Builder
	for text != "" {
		i := strings.IndexFunc(text, func(r rune) bool { return !isLabelRune(r) })
		if i < 0 {
			i = len(text)
		}
		label := text[:i]
		if u, ok := decodeLabel(label); ok {
			label = u
		}
		b.WriteString(label)
		_, n := utf8.DecodeRuneInString(text[i:])
		b.WriteString(text[i : i+n])
		text = text[i+n:]
	}
	return b.String()
}

func isLabelRune(r rune) bool { return r < 0x80 && (isLetter(byte(r)) || isDigit(byte(r)) || r == '-') }

func hasPuny(text string) bool {
	for i := 0; i+4 <= len(text); i++ {
		if text[i+2] == '-' && hasPrefixFold(text[i:], "xn--") {
			return true
		}
	}
	return false
}

// The parameters of RFC 3492, section 5.
const (
	punyBase, punyMin, punyMax   = 36, 1, 26
	punySkew, punyDamp, punyBias = 38, 700, 72
	maxLabel                     = 63
)

// decodeLabel decodes one label.
func decodeLabel(label string) (string, bool) {
	if len(label) > maxLabel || !hasPrefixFold(label, "xn--") {
		return "", false
	}
	rest := strings.ToLower(label[4:])
	var out []rune
	if i := strings.LastIndexByte(rest, '-'); i >= 0 {
		out, rest = []rune(rest[:i]), rest[i+1:]
	}
	n, bias, at := 0x80, punyBias, 0
	for first := true; rest != ""; first = false {
		delta, used, ok := readDelta(rest, bias)
		if !ok {
			return "", false
		}
		rest = rest[used:]
		at += delta
		bias = adaptBias(delta, len(out)+1, first)
		n += at / (len(out) + 1)
		at %= len(out) + 1
		if n < 0xa0 || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) { // control characters are no letters
			return "", false
		}
		out = append(out[:at], append([]rune{rune(n)}, out[at:]...)...)
		at++
	}
	return string(out), true
}

// readDelta reads one number of variable length.
func readDelta(s string, bias int) (delta, used int, ok bool) {
	w := 1
	for k := punyBase; used < len(s); k += punyBase {
		var d int
		switch c := s[used]; {
		case isDigit(c):
			d = int(c-'0') + 26
		case isLetter(c):
			d = int(c - 'a')
		default:
			return 0, 0, false
		}
		used++
		delta += d * w
		t := min(max(k-bias, punyMin), punyMax)
		if delta > 1<<28 {
			return 0, 0, false
		}
		if d < t {
			return delta, used, true
		}
		if w *= punyBase - t; w > 1<<24 {
			return 0, 0, false
		}
	}
	return 0, 0, false
}

func adaptBias(delta, points int, first bool) int {
	if first {
		delta /= punyDamp
	} else {
		delta /= 2
	}
	delta += delta / points
	k := 0
	for ; delta > (punyBase-punyMin)*punyMax/2; k += punyBase {
		delta /= punyBase - punyMin
	}
	return k + (punyBase-punyMin+1)*delta/(delta+punySkew)
}
