// Package span reads JSON as parts of its text: members, elements and texts are slices of it.
//
// What a proxy doesn't change it forwards as it came, so it must know where a value stands and
// not what a decoder makes of it. Check a text with IsObject first. All other functions take
// for granted that it is valid: no key twice, valid UTF-8, bounded nesting.
//
// MayCarryCall answers for members that aren't known: whether a client could find a call in it.
//
// The package isn't stable: docs/api.md lists those that are.
package span

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds nesting. No provider comes near it.
const maxDepth = 200

// IsObject reports whether data is one JSON object: strict syntax, valid UTF-8, no key twice on
// any level, not nested too deep.
func IsObject(data []byte) bool {
	return len(data) > 0 && data[0] == '{' && isShallow(data) && jsontext.Value(data).IsValid()
}

// isShallow counts brackets outside of texts. It assumes nothing about validity.
func isShallow(data []byte) bool {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = endOfText(data, i) - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return false
			}
		case '}', ']':
			depth--
		}
	}
	return true
}

// Iter walks an object's members or a list's elements.
type Iter struct {
	// Key is the member's name, decoded; nil in a list.
	Key []byte
	// Value is the value's text, a part of what is walked, and From is where it begins there.
	Value []byte
	From  int

	raw    []byte
	at     int
	object bool
}

// Members walks an object. Of anything else it walks nothing.
func Members(object []byte) Iter { return newIter(object, '{') }

// Elements walks a list. Of anything else it walks nothing.
func Elements(list []byte) Iter { return newIter(list, '[') }

func newIter(raw []byte, open byte) Iter {
	if len(raw) == 0 || raw[0] != open {
		return Iter{}
	}
	return Iter{raw: raw, at: 1, object: open == '{'}
}

// Next goes to the next value and reports whether there is one.
func (it *Iter) Next() bool {
	it.skip()
	if it.at >= len(it.raw) || it.raw[it.at] == '}' || it.raw[it.at] == ']' {
		return false
	}
	if it.object {
		end := endOfText(it.raw, it.at)
		it.Key = unquote(it.raw[it.at:end])
		it.at = end
		it.skip()
	}
	it.From = it.at
	it.at = endOfValue(it.raw, it.at)
	it.Value = it.raw[it.From:it.at]
	return true
}

// skip goes past blanks, commas and colons: in valid JSON they decide nothing.
func (it *Iter) skip() {
	for it.at < len(it.raw) {
		switch it.raw[it.at] {
		case ' ', '\t', '\r', '\n', ',', ':':
			it.at++
		default:
			return
		}
	}
}

// endOfText returns the place behind the text that begins at i.
func endOfText(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return len(raw)
		}
		if esc := bytes.IndexByte(raw[i:i+n], '\\'); esc >= 0 {
			i += esc + 1
			continue
		}
		return i + n + 1
	}
	return len(raw)
}

// endOfValue returns the place behind the value that begins at i.
func endOfValue(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = endOfText(raw, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

func unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 && len(quoted) >= 2 {
		return quoted[1 : len(quoted)-1]
	}
	out, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return []byte("tool") // not decodable: treated as a name that may carry a call
	}
	return out
}

// Text returns the decoded text of a string value; ok is false for any other value. A text
// without escapes is a part of value.
func Text(value []byte) (text []byte, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1], true
	}
	out, err := jsontext.AppendUnquote(nil, value)
	return out, err == nil
}

