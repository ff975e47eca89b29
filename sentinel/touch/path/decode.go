package path

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const maxDecodes = 5 // rounds of percent decoding

// DecodeText undoes what may hide a path: percent escapes (repeated, overlong,
// %uXXXX, malformed), "0x2f" and "..2f" for a slash, backslashes, look-alike
// dots and slashes, control bytes. NUL bytes stay: two readers differ in them.
// It reads like the laxest receiver, so use its result beside the literal text
// and never instead of it.
func DecodeText(s string) string {
	if needsNoDecoding(s) {
		return s
	}
	for range maxDecodes {
		d := decodeHexSeparators(DecodePercent(s))
		if d == s {
			break
		}
		s = d
	}
	s = foldLookalikes(decodeLaxUTF8(s))
	return strings.ReplaceAll(s, `\`, "/")
}

// needsNoDecoding reports whether DecodeText has nothing to do: the common case.
func needsNoDecoding(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c == '%' || c == '\\' || c >= 0x7f:
			return false
		case (c == 'f' || c == 'F' || c == 'c' || c == 'C') && i > 2 && (s[i-1] == '2' || s[i-1] == '5'):
			return false
		}
	}
	return true
}

// DecodePercent decodes each escape once. A malformed one beside dots is how
// filters are fooled (%bg%qf, %c1%pc): it reads as a separator.
func DecodePercent(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	dotted := strings.Contains(s, ".")
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if r, ok := readHexRune(s, i+1); ok {
			b = utf8.AppendRune(b, r)
			i += 5
			continue
		}
		if v, ok := readHexByte(s, i+1); ok {
			b = append(b, v)
			i += 2
			continue
		}
		if dotted && i+2 < len(s) && isLetter(s[i+1]) && isLetter(s[i+2]) {
			b = append(b, '/')
			i += 2
			continue
		}
		b = append(b, '%')
	}
	return string(b)
}

func readHexByte(s string, i int) (byte, bool) {
	if i+2 > len(s) {
		return 0, false
	}
	hi, lo := hexValue(s[i]), hexValue(s[i+1])
	return hi<<4 | lo&0xf, hi < 16 && lo < 16
}

// readHexRune reads the u2215 of %u2215.
func readHexRune(s string, i int) (rune, bool) {
	if i+5 > len(s) || s[i]|0x20 != 'u' {
		return 0, false
	}
	hi, ok1 := readHexByte(s, i+1)
	lo, ok2 := readHexByte(s, i+3)
	return rune(hi)<<8 | rune(lo), ok1 && ok2
}

func hexValue(c byte) byte {
	switch {
	case isDigit(c):
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 0xff
}

// decodeHexSeparators reads 0x2f, 0x5c and, after two dots, 2f and 5c as separators.
func decodeHexSeparators(s string) string {
	var b []byte
	from := 0
	for i := 2; i+1 < len(s); i++ {
		if !isSeparatorHex(s[i : i+2]) {
			continue
		}
		start := i
		switch {
		case s[i-2] == '0' && s[i-1]|0x20 == 'x':
			start = i - 2
		case s[i-2] == '.' && s[i-1] == '.':
		case b != nil && endsInSlash(b) && i-from > 0 && !strings.Contains(s[from:i], "/"):
			// once one separator was spelt this way, so are the others
		default:
			continue
		}
		if start < from {
			continue
		}
		b = append(append(b, s[from:start]...), '/')
		from = i + 2
		i++
	}
	if b == nil {
		return s
	}
	return string(append(b, s[from:]...))
}

func endsInSlash(b []byte) bool { return b[len(b)-1] == '/' }

func isSeparatorHex(s string) bool {
	return s[0] == '2' && s[1]|0x20 == 'f' || s[0] == '5' && s[1]|0x20 == 'c'
}

// decodeLaxUTF8 decodes UTF-8 as careless decoders do: overlong forms count, bytes that
// fit nowhere and control bytes except NUL are dropped.
func decodeLaxUTF8(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		c := s[i]
		if c < 0x80 {
			if c >= ' ' && c != 0x7f || c == 0 {
				b = append(b, c)
			}
			i++
			continue
		}
		if r, n := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n > 1 {
			b = append(b, s[i:i+n]...)
			i += n
			continue
		}
		r, n := readOverlong(s[i:])
		if n > 0 && r < 0x80 && r != 0 {
			b = append(b, byte(r))
		}
		i += max(n, 1)
	}
	return string(b)
}

func readOverlong(s string) (rune, int) {
	n, r := 0, rune(0)
	switch c := s[0]; {
	case c&0xe0 == 0xc0:
		n, r = 2, rune(c&0x1f)
	case c&0xf0 == 0xe0:
		n, r = 3, rune(c&0x0f)
	case c&0xf8 == 0xf0:
		n, r = 4, rune(c&0x07)
	case c&0xfc == 0xf8:
		n, r = 5, rune(c&0x03)
	case c&0xfe == 0xfc:
		n, r = 6, rune(c&0x01)
	}
	if n == 0 || n > len(s) {
		return 0, 0
	}
	for i := 1; i < n; i++ {
		if s[i]&0xc0 != 0x80 {
			return 0, 0
		}
		r = r<<6 | rune(s[i]&0x3f)
	}
	return r, n
}

var lookalike = strings.NewReplacer(
	"\u2215", "/", "\u2044", "/", "\u29f8", "/", "\u2571", "/",
	"\u2216", `\`, "\u29f5", `\`, "\u29f9", `\`,
	"\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "", "\u00ad", "", // nothing that ends or separates
)

// foldLookalikes maps other spellings of a character to it: full-width letters,
// dot leaders, the division slash; invisible ones go.
func foldLookalikes(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return norm.NFKC.String(lookalike.Replace(s))
		}
	}
	return s
}
