package llm

import "cmp"

// findErrorCode returns the code in the body of a failure. It is CodeOther for a code
// that is not known, and def where there is none.
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

// readErrorCode reads an error, of whatever type, and returns its code. It is CodeOther
// for a code that is not known, and def where there is none. A code goes before a type.
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

// translateCode returns the known name of a server's code.
func translateCode(code string) string { return cmp.Or(otherNames[code], code) }

// serverCodes are the codes and types of servers that may be repeated. Whatever
// else a server writes there is its text, and becomes CodeOther.
var serverCodes = map[string]bool{
	"billing_hard_limit_reached": true, "content_filter": true, "content_policy_violation": true,
	"context_length_exceeded": true, "insufficient_quota": true, "invalid_api_key": true,
	"invalid_prompt": true, "invalid_request_error": true, "invalid_value": true,
	"model_not_found": true, "overloaded_error": true, "rate_limit_exceeded": true,
	"server_error": true, "string_above_max_length": true, "unsupported_parameter": true,
	"unsupported_value": true, "no_rule": true,
}

// otherNames are codes of servers that have another's meaning. One is llama.cpp's for
// messages that are longer than the context of one of its slots.
var otherNames = map[string]string{"exceed_context_size_error": "context_length_exceeded"}
