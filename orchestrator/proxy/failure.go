package proxy

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/proxy/formats"
	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
	"github.com/vedette-dev/vedette/sentinel/stream"
)

// fail answers with an error.
func fail(w http.ResponseWriter, f *formats.Form, e *wire.Error, retry time.Duration) {
	h := w.Header()
	if retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(retry.Seconds()))))
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(f.WriteError(*e)) // a caller that left needs no answer
}

// isOurs reports whether an answer was ended for what it is, and not by an error of the upstream's.
func isOurs(err error) bool {
	var e *stream.Error
	return errors.As(err, &e) && e.Code != stream.CodeUpstream
}

// failureOf is the error of an answer that was ended for what it is.
func failureOf(err error) error {
	var e *stream.Error
	if !errors.As(err, &e) {
		return err
	}
	status := http.StatusBadGateway
	switch e.Code {
	case stream.CodeStalled:
		status = http.StatusGatewayTimeout
	case stream.CodeEnding:
		status = http.StatusServiceUnavailable
	}
	return &wire.Error{Status: status, Code: e.Code, Message: stream.DescribeCode(e.Code)}
}
