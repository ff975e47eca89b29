package loop

import (
	"encoding/json"

	"github.com/vedette-dev/vedette/skills"
)

// DescribeRefusal puts a refusal into words for the model that proposed the call.
func DescribeRefusal(no *skills.Refusal) string {
	out := map[string]any{"ok": false, "refused": no.Kind, "code": no.Code, "reason": no.Reason, "what_you_can_do": no.WhatYouCanDo,
		"decision": no.DecisionID, "retryable": no.Retryable}
	if no.RetryAfter > 0 {
		out["retry_after_seconds"] = int(no.RetryAfter.Seconds() + 0.999)
	}
	return EncodeJSON(out)
}

// DescribeFailure is a tool message about a call without a result.
func DescribeFailure(code, reason string) string {
	return EncodeJSON(map[string]any{"ok": false, "error": code, "reason": reason})
}

// EncodeJSON is v as a model reads it. It never fails: it is given strings, numbers, JSON
// and maps of them. It escapes <, > and &, as prompts always had them; plainjson would not.
func EncodeJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return `{"ok":false,"error":"encoding","reason":"the result can't be shown"}`
	}
	return string(b)
}
