package review_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// Callers with one question share a judgement and no memory: each may write what
// its own record needs. The race detector looks on.
func TestSharedVerdictsAreCopies(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	g := gate(t, review.Options{CacheTTL: time.Hour, CacheSize: 10}, s.URL)
	for range 20 {
		c := must1(alike(call(t, proposal{skill: "self.read"})))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				v, err := g.Check(t.Context(), c)
				if err != nil || v.Outcome != sentinel.Allow {
					t.Error(v, err)
				}
				v.Meta["own"] = "x"
			})
		}
		wg.Wait()
		require.Empty(t, must1(g.Check(t.Context(), c)).Meta["own"])
	}
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
