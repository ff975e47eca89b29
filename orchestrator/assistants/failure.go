package assistants

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/orchestrator"
)

// The types of errors, as clients know them.
const (
	typeInvalid        = "invalid_request_error"
	typeAuthentication = "authentication_error"
	typePermission     = "permission_error"
	typeRate           = "rate_limit_error"
	typeServer         = "server_error"
)

// failure is an error in the form that clients of the chat completions API read.
type failure struct {
	Status            int
	Type, Code, Param string
	Message           string
	RetryAfter        time.Duration
	Again             bool // nothing was begun, so clients may send the request again by themselves
}

// MarshalJSON implements json.Marshaler.
func (f failure) MarshalJSON() ([]byte, error) {
	var param *string
	if f.Param != "" {
		param = &f.Param
	}
	type shown struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	return json.Marshal(map[string]shown{"error": {f.Message, f.Type, param, f.Code}})
}

// failures are the orchestrator's errors by their codes.
var failures = map[string]failure{
	orchestrator.CodeEmptyRequest:        {Status: http.StatusBadRequest, Type: typeInvalid, Param: "messages"},
	orchestrator.CodeLongRequest:         {Status: http.StatusBadRequest, Type: typeInvalid, Param: "messages"},
	orchestrator.CodeBadRequest:          {Status: http.StatusBadRequest, Type: typeInvalid},
	orchestrator.CodeBadID:               {Status: http.StatusBadRequest, Type: typeInvalid},
	orchestrator.CodeOtherText:           {Status: http.StatusBadRequest, Type: typeInvalid},
	orchestrator.CodeOtherUser:           {Status: http.StatusNotFound, Type: typeInvalid},
	orchestrator.CodeUnknownConversation: {Status: http.StatusNotFound, Type: typeInvalid},
	orchestrator.CodeOrphaned:            {Status: http.StatusNotFound, Type: typeInvalid},
	orchestrator.CodeBlocked:             {Status: http.StatusForbidden, Type: typePermission, Param: "messages"},
	orchestrator.CodeOverloaded:          {Status: http.StatusTooManyRequests, Type: typeRate, Again: true},
	orchestrator.CodeDraining:            {Status: http.StatusServiceUnavailable, Type: typeServer, Again: true},
	orchestrator.CodeBudget:              {Status: http.StatusTooManyRequests, Type: typeRate},
	orchestrator.CodeModel:               {Status: http.StatusBadGateway, Type: typeServer},
	orchestrator.CodeTimeout:             {Status: http.StatusGatewayTimeout, Type: typeServer},
	orchestrator.CodeInternal: {Status: http.StatusInternalServerError, Type: typeServer, Code: orchestrator.CodeInternal,
		Message: "the request failed; the log of the program says why"},
}

// describeFailure is an error of the orchestrator as clients read it.
func describeFailure(err error) failure {
	e := orchestrator.DescribeError(err)
	f, known := failures[e.Code]
	if !known {
		f = failure{Status: http.StatusServiceUnavailable, Type: typeServer}
	}
	f.Code, f.Message, f.RetryAfter = e.Code, e.Message, e.RetryAfter
	return f
}

// invalid is a request that can't be answered as it is.
func invalid(param, code, message string) *failure {
	return &failure{Status: http.StatusBadRequest, Type: typeInvalid, Param: param, Code: code, Message: message}
}

// writeFailure answers with an error. Clients are told not to send the request again by themselves
// where something may have been done for it.
func writeFailure(w http.ResponseWriter, f failure) {
	f.Status = cmp.Or(f.Status, http.StatusInternalServerError)
	w.Header().Set("X-Should-Retry", strconv.FormatBool(f.Again))
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
	}
	writeJSON(w, f.Status, f)
}

// writeJSON writes v as the answer.
func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := plainjson.Marshal(v)
	if err != nil {
		status = http.StatusInternalServerError
		b = []byte(`{"error":{"message":"the answer can't be written","type":"server_error","param":null,"code":"internal"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // a caller that left needs no answer
}

// sortedNames lists the keys of a map in order.
func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
