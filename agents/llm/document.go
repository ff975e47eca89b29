package llm

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits on what is read of a document, beside the length of its body. Servers
// come nowhere near them.
const (
	maxNesting = 128
	maxNames   = 64   // of one object that is read by name
	askEvery   = 1024 // tokens between two looks at the clock
)

// Why the reading of a document stopped before its end.
var (
	errDocument = errors.New("not one valid JSON document")
	errBeyond   = errors.New("nested too deeply or too many names")
	errEnded    = errors.New("the time for reading is over")
)

// document reads a server's JSON by exact names: "choices" is not "Choices". An object
// that is read has no name twice. A document passes over names that its caller doesn't
// ask for, with whatever value, in constant memory.
type document struct {
	dec   *jsontext.Decoder
	ended func() bool // nil: never
	read  int
	odd   bool
	err   error
}

// newDocument reads a body until ended reports true. The library's check for
// duplicate names remembers all names of all objects; readObject checks those that
// matter.
func newDocument(body []byte, ended func() bool) *document {
	return &document{dec: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true)), ended: ended}
}

// readToken returns the next token, or one without meaning when there is none.
func (d *document) readToken() jsontext.Token {
	if d.err != nil {
		return jsontext.Null
	}
	if d.read++; d.read%askEvery == 0 && d.ended != nil && d.ended() {
		d.err = errEnded
		return jsontext.Null
	}
	t, err := d.dec.ReadToken()
	switch {
	case err != nil:
		d.err = errDocument
	case d.dec.StackDepth() > maxNesting:
		d.err = errBeyond
	default:
		return t
	}
	return jsontext.Null
}

// peekKind returns the kind of the value that follows, and 0 after a fault.
func (d *document) peekKind() jsontext.Kind {
	if d.err != nil {
		return 0
	}
	return d.dec.PeekKind()
}

// hasMore reports whether the object or array that ends so has another member. A document
// that breaks off has one, and readToken finds the fault.
func (d *document) hasMore(end jsontext.Kind) bool { return d.err == nil && d.dec.PeekKind() != end }

// skipValue passes over one value.
func (d *document) skipValue() {
	depth := d.dec.StackDepth()
	for d.readToken(); d.err == nil && d.dec.StackDepth() > depth; {
		d.readToken()
	}
}

// skipOddValue passes over a value that should have been of another type.
func (d *document) skipOddValue() {
	d.odd = true
	d.skipValue()
}

// skipNull passes over a null and reports whether there was one.
func (d *document) skipNull() bool {
	if d.peekKind() != 'n' {
		return false
	}
	d.readToken()
	return true
}

// readObject gives each name of an object to field, which must read or skip exactly
// its value. A null is an object without names.
func (d *document) readObject(field func(name string)) {
	if d.skipNull() {
		return
	}
	if d.peekKind() != '{' {
		d.skipOddValue()
		return
	}
	d.readToken()
	var room [16]string
	names := room[:0]
	for d.hasMore('}') {
		name := d.readToken().String()
		switch {
		case d.err != nil:
			return
		case slices.Contains(names, name):
			d.err = errDocument
			return
		case len(names) == maxNames:
			d.err = errBeyond
			return
		}
		names = append(names, name)
		field(name)
	}
	d.readToken()
}

// readArray calls element for each element, which must read or skip exactly it. A
// null is an empty array.
func (d *document) readArray(element func(i int)) {
	if d.skipNull() {
		return
	}
	if d.peekKind() != '[' {
		d.skipOddValue()
		return
	}
	d.readToken()
	for i := 0; d.hasMore(']'); i++ {
		element(i)
	}
	d.readToken()
}

// readText returns a string, and whether there was one. A null is none, and a value of
// another type is odd.
func (d *document) readText() (string, bool) { return d.readScalar('"') }

// readNumber returns a number as it is written, and whether there was one, as readText
// does.
func (d *document) readNumber() (string, bool) { return d.readScalar('0') }

// readScalar returns a string or a number, and whether there was one.
func (d *document) readScalar(kind jsontext.Kind) (string, bool) {
	switch d.peekKind() {
	case kind:
		s := d.readToken().String()
		return s, d.err == nil
	case 'n':
		d.readToken()
	default:
		d.skipOddValue()
	}
	return "", false
}

// checkEnd sets a fault when something follows the document's value.
func (d *document) checkEnd() {
	if d.err != nil {
		return
	}
	if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
		d.err = errDocument
	}
}
