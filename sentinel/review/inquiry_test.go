package review_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// A gate that measures sends at the model's rate, and judges a call however long it waits for
// its turn: the wait counts for no timeout, and is told.
func TestApartWaitsForItsTurn(t *testing.T) {
	c := call(t, proposal{skill: "self.modify"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", saying(approves))
		g := w.gate(review.Options{Terms: perMinute("fast", 1), Measure: review.Measure{Apart: true}, Timeout: 10 * time.Second}, "fast")
		began := time.Now()
		var all []<-chan result
		for range 10 {
			all = append(all, checking(t.Context(), g, c))
		}
		waited := 0
		for _, r := range all {
			got := <-r
			require.Equal(t, sentinel.Allow, got.v.Outcome)
			require.Empty(t, got.v.Meta["failure"])
			if got.v.Meta["waited_us"] != "" {
				waited++
			}
		}
		require.Equal(t, 9, waited, "the first one didn't wait")
		require.Equal(t, 10, s.asked())
		require.Equal(t, 9*time.Minute, time.Since(began))
	})
}

// What a repair waits for is given back too.
func TestApartWaitsForARepair(t *testing.T) {
	c := call(t, proposal{skill: "self.modify"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", saying("approve, I say"))
		s := w.serve("strong", saying(approves))
		g := w.gate(review.Options{Terms: perMinute("fast", 1), Measure: review.Measure{Apart: true}, Timeout: 10 * time.Second}, "fast",
			"strong")
		v := check(t, g, c)
		require.Equal(t, "strong", v.Meta["model"])
		require.Equal(t, "3", v.Meta["attempts"], "the question, its repair a minute later, and the next model")
		require.Equal(t, 1, s.asked())
	})
}

// A measured review says what each model took where there was more than one. One that isn't
// measured leaves it out of the record.
func TestSpentByModel(t *testing.T) {
	c := call(t, proposal{skill: "self.irreversible"})
	for _, apart := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.serve("fast", saying(approves))
			w.serve("strong", saying(approves))
			o := review.Options{Measure: review.Measure{Apart: apart}, Terms: map[string]review.Terms{
				"fast": {Price: review.Price{Input: 1_000_000}}, "strong": {Price: review.Price{Output: 3_000_000}},
			}}
			v := check(t, w.gate(o, "fast", "|", "strong"), c)
			if !apart {
				require.NotContains(t, v.Meta, "spent")
				return
			}
			require.Equal(t, "fast=1/7/3/7 strong=1/7/3/9", v.Meta["spent"])
		})
	}
}
