// Package openai holds what the two formats of OpenAI have in common.
//
// The package isn't stable: docs/api.md lists those that are.
package openai

import (
	"net/http"
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// ReadFunction reads what is said of a function: name, description, parameters.
func ReadFunction(f []byte) wire.Tool {
	return wire.Tool{Name: wire.Text(f, "name"), Description: wire.Text(f, "description"), Parameters: span.Member(f, "parameters")}
}

// ReadOutput returns what a tool returned: a text, or the texts of a list of parts. Other parts are left out.
func ReadOutput(content []byte) string {
	texts, _ := wire.Parts(content, "text", "input_text", "output_text")
	return strings.Join(texts, "\n")
}

// errorTypes are the types of errors by their status.
var errorTypes = map[int]string{
	http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error", http.StatusNotFound: "invalid_request_error",
	http.StatusTooManyRequests: "rate_limit_error",
}

// WriteError returns the body of an error.
func WriteError(e wire.Error) []byte {
	typ := errorTypes[e.Status]
	switch {
	case typ != "":
	case e.Status >= http.StatusInternalServerError:
		typ = "server_error"
	default:
		typ = "invalid_request_error"
	}
	out := span.AppendQuote([]byte(`{"error":{"message":`), e.Message)
	out = span.AppendQuote(append(out, `,"type":`...), typ)
	out = span.AppendQuote(append(out, `,"param":null,"code":`...), e.Code)
	return append(out, "}}"...)
}
