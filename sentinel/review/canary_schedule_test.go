package review_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/review"
)

// A model that is slow within the review's time is proved as any other, with several slow ones
// as well, and keeps none of them waiting.
func TestSlowModelsAreProved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		slowly := func(pace time.Duration) func(http.ResponseWriter, *http.Request, int) {
			return func(rw http.ResponseWriter, r *http.Request, n int) {
				time.Sleep(pace)
				if n <= 6 {
					say(rw, right([]byte(r.Header.Get("Body"))))
					return
				}
				say(rw, approves)
			}
		}
		w.serve("slow", slowly(17*time.Second))
		w.serve("slower", slowly(55*time.Second))
		wrong := w.serve("wrong", saying(approves))
		g := w.gate(review.Options{Timeout: time.Minute, Doubts: review.DoubtsReview}, "slow", "slower", "wrong")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.RunCanaries(ctx, 6*time.Hour) }()
		time.Sleep(25 * time.Minute)
		require.Equal(t, review.CanaryFailed, g.State().Models[0].DoubtCanary, "all of its 66 questions were asked")
		require.Equal(t, 18, wrong.asked(), "a slow model delays no other")
		time.Sleep(45 * time.Minute)
		require.Equal(t, review.CanaryFailed, g.State().Models[1].DoubtCanary)
		cancel()
		require.NoError(t, <-done)
	})
}
