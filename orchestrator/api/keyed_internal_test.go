package api

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/problem"
)

// What says "not now", and a failure of which nothing is known, isn't kept under an Idempotency-Key. The end of a
// request whose model failed is.
func TestWhatIsKeptUnderAKey(t *testing.T) {
	final := func(status, bytes int) bool { return (&recorder{status: status, body: make([]byte, bytes)}).isFinal() }
	for _, status := range []int{401, 403, 408, 429, 500, 501, 503, 504, 507} {
		require.False(t, final(status, 1), status)
	}
	for _, status := range []int{200, 201, 202, 204, 400, 404, 409, 410, 422} {
		require.True(t, final(status, 1), status)
	}
	require.False(t, final(http.StatusOK, maxKept+1))
	for _, code := range problem.Codes() {
		if code.Status() >= http.StatusInternalServerError {
			require.Equal(t, code == problem.ModelFailed, final(code.Status(), 1), code)
		}
	}
}
