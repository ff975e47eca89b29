package llm

import "cmp"

// codeOf returns the error code in the body of a failure when it is one we know,
// CodeOther when it is another, and def when there is none.
func codeOf(body []byte, def string) string {
	d, code := newDocument(body, nil), def
	d.object(func(name string) {
		if name != "error" {
			d.skip()
			return
		}
		code = d.errorCode(def)
	})
	if d.end(); d.err != nil {
		return def
	}
	return code
}

// errorCode reads an error, of whatever type: the code that we know in it,
// CodeOther for others, def where there is none. A code goes before a type.
func (d *document) errorCode(def string) string {
	if d.next() != '{' {
		d.skip()
		return def
	}
	var code, kind string
	d.object(func(name string) {
		switch {
		case name == "code" && d.next() == '"':
			code, _ = d.text()
		case name == "type" && d.next() == '"':
			kind, _ = d.text()
		default:
			d.skip()
		}
	})
	code, kind = known(code), known(kind)
	switch {
	case serverCodes[code]:
		return code
	case serverCodes[kind]:
		return kind
	case def == "" && code+kind != "":
		return CodeOther
	}
	return def
}

// known is the name that we have for a code.
func known(code string) string { return cmp.Or(otherNames[code], code) }
