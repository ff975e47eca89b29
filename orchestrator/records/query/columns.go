package query

import (
	"encoding/json"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// DeriveColumns says what the body of a record gives for the columns beside it, by which queries find it. It is
// silent on columns that no body has, and on kinds of records that it doesn't know.
func DeriveColumns(kind string, body []byte) []ledger.Column {
	switch kind {
	case sentinel.RecordDecision, sentinel.RecordHeld, sentinel.RecordRefused, sentinel.RecordOutcome, sentinel.RecordShadow:
	default:
		return nil
	}
	var b struct {
		Decision  *string `json:"decision"`
		Call      *string `json:"call"`
		Outcome   *string `json:"outcome"`
		Status    *string `json:"status"`
		BlockedBy string  `json:"blocked_by"`
		Code      string  `json:"code"`
		Modified  struct {
			Call string `json:"call"`
		} `json:"modified"`
	}
	if json.Unmarshal(body, &b) != nil {
		return []ledger.Column{{Name: "body"}}
	}
	var out []ledger.Column
	add := func(name string, value *string, besides ...string) {
		if value != nil {
			out = append(out, ledger.Column{Name: name, OneOf: append(besides, *value)})
		}
	}
	add("decision", b.Decision)
	if b.Modified.Call != "" { // a rewritten call is found by the id that it was proposed under
		b.Call = &b.Modified.Call
	}
	switch kind {
	case sentinel.RecordOutcome: // of a rewritten call the body has the new id
		add("outcome", b.Status)
	case sentinel.RecordRefused:
		add("call", b.Call)
	default:
		add("call", b.Call)
		add("outcome", b.Outcome)
		add("gate", &b.BlockedBy)
	}
	add("code", &b.Code)
	return out
}
