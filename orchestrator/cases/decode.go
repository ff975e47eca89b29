package cases

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// isMisspelt reports whether a key is a known one in other letters. Left out, a
// request or a history in "History" would loosen what is decided.
func isMisspelt(name string, known []string) bool {
	return slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
}

// ReadMembers splits an object into the raw values of its known keys. A known key
// that stands twice is an error, since two readers could take different ones.
// Another key is an error where strict is set, and ignored otherwise. The errors name
// the object as at does, and hold none of its values.
func ReadMembers(raw []byte, at string, strict bool, known ...string) (map[string]jsontext.Value, *Error) {
	// Duplicates and broken UTF-8 pass here: inside of arguments they are a
	// refusal that the checkpoint gives, and elsewhere they are found below.
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		if _, err := d.ReadValue(); err != nil {
			return nil, syntaxError(err, at)
		}
		return nil, &Error{CodeType, at + " must be one JSON object"}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, syntaxError(err, at)
	}
	out := make(map[string]jsontext.Value, len(known))
	for d.PeekKind() != '}' {
		key, err := d.ReadToken()
		if err != nil {
			return nil, syntaxError(err, at)
		}
		name := key.String()
		val, err := d.ReadValue()
		if err != nil {
			return nil, syntaxError(err, at)
		}
		if !slices.Contains(known, name) {
			if strict || isMisspelt(name, known) {
				return nil, &Error{CodeUnknown, fmt.Sprintf("%s has the unknown key %s; it takes %s", at, quoteKey(name), strings.Join(known, ", "))}
			}
			continue
		}
		if _, twice := out[name]; twice {
			return nil, &Error{CodeDuplicate, fmt.Sprintf("%s has the key %s twice", at, name)}
		}
		out[name] = val.Clone()
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, syntaxError(err, at)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &Error{CodeSyntax, at + " is followed by something else; write one JSON object a line"}
	}
	return out, nil
}

// syntaxError is an error of the JSON itself. The parser's own words are left out:
// they may quote the line.
func syntaxError(err error, at string) *Error {
	var s *jsontext.SyntacticError
	if errors.As(err, &s) {
		return &Error{CodeSyntax, fmt.Sprintf("%s is not valid JSON from byte %d on; write one JSON object a line", at, s.ByteOffset)}
	}
	return &Error{CodeSyntax, at + " is not one JSON object"}
}

// quoteKey is a key as a message quotes it: escaped, and cut where it is long.
func quoteKey(name string) string {
	const most = 40
	if len(name) <= most {
		return strconv.QuoteToASCII(name)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(name[cut]) {
		cut--
	}
	return strconv.QuoteToASCII(name[:cut]) + "..."
}

// ReadText reads a string. Nil, for a key that isn't there, and null are absent. The
// error names the string as at does, and holds nothing of it.
func ReadText(v jsontext.Value, at string) (s string, present bool, e *Error) {
	if v == nil || v.Kind() == 'n' {
		return "", false, nil
	}
	if v.Kind() != '"' {
		return "", false, &Error{CodeType, at + " must be a string"}
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return "", false, &Error{CodeUTF8, at + " is not valid UTF-8"}
	}
	return string(b), true, nil
}

// readList reads the elements of an array. Nil and null are an empty one.
func readList(v jsontext.Value, at string) ([]jsontext.Value, *Error) {
	if v == nil || v.Kind() == 'n' {
		return nil, nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if v.Kind() != '[' {
		return nil, &Error{CodeType, at + " must be a list"}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, syntaxError(err, at)
	}
	var out []jsontext.Value
	for d.PeekKind() != ']' {
		e, err := d.ReadValue()
		if err != nil {
			return nil, syntaxError(err, at)
		}
		out = append(out, e.Clone())
	}
	return out, nil
}

// maxNesting is how deep a line may nest before cutDeepNesting cuts it. That is far deeper
// than any call may be, and far less than a parser refuses.
const maxNesting = 1000

// cutDeepNesting returns line with every object and list nested deeper than maxNesting
// replaced by 0. Parsers give up on such a line as a whole; this way it is still
// read, and its arguments refused for being too deep.
func cutDeepNesting(line []byte) []byte {
	var out []byte
	depth, start := 0, 0 // out holds what stands before start
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '"':
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth == maxNesting+1 {
				out = append(append(out, line[start:i]...), '0')
			}
		case '}', ']':
			if depth--; depth == maxNesting {
				start = i + 1
			}
		}
	}
	switch {
	case out == nil:
		return line
	case depth > maxNesting: // it never ends: what follows is lost
		return out
	}
	return append(out, line[start:]...)
}