// Number returns a value that is a plain whole number from 0 on, as indices are written.
func Number(value []byte) (n int, ok bool) {
	if len(value) == 0 || len(value) > 9 || value[0] == '0' && len(value) > 1 {
		return 0, false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// IsNull reports whether a value is null.
func IsNull(value []byte) bool { return string(value) == "null" }

// IsEmpty reports whether a value holds nothing: null, "", [] or {}.
func IsEmpty(value []byte) bool {
	switch string(value) {
	case "null", `""`, "[]", "{}":
		return true
	}
	if len(value) > 1 && (value[0] == '[' || value[0] == '{') {
		return len(bytes.TrimSpace(value[1:len(value)-1])) == 0
	}
	return false
}

// Member returns the value of a member, nil where there is none.
func Member(object []byte, name string) []byte {
	for it := Members(object); it.Next(); {
		if string(it.Key) == name {
			return it.Value
		}
	}
	return nil
}

// AppendQuote appends text as a JSON string. What isn't UTF-8 becomes the replacement character.
func AppendQuote(dst []byte, text string) []byte {
	out, err := jsontext.AppendQuote(dst, strings.ToValidUTF8(text, "\ufffd"))
	if err != nil {
		return append(dst, `""`...)
	}
	return out
}

// Edit appends object with some members changed: change returns a member's new value, which may
// be the one that it has, or nil to leave the member out.
func Edit(dst, object []byte, change func(key string, value []byte) []byte) []byte {
	dst = append(dst, '{')
	first := true
	for it := Members(object); it.Next(); {
		value := change(string(it.Key), it.Value)
		if value == nil {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(AppendQuote(dst, string(it.Key)), ':')
		dst = append(dst, value...)
	}
	return append(dst, '}')
}

// Place is where a value stands in a text; its zero value is no place.
type Place struct{ From, To int }

// Splice appends raw with the text at p replaced.
func Splice(dst, raw []byte, p Place, text string) []byte {
	dst = append(dst, raw[:p.From]...)
	dst = append(dst, text...)
	return append(dst, raw[p.To:]...)
}

// AppendNumber appends a whole number.
func AppendNumber(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }

// callWords are in the names of whatever clients read as a call.
var callWords = []string{"tool", "func", "call", "argument", "invoc", "invok", "command", "exec"}

// NamesCall reports whether a name could be one that clients read a call from. It is generous:
// letter case, marks between letters and letters that fold to others make no difference.
func NamesCall(name []byte) bool {
	var few [64]byte
	plain := few[:0]
	for _, r := range string(name) {
		switch {
		case r >= 'a' && r <= 'z':
			plain = append(plain, byte(r))
		case r >= 'A' && r <= 'Z':
			plain = append(plain, byte(r)+'a'-'A')
		case r >= unicode.MaxASCII:
			plain = append(plain, foldOf(r)...)
		}
	}
	for _, w := range callWords {
		if bytes.Contains(plain, []byte(w)) {
			return true
		}
	}
	return false
}

// foldOf returns the ASCII letter that a character folds to, as Go's decoder compares names.
func foldOf(r rune) string {
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f < unicode.MaxASCII {
			return string(unicode.ToLower(f))
		}
	}
	return ""
}

// MayCarryCall reports whether a client could find a call in a member that isn't known. Names
// decide, the member's own and those of all members below, and what a "type" says. A member
// that holds nothing carries nothing.
func MayCarryCall(key, value []byte) bool {
	if IsEmpty(value) || string(value) == "false" {
		return false
	}
	return NamesCall(key) || HoldsCall(value)
}

// HoldsCall is MayCarryCall for a value whose own name is known.
func HoldsCall(value []byte) bool {
	if len(value) == 0 {
		return false
	}
	switch value[0] {
	case '{':
		for it := Members(value); it.Next(); {
			if MayCarryCall(it.Key, it.Value) || strings.EqualFold(string(it.Key), "type") && namesCallKind(it.Value) {
				return true
			}
		}
	case '[':
		for it := Elements(value); it.Next(); {
			if HoldsCall(it.Value) {
				return true
			}
		}
	}
	return false
}

// Counts reports whether a usage object counts and says nothing else. The names in it speak of
// tools, so it may hold those, but then no text.
func Counts(usage []byte) bool { return !HoldsCall(usage) || !holdsText(usage) }

func holdsText(value []byte) bool {
	if len(value) > 0 && value[0] == '{' {
		for it := Members(value); it.Next(); {
			if holdsText(it.Value) {
				return true
			}
		}
		return false
	}
	for it := Elements(value); it.Next(); {
		if holdsText(it.Value) {
			return true
		}
	}
	return len(value) > 0 && value[0] == '"'
}

func namesCallKind(value []byte) bool {
	text, ok := Text(value)
	return ok && NamesCall(text)
}

// NamesTwice reports whether an object has a name in two letter cases: decoders that fold case
// read the other one.
func NamesTwice(object []byte) bool {
	for it := Members(object); it.Next(); {
		for rest := it; rest.Next(); {
			if bytes.EqualFold(it.Key, rest.Key) {
				return true
			}
		}
	}
	return false
}

// Resembles reports whether a name that isn't known is a known one in other letters: a decoder
// that folds case would read it as that.
func Resembles(name []byte, known ...string) bool {
	for _, k := range known {
		if strings.EqualFold(string(name), k) {
			return true
		}
	}
	return false
}
