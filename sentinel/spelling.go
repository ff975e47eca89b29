package sentinel

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"
)

// FoldText makes two spellings of one word alike: case, compatibility forms (full
// width letters, ligatures) and accents. Letters of other scripts that look alike stay
// different.
func FoldText(s string) string {
	if plainASCII(s) {
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

// ExactText returns a text in small letters and one form for each of them, with its
// accents.
func ExactText(s string) string { return exactText(s, "") }

// exactText is ExactText of a text whose FoldText may be known: in plain letters both
// are the same.
func exactText(s, fold string) string {
	switch {
	case !plainASCII(s):
		return strings.ToLower(norm.NFKC.String(s))
	case fold != "":
		return fold
	}
	return strings.ToLower(s)
}

func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// maxNested is how deep JSON is read that stands in a string of JSON.
const maxNested = 3

// MeantText returns a result as its values are meant: of JSON the scalars and keys, a line
// each, and any other text as it is.
func MeantText(s string) string { return decodeScalars(s) }

// decodeScalars returns the scalars and keys of a JSON text, one after the other with
// line breaks between them, and any other text as it is.
func decodeScalars(s string) string {
	var b strings.Builder
	if !writeScalars(&b, s, 0) {
		return s
	}
	return b.String()
}

// writeScalars reports whether the text is JSON: one value or several.
func writeScalars(b *strings.Builder, s string, deep int) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	if s == "" || s[0] != '{' && s[0] != '[' && (s[0] != '"' || deep > 0) {
		return false
	}
	d := jsontext.NewDecoder(strings.NewReader(s), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	start := b.Len()
	for {
		tok, err := d.ReadToken()
		if err != nil {
			if d.StackDepth() == 0 && d.InputOffset() > 0 && strings.TrimSpace(s[d.InputOffset():]) == "" {
				return true
			}
			return takeBackText(b, start)
		}
		switch tok.Kind() {
		case '{', '}', '[', ']':
			continue
		}
		if text := tok.String(); deep >= maxNested || tok.Kind() != '"' || !writeScalars(b, text, deep+1) {
			b.WriteString(text)
		}
		b.WriteByte('\n')
	}
}

// takeBackText takes back what was written of a text that turned out to be no JSON.
func takeBackText(b *strings.Builder, to int) bool {
	kept := b.String()[:to]
	b.Reset()
	b.WriteString(kept)
	return false
}

// undoEscapes returns a text as a receiver may read it that undoes escapes, entities and
// characters that no screen shows, and with spaces, one blank for each run of them; nil
// where that is the same text.
func undoEscapes(text string, spaces bool) *Said {
	out := text
	for range 2 {
		if strings.Contains(out, `\`) {
			out = decodeBackslashes(out)
		}
		if strings.Contains(out, "%") {
			out = decodePercents(out)
		}
		if strings.Contains(out, "&") {
			out = html.UnescapeString(out)
		}
	}
	if !plainASCII(out) {
		out = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) { // separators stay: without one, two words are one
				return -1
			}
			return r
		}, out)
	}
	if spaces && (strings.ContainsAny(out, "\n\r\t\u00a0") || strings.Contains(out, "  ")) {
		out = strings.Join(strings.Fields(out), " ")
	}
	if out == text {
		return nil
	}
	return newSaid(out)
}

// decodeBackslashes undoes the escapes of JSON in a text that is not JSON as a whole.
func decodeBackslashes(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n', 'r', 't', 'b', 'f':
			b.WriteByte(' ')
		case 'u', 'x':
			digits := 4
			if c == 'x' {
				digits = 2
			}
			if r, ok := readHexRune(s[i+1:], digits); ok {
				b.WriteRune(r)
				i += digits
				continue
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func decodePercents(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if r, ok := readHexRune(s[i+1:], 2); s[i] == '%' && ok {
			b = append(b, byte(r))
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	return strings.ToValidUTF8(string(b), "")
}

// readHexRune reads so many digits at the beginning of a text.
func readHexRune(s string, digits int) (rune, bool) {
	if len(s) < digits {
		return 0, false
	}
	var r rune
	for i := range digits {
		if !isHexDigit(s[i]) {
			return 0, false
		}
		v := rune(s[i] | 0x20)
		if v >= 'a' {
			v -= 'a' - 10
		} else {
			v -= '0'
		}
		r = r<<4 | v
	}
	return r, true
}

// keepLettersAndDigits keeps the letters and digits of a text, folded: what is left however it is
// quoted, broken up and set apart.
func keepLettersAndDigits(s string) string {
	s = FoldText(s)
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}
