package api

import (
	"mime"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/problem"
)

// The forms of answers: streams are events.
const (
	formJSON   = "application/json"
	formEvents = "text/event-stream"
)

// checkAccept refuses a request that takes no answer of the form, as RFC 9110, 12.5.1 says: of the ranges that hold the form the
// narrowest counts, and a weight of 0 is no. A header that can't be read takes everything.
func checkAccept(values []string, form string) *problem.Problem {
	narrowest, weight, says := -1, 0.0, false
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		says = true
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			return nil
		}
		q := 1.0
		if text, has := params["q"]; has {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				return nil
			}
		}
		if n := matchForm(name, form); n > narrowest {
			narrowest, weight = n, q
		}
	}
	if !says || weight > 0 {
		return nil
	}
	return problem.New(problem.NotAcceptable, "the answer is "+form+", which the Accept header excludes")
}

// matchForm says how narrow a range is that holds the form; -1 where it doesn't hold it.
func matchForm(name, form string) int {
	kind, _, _ := strings.Cut(form, "/")
	switch name {
	case form:
		return 2
	case kind + "/*":
		return 1
	case "*/*":
		return 0
	}
	return -1
}
