package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/api"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// What is wrong with a request is a problem with a stable code, in JSON, with the request's id.
func TestProblemsHaveCodes(t *testing.T) {
	h := open(t, changes{})
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		name, who, method, path string
		body                    any
		header                  []string
		status                  int
		code                    string
	}{
		{"no token", "", "GET", "/v1/approvals", nil, nil, 401, "unauthenticated"},
		{"no scope", "chat", "GET", "/v1/approvals", nil, nil, 403, "scope_missing"},
		{"no scope comes before a bad body", "chat", "POST", "/v1/pauses", "{", nil, 403, "scope_missing"},
		{"no path", "ann", "GET", "/v1/nothing", nil, nil, 404, "not_found"},
		{"no plain path", "ann", "GET", "/v1/../v1/approvals", nil, nil, 404, "not_found"},
		{"no method", "ann", "PUT", "/v1/approvals", nil, nil, 405, "method_not_allowed"},
		{"no approval", "ann", "GET", "/v1/approvals/0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", nil, nil, 404, "not_found"},
		{"a type", "ann", "POST", "/v1/pauses", "{}", []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		{"no JSON", "ann", "POST", "/v1/pauses", `{"all":`, nil, 400, "bad_request"},
		{"a key twice", "ann", "POST", "/v1/pauses", `{"all":true,"all":false}`, nil, 400, "bad_request"},
		{"another spelling", "ann", "POST", "/v1/pauses", `{"All":true}`, nil, 422, "invalid"},
		{"another key", "ann", "POST", "/v1/pauses", `{"all":true,"x":1}`, nil, 422, "invalid"},
		{"another type", "ann", "POST", "/v1/pauses", `{"all":"yes"}`, nil, 422, "invalid"},
		{"no UTF-8", "ann", "POST", "/v1/pauses", "{\"user\":\"\xff\"}", nil, 400, "bad_request"},
		{"two values", "ann", "POST", "/v1/pauses", `{"all":true}{}`, nil, 400, "bad_request"},
		{"no body", "ann", "POST", "/v1/pauses", "", nil, 400, "bad_request"},
		{"too long", "ann", "POST", "/v1/pauses", `{"user":"` + long + `"}`, nil, 422, "invalid"},
		{"two targets", "ann", "POST", "/v1/pauses", `{"all":true,"user":"ann"}`, nil, 422, "invalid"},
		{"a typo", "ann", "POST", "/v1/pauses", `{"skill":"mail.sned"}`, nil, 422, "invalid"},
		{"a query", "ann", "GET", "/v1/approvals?limit=0", nil, nil, 422, "invalid"},
		{"a query's type", "ann", "GET", "/v1/approvals?limit=many", nil, nil, 422, "invalid"},
		{"a query's name", "ann", "GET", "/v1/approvals?limits=1", nil, nil, 422, "invalid"},
		{"a query twice", "ann", "GET", "/v1/approvals?limit=1&limit=2", nil, nil, 400, "bad_request"},
		{"a broken query", "ann", "GET", "/v1/approvals?limit=%zz", nil, nil, 400, "bad_request"},
		{"a forged cursor", "ann", "GET", "/v1/approvals?after=AAAAAAAAAAAAAAAAAAAAAAAAAAAA", nil, nil, 400, "bad_request"},
		{"another time", "ann", "GET", "/v1/ledger/records?since=2999-01-01T00:00:00Z", nil, nil, 422, "invalid"},
		{"a query's mistake", "ann", "GET", "/v1/ledger/records?q=gaet:guard", nil, nil, 422, "invalid"},
		{"a long query", "ann", "GET", "/v1/ledger/records?q=" + strings.Repeat("x", 5000), nil, nil, 422, "invalid"},
		{"a bad id", "ann", "GET", "/v1/approvals/%00", nil, nil, 422, "invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			header := append([]string{"X-Request-Id", "evil"}, c.header...)
			r := h.do(c.who, c.method, c.path, c.body, header...)
			require.Equal(t, c.status, r.StatusCode, string(r.body))
			require.Equal(t, c.code, r.code(), string(r.body))
			var p struct {
				Type, Title string
				Status      int
				RequestID   string `json:"request_id"`
			}
			r.into(t, &p)
			require.Equal(t, c.status, p.Status)
			require.Equal(t, r.Header.Get("X-Request-Id"), p.RequestID)
			require.NotContains(t, p.RequestID, "evil")
			require.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"))
			require.NotContains(t, string(r.body), long[:300], "the value that was wrong is not repeated")
		})
	}
	require.Equal(t, "GET, HEAD", h.do("ann", "DELETE", "/v1/approvals", nil).Header.Get("Allow"))
	require.Empty(t, h.o.Parts().Pauses.List())
	require.NotContains(t, h.log.String(), "level=ERROR")
}

// The description is OpenAPI 3.1, whole, and needs no token; so is its page, which has no script.
func TestDescription(t *testing.T) {
	h := open(t, changes{})
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Responses   map[string]any
			Security    []any
		}
		Components struct{ Schemas map[string]any }
	}
	r := h.must("", "GET", "/openapi.json", nil, &doc)
	require.Equal(t, "application/openapi+json", r.Header.Get("Content-Type"))
	require.Equal(t, "3.1.0", doc.OpenAPI)
	require.NotContains(t, doc.Components.Schemas, "ErrorModel")
	ids := map[string]bool{}
	for path, item := range doc.Paths {
		for method, op := range item {
			require.NotEmpty(t, op.OperationID, path)
			require.False(t, ids[op.OperationID])
			ids[op.OperationID] = true
			for _, status := range []string{"400", "401", "403", "404", "422", "429", "500"} {
				require.Contains(t, op.Responses, status, "%s %s", method, path)
			}
			require.NotEmpty(t, op.Security)
		}
	}
	page := h.must("", "GET", "/docs", nil, nil)
	require.Contains(t, page.Header.Get("Content-Security-Policy"), "default-src 'none'")
	require.NotContains(t, string(page.body), "<script")
	require.NotContains(t, string(page.body), "http://")
	require.NotContains(t, string(page.body), "https://")
	for id := range ids {
		require.Contains(t, string(page.body), `id="`+id+`"`)
	}
	require.Equal(t, "method_not_allowed", h.do("", "POST", "/docs", "{}").code())
}

// A request without a Principal is refused, also where no guard stands before the API.
func TestNoPrincipalNoAnswer(t *testing.T) {
	h := open(t, changes{})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		r := h.do("", method, "/v1/pauses", nil)
		require.Equal(t, 401, r.StatusCode)
		require.Contains(t, r.Header.Get("WWW-Authenticate"), "Bearer")
	}
	bare, err := api.New(t.Context(), api.Options{Orchestrator: h.o})
	require.ErrorIs(t, err, store.ErrClaimed, "two APIs would not know of each other's keys")
	require.Nil(t, bare)
	h.api.Close()
	bare, err = api.New(t.Context(), api.Options{Orchestrator: h.o})
	require.NoError(t, err)
	defer bare.Close()
	w := httptest.NewRecorder()
	bare.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/pauses", nil))
	require.Equal(t, 401, w.Code)
	require.Equal(t, "draining", h.do("ann", "GET", "/v1/pauses", nil).code())
}
