package scrub

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// view is a text as a search sees it: without line breaks, or with its escapes
// undone as well. It knows where each of its bytes stands in the whole text.
type view struct {
	text string
	at   []int32 // nil where every byte stands in its own place
	wide []uint8 // how many bytes of the whole text each stands for; nil: one
}

func (v view) startInWhole(i int) int {
	if v.at == nil {
		return i
	}
	return int(v.at[i])
}

func (v view) widthInWhole(i int) int {
	if v.wide == nil {
		return 1
	}
	return int(v.wide[i])
}

// readViews returns the ways to read a text, each of them once.
func readViews(text string) []view {
	plain := view{text: text}
	out := []view{plain}
	if strings.ContainsAny(text, "\r\n") {
		out = append(out, plain.readWith(joinLine))
	}
	if !strings.ContainsAny(text, `\%&`) {
		return out
	}
	once := plain.readWith(undoOneEscape)
	out = append(out, once)
	if twice := once.readWith(undoOneEscape); twice.text != once.text {
		out = append(out, twice)
	}
	return out
}

// step reads what stands at the beginning of a text: the bytes that it means, and
// how many bytes it has; n is 0 where it is an ordinary byte.
type step func(text string) (means string, n int)

func (v view) readWith(s step) view {
	out := view{at: make([]int32, 0, len(v.text)), wide: make([]uint8, 0, len(v.text))}
	b := make([]byte, 0, len(v.text))
	add := func(c byte, i, n int) {
		from := v.startInWhole(i)
		b, out.at, out.wide = append(b, c), append(out.at, int32(from)),
			append(out.wide, uint8(min(v.startInWhole(i+n-1)+v.widthInWhole(i+n-1)-from, 255)))
	}
	for i := 0; i < len(v.text); {
		means, n := s(v.text[i:])
		if n == 0 {
			add(v.text[i], i, 1)
			i++
			continue
		}
		for k := range len(means) {
			add(means[k], i, n)
		}
		i += n
	}
	out.text = string(b)
	return out
}

// joinLine drops a line break with the blanks that begin the next line.
func joinLine(text string) (string, int) {
	if text[0] != '\r' && text[0] != '\n' {
		return "", 0
	}
	rest := strings.TrimLeft(text, "\r\n")
	return "", len(text) - len(strings.TrimLeft(rest, " \t"))
}

// undoOneEscape undoes one escape of JSON, URLs or HTML, and drops line breaks,
// written ones too.
func undoOneEscape(text string) (string, int) {
	switch text[0] {
	case '\r', '\n':
		return joinLine(text)
	case '%':
		if len(text) > 2 {
			if c, err := strconv.ParseUint(text[1:3], 16, 8); err == nil {
				return withoutBreak(string([]byte{byte(c)})), 3
			}
		}
	case '\\':
		return undoBackslash(text)
	case '&':
		return undoEntity(text)
	}
	return "", 0
}

func withoutBreak(s string) string {
	if s == "\n" || s == "\r" {
		return ""
	}
	return s
}

func undoBackslash(text string) (string, int) {
	if len(text) < 2 {
		return "", 0
	}
	switch text[1] {
	case '"', '\\', '/', '\'':
		return text[1:2], 2
	case 'n', 'r': // a line's end; the blanks that begin the next go too
		return "", len(text) - len(strings.TrimLeft(text[2:], " \t"))
	case 'a', 'b', 'f', 't', 'v':
		return string(shortEscapes[text[1]]), 2
	case 'u':
		return undoUnicode(text)
	case 'U':
		if len(text) >= 10 {
			if r, err := strconv.ParseUint(text[2:10], 16, 32); err == nil {
				return withoutBreak(string(rune(r))), 10
			}
		}
	case 'x':
		if len(text) >= 4 {
			if c, err := strconv.ParseUint(text[2:4], 16, 8); err == nil {
				return withoutBreak(string([]byte{byte(c)})), 4
			}
		}
	}
	return "", 0
}

var shortEscapes = map[byte]rune{'a': '\a', 'b': '\b', 'f': '\f', 't': '\t', 'v': '\v'}

// undoUnicode undoes \u and its digits, two of them where they are the halves of one
// character.
func undoUnicode(text string) (string, int) {
	first, ok := parseUnicode(text)
	if !ok {
		return "", 0
	}
	if utf16.IsSurrogate(first) {
		if second, ok := parseUnicode(text[6:]); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return string(r), 12
			}
		}
	}
	return withoutBreak(string(first)), 6
}

func parseUnicode(text string) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	r, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(r), err == nil
}

func undoEntity(text string) (string, int) {
	end := strings.IndexByte(text[:min(len(text), 10)], ';')
	if end < 0 {
		return "", 0
	}
	if means := html.UnescapeString(text[:end+1]); means != text[:end+1] {
		return withoutBreak(means), end + 1
	}
	return "", 0
}
