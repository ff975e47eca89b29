package review_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// One user who makes many calls makes no other user busy: users who wait have
// their turns, and a user's own calls keep their order.
func TestUsersHaveTheirTurns(t *testing.T) {
	noisy := call(t, proposal{skill: "self.modify", grant: sentinel.GrantOptions{User: "noisy"}})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", slow(900*time.Millisecond, saying(approves)))
		g := w.gate(review.Options{Concurrency: 1, Timeout: 20 * time.Second}, "fast")
		began := time.Now()
		var loud, quiet []<-chan result
		for range 30 {
			loud = append(loud, checking(t.Context(), g, noisy))
		}
		synctest.Wait()
		for i := range 2 {
			own := call(t, proposal{skill: "self.modify", grant: sentinel.GrantOptions{User: fmt.Sprint("quiet", i)}})
			quiet = append(quiet, checking(t.Context(), g, own), checking(t.Context(), g, own))
		}
		for _, r := range quiet {
			require.Equal(t, sentinel.Allow, (<-r).v.Outcome)
		}
		require.LessOrEqual(t, time.Since(began), 7*time.Second, "one is with the model, and three have their turns")
		counts := map[string]int{}
		for _, r := range loud {
			counts[(<-r).v.Meta["failure"]]++
		}
		require.Equal(t, map[string]int{"": 8, "busy": 22}, counts, "ten seconds long, but for the four")
		require.Zero(t, g.State().Models[0].UnderWay)
	})
}
