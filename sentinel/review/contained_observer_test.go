package review_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// refusing answers with an error of the services' form, and may ask for a pause.
func refusing(status int, code string, header ...string) handler {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":{"code":%q,"type":%q,"message":"x"}}`, code, code)
	}
}

// A quota that is used up is the next model's turn at once and pauses no call. It opens the
// breaker, which probes for its return.
func TestQuota(t *testing.T) {
	c := call(t, proposal{skill: "self.modify"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", first(5, refusing(429, "insufficient_quota", "Retry-After", "1"), saying(approves)))
		w.serve("primary", saying(rejects))
		g, began := w.gate(review.Options{Retries: 3}, "fast", "primary"), time.Now()
		for range 5 {
			require.Equal(t, "fast=quota", check(t, g, c).Meta["failover"])
		}
		require.Equal(t, 5, s.asked())
		require.Zero(t, time.Since(began), "no call waits for it")
		require.Zero(t, g.State().Models[0].Paused)
		require.Equal(t, "fast=breaker_open", check(t, g, c).Meta["failover"])
		time.Sleep(review.DefaultOpenFor + time.Second)
		require.Equal(t, "fast", check(t, g, c).Meta["model"])
	})
}

// tripping is an Observer that panics with what it was told.
type tripping struct{}

func (tripping) Request(_ context.Context, e review.RequestEvent) { panic(e.Model + " canary") }
func (tripping) Review(_ context.Context, e review.ReviewEvent)   { panic(e.Model + " canary") }
func (tripping) Breaker(e review.BreakerEvent)                    { panic(e.Model + " canary") }

// An Observer that panics changes no verdict, leaves nothing locked, and is
// told of once, without its words.
func TestObserverThatPanics(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", first(1, status(500), saying(approves)))
		var log bytes.Buffer
		g := w.gate(review.Options{Observer: tripping{}, Breaker: review.Breaker{Failures: 1}, Concurrency: 1,
			Log: slog.New(slog.NewTextHandler(&log, nil))}, "fast")
		v := check(t, g, c)
		require.Equal(t, "server", v.Meta["failure"])
		require.Equal(t, "open", breaker(g))
		time.Sleep(review.DefaultOpenFor + time.Second)
		require.Equal(t, sentinel.Allow, check(t, g, c).Outcome)
		require.False(t, check(t, g, c).Degraded)
		require.Zero(t, g.State().Models[0].UnderWay)
		require.Equal(t, 1, strings.Count(log.String(), "observer panicked"))
		require.NotContains(t, log.String(), "canary")
	})
}
