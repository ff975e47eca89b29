package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A problem whose remedy says to correct what errors names has errors.
func TestMistakesAreNamed(t *testing.T) {
	h := open(t, changes{})
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"POST", "/v1/calls", `{"conversation":"c","call_id":"1","skill_name":"crm.update","wait_seconds":61}`},
		{"POST", "/v1/calls", `{"call_id":"1","skill_name":"crm.update"}`},
		{"POST", "/v1/calls", `{"conversation":`},
		{"POST", "/v1/check", `{}`},
		{"GET", "/v1/ledger/records?q=nokey:1", nil},
		{"GET", "/v1/approvals?limit=1&limit=2", nil},
		{"POST", "/v1/conversations", `{"id":7}`},
	} {
		var p struct {
			Detail, Remedy string
			Errors         []struct{ Detail string }
		}
		r := h.do("ann", c.method, c.path, c.body).into(t, &p)
		require.Contains(t, []string{"invalid", "bad_request"}, r.code(), "%s: %s", c.path, r.body)
		require.Contains(t, p.Remedy, "errors names")
		require.NotEmpty(t, p.Errors, string(r.body))
		require.NotEmpty(t, p.Errors[0].Detail)
	}
}
