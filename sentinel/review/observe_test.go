package review_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// watch keeps what an Observer is told.
type watch struct {
	mu       sync.Mutex
	requests []review.RequestEvent
	reviews  []review.ReviewEvent
	breakers []review.BreakerEvent
}

func (w *watch) Request(_ context.Context, e review.RequestEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, e)
}

func (w *watch) Review(_ context.Context, e review.ReviewEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reviews = append(w.reviews, e)
}

func (w *watch) Breaker(e review.BreakerEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.breakers = append(w.breakers, e)
}

// Every request is told of, sent or not, with what it took and came to; every
// verdict with their sums.
func TestObserver(t *testing.T) {
	c := call(t, proposal{skill: "self.irreversible"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", first(1, slow(time.Second, status(503)), slow(2*time.Second, first(2, saying("prose "+approves), saying(approves)))))
		w.serve("strong", slow(3*time.Second, saying(rejects)))
		seen := &watch{}
		terms := map[string]review.Terms{"fast": {RequestsPerMinute: 10, Price: review.Price{Input: 1_000_000, Output: 2_000_000}}}
		g := w.gate(review.Options{Timeout: 100 * time.Second, Retries: 1, Terms: terms, Observer: seen}, "fast", "|", "strong")
		began := time.Now()
		v := check(t, g, c)
		require.Equal(t, review.CodeDisagreement, v.Code)
		require.Len(t, seen.requests, 4)
		require.Equal(t, review.RequestEvent{Model: "fast", Failure: review.Server, Status: 503, Sent: true, Attempt: 1,
			Began: began, Duration: time.Second}, seen.requests[0])
		at := began.Add(6 * time.Second)
		wait := seen.requests[1].Wait // the pause between attempts is drawn, so is what is left to wait
		require.Equal(t, review.RequestEvent{Model: "fast", Failure: review.Prose, Sent: true, Attempt: 2,
			Began: at, Wait: wait, Duration: 2 * time.Second, TokensIn: 7, TokensOut: 3, Cost: 13}, seen.requests[1])
		require.Greater(t, wait, 4*time.Second)
		require.Equal(t, review.RequestEvent{Model: "fast", Sent: true, Attempt: 1, Purpose: review.Purpose{Repair: true},
			Began: at.Add(6 * time.Second), Wait: 4 * time.Second, Duration: 2 * time.Second, TokensIn: 7, TokensOut: 3, Cost: 13}, seen.requests[2])
		require.Equal(t, review.RequestEvent{Model: "strong", Sent: true, Attempt: 1, Purpose: review.Purpose{Second: true},
			Began: at.Add(8 * time.Second), Duration: 3 * time.Second, TokensIn: 7, TokensOut: 3}, seen.requests[3])
		require.Equal(t, []review.ReviewEvent{{Outcome: sentinel.Ask, Code: review.CodeDisagreement, Mode: review.Enforce,
			Course: review.Course{Escalated: true}, Effect: "irreversible", Model: "fast", SecondModel: "strong", Requests: 4,
			TokensIn: 21, TokensOut: 9, Cost: 26, Began: began, Duration: time.Since(began)}}, seen.reviews)
		require.Equal(t, "26", v.Meta["cost"])
		require.Empty(t, seen.breakers)
	})
}

// The observer is told of a request that could not be sent, with its reason. One whose caller
// gave up is no model's failure and has no verdict.
func TestObserverOfWhatWasNotSent(t *testing.T) {
	c := call(t, proposal{skill: "others.read", args: `{"url":"https://elsewhere.example/x"}`})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", hanging)
		seen := &watch{}
		g := w.gate(review.Options{Mode: review.ShadowMode, Observer: seen, Terms: perMinute("fast", 1)}, "fast")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := g.Check(ctx, c)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, []review.RequestEvent{{Model: "fast", Canceled: true, Sent: true, Attempt: 1, Began: began, Duration: time.Second}},
			seen.requests)
		require.Empty(t, seen.reviews)
		check(t, g, c)
		require.Equal(t, review.RequestEvent{Model: "fast", Failure: review.Busy, Attempt: 1, Began: time.Now()}, seen.requests[1])
		require.Equal(t, []review.ReviewEvent{{Outcome: sentinel.Ask, Code: review.CodeShadow, Mode: review.ShadowMode, Failure: review.Busy,
			Effect: "read", Outward: true, Model: "fast", Began: time.Now()}}, seen.reviews)
	})
}

