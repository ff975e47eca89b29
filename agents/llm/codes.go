package llm

import "cmp"

// findErrorCode returns the error code in the body of a failure when it is one we know,
// CodeOther when it is another, and def when there is none.
func findErrorCode(body []byte, def string) string {
	d, code := newDocument(body, nil), def
	d.readObject(func(name string) {
		if name != "error" {
			d.skipValue()
			return
		}
		code = d.readErrorCode(def)
	})
	if d.checkEnd(); d.err != nil {
		return def
	}
	return code
}

// readErrorCode reads an error, of whatever type: the code that we know in it,
// CodeOther for others, def where there is none. A code goes before a type.
func (d *document) readErrorCode(def string) string {
	if d.peekKind() != '{' {
		d.skipValue()
		return def
	}
	var code, kind string
	d.readObject(func(name string) {
		switch {
		case name == "code" && d.peekKind() == '"':
			code, _ = d.readText()
		case name == "type" && d.peekKind() == '"':
			kind, _ = d.readText()
		default:
			d.skipValue()
		}
	})
	code, kind = translateCode(code), translateCode(kind)
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

// translateCode is the name that we have for a code.
func translateCode(code string) string { return cmp.Or(otherNames[code], code) }
