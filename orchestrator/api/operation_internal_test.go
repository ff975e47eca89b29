package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/problem"
)

// The guard bounds a body, and an operation may take less.
func TestBodiesAreBoundedByTheGuard(t *testing.T) {
	for _, c := range []struct {
		guard, own int64
		taken      bool
	}{{8 << 20, 0, true}, {1 << 20, 0, false}, {8 << 20, 4 << 20, false}} {
		for _, length := range []int64{5 << 20, -1} {
			r := httptest.NewRequest(http.MethodPost, "/v1/calls", strings.NewReader(strings.Repeat(" ", 5<<20)))
			r.ContentLength = length
			w := httptest.NewRecorder()
			r.Body = http.MaxBytesReader(w, r.Body, c.guard)
			b, prob := readBody(w, r, c.own)
			if c.taken {
				require.Nil(t, prob)
				require.Len(t, b, 5<<20)
				continue
			}
			require.Equal(t, problem.TooLarge, prob.Code)
		}
	}
}