// A model that goes bad under load: healthy, then silent, then failing, then
// healthy again, with ten callers all the while, fifty with VEDETTE_LONG. The timeline
// is in the log of go test -v.
func TestFaultDrill(t *testing.T) {
	callers := 10
	if os.Getenv("VEDETTE_LONG") != "" {
		callers = 50
	}
	table := map[string]struct{ unavailable, unjudgeable sentinel.Outcome }{
		"self.read": {sentinel.Allow, sentinel.Ask}, "self.create": {sentinel.Allow, sentinel.Defer}, "self.modify": {sentinel.Ask, sentinel.Ask},
		"self.irreversible": {sentinel.Deny, sentinel.Ask}, "others.read": {sentinel.Ask, sentinel.Ask},
	}
	calls := map[string][]sentinel.Call{} // of three users
	for skill := range table {
		for _, user := range []string{"ann", "bob", "cho"} {
			c, err := alikeOf(failureCall(t, skill, ""), user)
			require.NoError(t, err)
			calls[skill] = append(calls[skill], c)
		}
	}
	o := review.Options{Timeout: 5 * time.Second, Retries: 1, Breaker: review.Breaker{Failures: 5, Window: 20 * time.Second,
		OpenFor: 10 * time.Second},
		Unavailable: sentinel.OutageTable{"irreversible": sentinel.Deny}, Unjudgeable: sentinel.OutageTable{"create": sentinel.Defer}}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		began := time.Now()
		phase := func() int { return int(time.Since(began) / time.Minute) }
		s := w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			[]handler{slow(50*time.Millisecond, saying(approves)), hanging, status(500), slow(50*time.Millisecond, saying(approves))}[phase()](rw, r,
				n)
		})
		d := &drill{began: began, counts: map[int]map[string]int{}}
		o.Observer = d
		g := w.gate(o, "fast")
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				for n := i; phase() < 4; n++ {
					skill := []string{"self.read", "self.create", "self.modify", "self.irreversible", "others.read"}[n%5]
					at := time.Since(began)
					r := <-checking(t.Context(), g, calls[skill][i%3])
					v, err := r.v, r.err
					d.note(at, v, err, table[skill].unavailable, table[skill].unjudgeable)
					time.Sleep(500 * time.Millisecond)
					if time.Since(began) > 239*time.Second {
						return
					}
				}
			})
		}
		wg.Wait()
		d.tell(t, s.asked())
		require.Empty(t, d.wrong, "outside of the table")
		require.Equal(t, "closed", breaker(g))
		require.NotEmpty(t, d.changes)
		for i := range 24 {
			slice := d.counts[i]
			switch {
			case i < 6 || i > 18:
				require.Zero(t, slice["unjudged"], "healthy, and recovered without a restart")
			case i > 6 && i < 18:
				require.Zero(t, slice["judged"])
				probes := slice["unjudged"] - slice["breaker_open"]
				for failure, n := range slice {
					if strings.HasPrefix(failure, "lone_") { // another user's is let through at once
						probes -= n
					}
				}
				require.LessOrEqual(t, probes, 1, "one probe each ten seconds")
				require.Greater(t, slice["breaker_open"], 16*callers, "each asks twice a second")
			}
		}
		last := d.changes[len(d.changes)-1]
		require.Equal(t, review.BreakerEvent{Model: "fast", From: "half-open", To: "closed"}, last.e)
		require.Less(t, last.at, 3*time.Minute+o.Breaker.OpenFor+time.Second)
	})
}

// drill is what a fault drill saw, in slices of ten seconds.
type drill struct {
	watch
	began   time.Time
	mu2     sync.Mutex
	counts  map[int]map[string]int
	wrong   []string
	changes []change
}

type change struct {
	at time.Duration
	e  review.BreakerEvent
}

func (d *drill) Breaker(e review.BreakerEvent) {
	d.mu2.Lock()
	defer d.mu2.Unlock()
	d.changes = append(d.changes, change{time.Since(d.began), e})
}

// note compares a verdict with the table.
func (d *drill) note(at time.Duration, v sentinel.Verdict, err error, unavailable, unjudgeable sentinel.Outcome) {
	d.mu2.Lock()
	defer d.mu2.Unlock()
	slice := d.counts[int(at/(10*time.Second))]
	if slice == nil {
		slice = map[string]int{}
		d.counts[int(at/(10*time.Second))] = slice
	}
	failure := review.Failure(v.Meta["failure"])
	want := unjudgeable
	switch {
	case failure == "":
		want = sentinel.Allow
		slice["judged"]++
	case failure.Unavailable():
		want = unavailable
		slice["unjudged"]++
	default:
		slice["unjudged"]++
	}
	if failure != "" {
		slice[string(failure)]++
	}
	if v.Degraded {
		slice["degraded"]++
	}
	if err != nil || v.Outcome != want || v.Degraded != (failure != "" && want == sentinel.Allow) {
		d.wrong = append(d.wrong, fmt.Sprint(at, v, err))
	}
}

func (d *drill) tell(t *testing.T, asked int) {
	t.Helper()
	t.Logf("0-60 s answers in 50 ms, 60-120 s silent, 120-180 s status 500, 180-240 s answers again; %d requests sent", asked)
	for i := range 24 {
		t.Logf("%3d s  %v", i*10, d.counts[i])
		for _, c := range d.changes {
			if int(c.at/(10*time.Second)) == i {
				t.Logf("       %8s  breaker %s -> %s", c.at.Round(time.Millisecond), c.e.From, c.e.To)
			}
		}
	}
}
