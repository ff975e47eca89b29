package problem_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/problem"
)

// A problem is read as RFC 9457 says, with its id and its time.
func TestWrite(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/v1/x", nil)
	r = r.WithContext(problem.WithRequestID(r.Context(), "r-1"))
	p := problem.New(problem.RateLimited, "the token may send 2 requests a minute").Later(1500 * time.Millisecond).About("d-1").
		With(problem.Field{Pointer: "/a~1b", Detail: "is <b>\x1b\n"})
	problem.Write(w, r, p)
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	require.Equal(t, "2", w.Header().Get("Retry-After"), "whole seconds, rounded up")
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	var got map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Equal(t, "rate_limited", got["code"])
	require.Equal(t, "/problems/rate_limited", got["type"])
	require.Equal(t, "r-1", got["request_id"])
	require.Equal(t, "d-1", got["decision_id"])
	require.InDelta(t, 429, got["status"], 0)
	require.NotContains(t, w.Body.String(), "<b>")
	require.NotContains(t, w.Body.String(), "\x1b")
	require.Empty(t, p.RequestID, "what is written is a copy")
}

// No word of an error that isn't a problem reaches the caller.
func TestFromHidesInternals(t *testing.T) {
	secret := "open /var/lib/secret.db: SELECT * FROM"
	for _, c := range []struct {
		err  error
		want problem.Code
	}{
		{errors.New(secret), problem.Internal},
		{fmt.Errorf("%s: %w", secret, problem.New(problem.Stale, "look again")), problem.Stale},
		{fmt.Errorf("%s: %w", secret, &http.MaxBytesError{Limit: 3}), problem.TooLarge},
		{fmt.Errorf("%s: %w", secret, context.DeadlineExceeded), problem.Unavailable},
	} {
		p := problem.From(c.err)
		require.Equal(t, c.want, p.Code)
		require.NotContains(t, p.Detail+p.Title+p.Remedy, "secret")
	}
	require.Nil(t, problem.From(nil))
	w := httptest.NewRecorder()
	problem.Write(w, httptest.NewRequest(http.MethodGet, "/", nil), nil)
	require.Equal(t, http.StatusInternalServerError, w.Code)
}

// The list of codes is closed: one that isn't on it is internal. Each says what a caller can do.
func TestCodes(t *testing.T) {
	require.Equal(t, problem.Internal, problem.New("made_up", "with words").Code)
	require.Empty(t, problem.New("made_up", "with words").Detail)
	mux := http.NewServeMux()
	mux.Handle("GET /problems/{code}", problem.Handler())
	for _, c := range problem.Codes() {
		require.GreaterOrEqual(t, c.Status(), 400, c)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/problems/"+string(c), nil))
		require.Equal(t, http.StatusOK, w.Code, c)
		require.Contains(t, w.Body.String(), problem.New(c, "").Remedy)
		require.True(t, strings.HasSuffix(problem.New(c, "").Remedy, "."), c)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/problems/made_up", nil))
	require.Equal(t, http.StatusNotFound, w.Code)
}
