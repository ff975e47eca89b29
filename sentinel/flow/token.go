package flow

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// weight says what a word of private data tells.
type weight uint8

const (
	dull    weight = iota // nothing: a date, a small number, a file's name
	word                  // a word of the language, or a name
	weak                  // a small number, an id, an address: three of them tell
	telling               // an id or a number that is shared by no chance
	secret                // what is shaped or labelled as one
)

// token is one word of a body, in the body's bytes.
type token struct {
	from, to int32
	weight   weight
	common   bool
	date     bool   // or the name of a file
	number   string // its digits that count, of a number
}

// body is a text of letters and digits alone, with the words that it is made of.
type body struct {
	text   []byte
	tokens []token // in order
	groups []token // what several of them come to
	cut    bool    // the text was longer
}

// joins stand within a word: in addresses, numbers, dates.
const joins = "-._/:,'@+’"

// newBody reads a folded text.
func newBody(fold string) *body {
	b := &body{}
	if len(fold) > maxBody {
		fold, b.cut = fold[:maxBody], true
	}
	b.text = make([]byte, 0, len(fold))
	eachWord(fold, func(w string) {
		from := len(b.text)
		b.text = appendPlain(b.text, w)
		if t := classify(w, string(b.text[from:])); len(b.text) > from {
			t.from, t.to = int32(from), int32(len(b.text))
			b.tokens = append(b.tokens, t)
		}
	})
	b.addGroups()
	return b
}

// addSecret adds a secret as one word.
func (b *body) addSecret(value string) {
	from := len(b.text)
	b.text = appendPlain(b.text, value)
	if len(b.text) > from {
		b.tokens = append(b.tokens, token{from: int32(from), to: int32(len(b.text)), weight: secret})
	}
	b.text = append(b.text, 0) // no passage goes over it
}

// maxGroup is how many words a number or an account that is written in groups has.
const maxGroup = 10

// addGroups adds what words with digits that follow each other come to: "DE44 5001 0517".
func (b *body) addGroups() {
	list := b.tokens
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && j-i < maxGroup && b.isGroup(list[j]) {
			j++
		}
		if j-i > 1 && list[j-1].to-list[i].from >= minGrouped {
			b.groups = append(b.groups, token{from: list[i].from, to: list[j-1].to, weight: telling})
		}
		i = max(j, i+1)
	}
}

// minGrouped is the least length of what is written in groups.
const minGrouped = 10

func (b *body) isGroup(t token) bool {
	n := t.to - t.from
	return !t.date && t.weight != word && (n >= 2 && n <= 8 && t.number != "" || n == 4)
}

// eachWord calls fn for each word of a text. A sign that stands between letters or digits
// is part of the word.
func eachWord(s string, fn func(string)) {
	start := -1
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case isPlain(r):
			if start < 0 {
				start = i
			}
		case start >= 0 && strings.ContainsRune(joins, r) && beginsPlain(s[i+size:]):
		case start >= 0:
			fn(s[start:i])
			start = -1
		}
		i += size
	}
	if start >= 0 {
		fn(s[start:])
	}
}

func isPlain(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func beginsPlain(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return size > 0 && isPlain(r)
}

// appendPlain appends the letters and digits of a text, in small letters.
func appendPlain(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			return appendAnyPlain(b, s[i:])
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b = append(b, c)
		case c >= 'A' && c <= 'Z':
			b = append(b, c+'a'-'A')
		}
	}
	return b
}

func appendAnyPlain(b []byte, s string) []byte {
	for _, r := range s {
		if isPlain(r) {
			b = utf8.AppendRune(b, unicode.ToLower(r))
		}
	}
	return b
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// classify weighs a word. plain is the word without its signs.
func classify(w, plain string) token {
	switch {
	case strings.IndexByte(w, '@') > 0:
		return token{weight: weak}
	case !hasDigit(plain):
		return token{weight: word, common: commonWords[plain]}
	case isDate(w), isFile(w):
		return token{weight: dull, date: true}
	}
	if digits, ok := normalizeNumber(w); ok {
		return token{weight: weighNumber(digits, len(plain)), number: digits, date: isYear(digits)}
	}
	n := 0
	for i := range len(plain) {
		if plain[i] >= '0' && plain[i] <= '9' {
			n++
		}
	}
	switch {
	case len(plain) >= 8 && n >= 3:
		return token{weight: telling}
	case len(plain) >= 5 && n >= 2:
		return token{weight: weak}
	}
	return token{weight: dull}
}

// weighNumber weighs a number by its digits that count: those of 12,000.00 are two.
func weighNumber(digits string, written int) weight {
	count := len(strings.Trim(strings.ReplaceAll(digits, ".", ""), "0"))
	switch {
	case isYear(digits):
		return dull
	case count >= 5, written >= 9 && count >= 4:
		return telling
	case count >= 3:
		return weak
	}
	return dull
}

func isYear(digits string) bool {
	n, err := strconv.Atoi(digits)
	return err == nil && n >= 1900 && n <= 2100
}

// isDate reports whether a word is a date or a time: numbers of at most four digits between
// the same signs, with the letters of a time zone at most.
func isDate(w string) bool {
	w = strings.TrimRight(w, "z")
	parts := strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune("-/:.t+", r) })
	if len(parts) < 2 || len(parts) > 9 {
		return len(w) == 8 && isCompactDate(w)
	}
	signs := strings.ContainsAny(w, "-/:") || strings.Count(w, ".") == 2 && len(parts) == 3
	years := 0
	for _, p := range parts {
		n, err := strconv.Atoi(p)
		switch {
		case err != nil || len(p) > 4 || len(p) == 3 && !strings.Contains(w, ":"):
			return false
		case len(p) == 4:
			if years++; n < 1900 || n > 2100 {
				return false
			}
		case len(p) <= 2 && n > 60:
			return len(parts) == 3 && n < 100 && years == 0 && signs
		}
	}
	return signs && years <= 1
}

func isCompactDate(w string) bool {
	y, err := strconv.Atoi(w[:4])
	m, err2 := strconv.Atoi(w[4:6])
	d, err3 := strconv.Atoi(w[6:])
	return err == nil && err2 == nil && err3 == nil && y >= 1900 && y <= 2100 && m >= 1 && m <= 12 && d >= 1 && d <= 31
}

// isFile reports whether a word is a file's name.
func isFile(w string) bool {
	i := strings.LastIndexByte(w, '.')
	return i > 0 && fileEndings[w[i+1:]]
}

// normalizeNumber writes a number without separators, and without zeros at its ends that say nothing.
// "1.840,00", "1,840.00" and "1840" are the same.
func normalizeNumber(w string) (string, bool) {
	for i := range len(w) {
		if c := w[i]; (c < '0' || c > '9') && c != '.' && c != ',' && c != '\'' {
			return "", false
		}
	}
	whole, cents := w, ""
	i := strings.LastIndexAny(w, ".,")
	if i >= 0 && (len(w)-i-1 <= 2 || strings.Count(w, w[i:i+1]) == 1 && strings.ContainsAny(w[:i], ".,'")) {
		whole, cents = w[:i], strings.TrimRight(w[i+1:], "0")
	}
	whole = strings.TrimLeft(strings.NewReplacer(".", "", ",", "", "'", "").Replace(whole), "0")
	if cents != "" {
		whole += "." + cents
	}
	return whole, true
}
