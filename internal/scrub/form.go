package scrub

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// form is one way in which a secret may stand in a text.
type form struct {
	text string
	head int  // how much of it is enough
	word bool // only where it stands as a word
}

// minHead is the least part of a secret that counts as it, where that is half of it or more.
const minHead = 12

// writeForms returns the forms of a secret, whose first half is found too.
func writeForms(secret string) []form {
	secret = strings.Trim(secret, " \t\r\n")
	switch {
	case len(secret) < MinWord:
		return nil
	case len(secret) < MinLength:
		return []form{{text: secret, head: len(secret), word: true}}
	}
	var out []form
	for _, t := range encodeSecret(secret) {
		if len(t) >= MinLength {
			out = append(out, form{text: t, head: min(len(t), max(minHead, (len(t)+1)/2))})
		}
	}
	return out
}

// writeWholeForms returns the forms of a value that is found whole alone.
func writeWholeForms(value string) []form {
	if len(value) < MinWhole {
		return nil
	}
	var out []form
	for _, t := range encodeSecret(value) {
		if len(t) >= MinWhole {
			out = append(out, form{text: t, head: len(t)})
		}
	}
	return out
}

// encodeSecret returns the texts that a secret is known by.
func encodeSecret(secret string) []string {
	digits := hex.EncodeToString([]byte(secret))
	texts := []string{secret, digits, strings.ToUpper(digits), url.QueryEscape(secret), strings.ReplaceAll(secret, " ", "+")}
	texts = append(texts, escapeSecret(secret)...)
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			texts = append(texts, encodeBase64Core(enc, secret, offset))
		}
	}
	// A text is searched without its line breaks and escapes, so the forms lose
	// theirs too.
	for _, t := range texts {
		for _, v := range readViews(t) {
			texts = append(texts, v.text)
		}
	}
	return texts
}

// escapeSecret returns a secret with the escapes of a language each. Views undo escapes of
// all languages at once, so what is an escape in the secret itself is lost there: the %41
// of "a&%41" where a text has it as \u0026%41.
func escapeSecret(secret string) []string {
	var plain strings.Builder
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	_ = e.Encode(secret) // a text always has a form
	forHTML, _ := json.Marshal(secret)
	out := []string{html.EscapeString(secret)}
	for _, quoted := range []string{
		strconv.Quote(secret), strconv.QuoteToASCII(secret), strings.TrimSuffix(plain.String(), "\n"), string(forHTML),
	} {
		out = append(out, quoted[1:len(quoted)-1])
	}
	return out
}

// encodeBase64Core returns the characters that depend on secret alone, where offset
// bytes of a group stand before it.
func encodeBase64Core(enc *base64.Encoding, secret string, offset int) string {
	all := enc.EncodeToString(append(make([]byte, offset), secret...))
	whole := (offset + len(secret)) * 8 / 6
	return all[(offset*8+5)/6 : whole]
}

// findPlaces adds the places of f in v to spans.
func (f form) findPlaces(v view, spans []span) []span {
	head := f.text[:f.head]
	for at := 0; ; {
		i := strings.Index(v.text[at:], head)
		if i < 0 {
			return spans
		}
		from := at + i
		to := from + f.head
		for k := f.head; k < len(f.text) && to < len(v.text) && v.text[to] == f.text[k]; k++ {
			to++
		}
		if !f.word || isWordAlone(v.text, from, to) {
			spans = append(spans, span{v.startInWhole(from), v.startInWhole(to-1) + v.widthInWhole(to-1)})
		}
		at = to
	}
}

func isWordAlone(text string, from, to int) bool {
	return (from == 0 || !isWordByte(text[from-1])) && (to == len(text) || !isWordByte(text[to]))
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80
}

// findTornPlace adds what is left of f at the end of v. end is the end of the whole text.
func (f form) findTornPlace(v view, end int, spans []span) []span {
	for _, text := range []string{v.text, withoutTornEscape(v.text)} { // a %, \ or & may be none
		for n := min(len(text), len(f.text)-1); n >= MinWord; n-- {
			if strings.HasSuffix(text, f.text[:n]) {
				spans = append(spans, span{v.startInWhole(len(text) - n), end})
				break
			}
		}
	}
	return spans
}

// withoutTornEscape drops the beginning of an escape that the end of a text cut
// off: %, %4, \, \u00, &am. So it does with the first half of a character in two escapes.
func withoutTornEscape(text string) string {
	return strings.TrimRight(withoutTornPart(text), string(utf8.RuneError))
}

func withoutTornPart(text string) string {
	const longest = 9
	for n := 1; n <= min(longest, len(text)); n++ {
		switch text[len(text)-n] {
		case '%', '\\', '&':
			return text[:len(text)-n]
		case ';', ' ':
			return text
		}
	}
	return text
}
