package sentinel

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// errNotCanonical is what canonicalReader says of text that no canonicaliser
// wrote. Its callers have a message of their own.
var errNotCanonical = errors.New("not canonical JSON")

// readAll returns the Go values of an object in RFC 8785 form, as
// json.Decoder with UseNumber returns them. It is for what plainForm or jsontext has
// just written and nothing else: there are no blanks, few escapes, and the nesting
// is bounded. Texts without an escape are parts of s and not copies, so that a
// large argument is read without being moved.
func (r *canonicalReader) readAll() (map[string]any, error) {
	v, err := r.readValue()
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok || r.at != len(r.s) {
		return nil, errNotCanonical
	}
	return m, nil
}

type canonicalReader struct {
	s    string
	at   int
	keys int // of all objects so far
	// foldable is set where a key holds more than small letters and marks of ASCII: only
	// such a key can be another one in another case.
	foldable bool
}

// skipByte takes one byte if it is c.
func (r *canonicalReader) skipByte(c byte) bool {
	if r.at < len(r.s) && r.s[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *canonicalReader) readWord(w string, v any) (any, error) {
	if !strings.HasPrefix(r.s[r.at:], w) {
		return nil, errNotCanonical
	}
	r.at += len(w)
	return v, nil
}

func (r *canonicalReader) readValue() (any, error) {
	if r.at >= len(r.s) {
		return nil, errNotCanonical
	}
	switch r.s[r.at] {
	case '{':
		return r.readObject()
	case '[':
		return r.readList()
	case '"':
		return r.readText()
	case 't':
		return r.readWord("true", true)
	case 'f':
		return r.readWord("false", false)
	case 'n':
		return r.readWord("null", nil)
	}
	start := r.at
	for r.at < len(r.s) && strings.IndexByte("+-.eE0123456789", r.s[r.at]) >= 0 {
		r.at++
	}
	if r.at == start {
		return nil, errNotCanonical
	}
	return json.Number(r.s[start:r.at]), nil
}

func (r *canonicalReader) readObject() (any, error) {
	r.at++
	m := map[string]any{}
	if r.skipByte('}') {
		return m, nil
	}
	for {
		k, err := r.readText()
		if err != nil {
			return nil, err
		}
		if !r.skipByte(':') {
			return nil, errNotCanonical
		}
		r.keys++
		r.foldable = r.foldable || !isLowerKey(k)
		if m[k], err = r.readValue(); err != nil {
			return nil, err
		}
		if r.skipByte('}') {
			return m, nil
		}
		if !r.skipByte(',') {
			return nil, errNotCanonical
		}
	}
}

func (r *canonicalReader) readList() (any, error) {
	r.at++
	l := []any{}
	if r.skipByte(']') {
		return l, nil
	}
	for {
		v, err := r.readValue()
		if err != nil {
			return nil, err
		}
		l = append(l, v)
		if r.skipByte(']') {
			return l, nil
		}
		if !r.skipByte(',') {
			return nil, errNotCanonical
		}
	}
}

func (r *canonicalReader) readText() (string, error) {
	if !r.skipByte('"') {
		return "", errNotCanonical
	}
	end := strings.IndexByte(r.s[r.at:], '"')
	if end < 0 {
		return "", errNotCanonical
	}
	if t := r.s[r.at : r.at+end]; strings.IndexByte(t, '\\') < 0 {
		r.at += end + 1
		return t, nil
	}
	return r.readEscape()
}

// escapes are the short forms; every other control character is \u00xx.
const (
	escapeLetters = `"\bfnrt`
	escapeBytes   = "\"\\\b\f\n\r\t"
)

// readEscape reads a text that holds an escape, from behind its opening quote.
func (r *canonicalReader) readEscape() (string, error) {
	var b strings.Builder
	for {
		run := strings.IndexAny(r.s[r.at:], `"\`)
		if run < 0 || r.at+run+1 >= len(r.s) && r.s[r.at+run] == '\\' {
			return "", errNotCanonical
		}
		b.WriteString(r.s[r.at : r.at+run])
		r.at += run + 1
		if r.s[r.at-1] == '"' {
			return b.String(), nil
		}
		c := r.s[r.at]
		r.at++
		if i := strings.IndexByte(escapeLetters, c); i >= 0 {
			b.WriteByte(escapeBytes[i])
			continue
		}
		if c != 'u' || r.at+4 > len(r.s) {
			return "", errNotCanonical
		}
		n, err := strconv.ParseUint(r.s[r.at:r.at+4], 16, 16)
		if err != nil || n >= utf8.RuneSelf {
			return "", errNotCanonical
		}
		b.WriteByte(byte(n))
		r.at += 4
	}
}
