package review_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// Who waits for what was begun ahead, and not brought to an end, asks himself.
func TestWhoWaitsForAnEndedForesightAsks(t *testing.T) {
	c := call(t, proposal{skill: "self.irreversible"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", slow(time.Second, saying(approves)))
		g := w.gate(review.Options{}, "fast")
		ahead, cancel := context.WithCancel(t.Context())
		go g.Foresee(ahead, c)
		synctest.Wait()
		waits := checking(t.Context(), g, c)
		synctest.Wait()
		cancel()
		r := <-waits
		require.NoError(t, r.err)
		require.Equal(t, sentinel.Allow, r.v.Outcome)
		require.Equal(t, sentinel.Judged, r.v.State)
		require.Empty(t, r.v.Meta["from"])
		require.Equal(t, 2, s.asked())
	})
}

// Without a schedule, and without models, canaries are run by nobody, and that
// goes on until it is ended.
func TestNoScheduleIsWaitedOut(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	for name, g := range map[string]*review.Gate{"no schedule": gate(t, review.Options{}, s.URL), "no models": gate(t, review.Options{Mode: review.Off})} {
		every := time.Duration(0)
		if name == "no models" {
			every = time.Hour
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
			defer cancel()
			began := time.Now()
			require.NoError(t, g.RunCanaries(ctx, every))
			require.Equal(t, 24*time.Hour, time.Since(began), name)
		})
	}
	require.Empty(t, s.requests())
}

// Whoever watches is told that a call goes ahead without a judgement.
func TestObserverIsToldOfDegradation(t *testing.T) {
	down := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusInternalServerError) })
	for skill, degraded := range map[string]bool{"self.read": true, "self.modify": false} {
		seen := &watch{}
		v := check(t, gate(t, review.Options{Observer: seen}, down.URL), call(t, proposal{skill: skill}))
		require.Equal(t, degraded, v.Degraded)
		require.Equal(t, degraded, seen.reviews[0].Degraded)
		require.Equal(t, review.Server, seen.reviews[0].Failure)
	}
}
