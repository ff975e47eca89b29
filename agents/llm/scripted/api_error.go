package scripted

import (
	"fmt"
	"net/http"

	"github.com/vedette-dev/vedette/internal/plainjson"
)

// apiError is the error object of the services. Empty Type, Param and Code are
// null.
type apiError struct{ Message, Type, Param, Code string }

// MarshalJSON writes the four fields in the services' order.
func (e apiError) MarshalJSON() ([]byte, error) {
	orNull := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return plainjson.Marshal(struct {
		Message string  `json:"message"`
		Type    *string `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}{e.Message, orNull(e.Type), orNull(e.Param), orNull(e.Code)})
}

// typeRequest is the type of errors that are the client's.
const typeRequest = "invalid_request_error"

var unknownModel = apiError{
	Type: typeRequest, Code: "model_not_found",
	Message: "the model does not exist or you do not have access to it: the script has no such model",
}

// newStatusError returns the error that services send with a status.
func newStatusError(status int) apiError {
	e := apiError{Type: typeRequest, Message: fmt.Sprintf("scripted status %d", status)}
	switch {
	case status == http.StatusTooManyRequests:
		e.Type, e.Code = "requests", "rate_limit_exceeded"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Code = "invalid_api_key"
	case status >= 500:
		e.Type = "server_error"
	}
	return e
}

// sendError sends an error in the services' form and returns the status.
func sendError(w http.ResponseWriter, status int, e apiError) int {
	return sendJSON(w, status, map[string]any{"error": e})
}

// sendJSON sends a value as JSON and returns the status.
func sendJSON(w http.ResponseWriter, status int, v any) int {
	b, err := plainjson.Marshal(v)
	if err != nil {
		http.Error(w, "the scripted server can't write its answer", http.StatusInternalServerError)
		return http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that went away is its own affair
	return status
}
