package sentinel_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// askingJudge asks about every call.
func askingJudge() gate { return says("judge", outcome(sentinel.Ask, "judge.ask")) }

// waits is an approver that heeds its context and never answers.
func waits(ctx context.Context, _ sentinel.Call, _ sentinel.Decision) (sentinel.Verdict, error) {
	<-ctx.Done()
	return sentinel.Refuse("approval.denied", "what an approver makes of it counts for nothing"), nil
}

// breaks is an approver that panics.
func breaks(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) { panic("x") }

// endsWith is a way back that waits for the end of the call's context.
func endsWith(err error) func(context.Context, sentinel.Call) error {
	return func(ctx context.Context, _ sentinel.Call) error {
		<-ctx.Done()
		return err
	}
}

// yesFrom is a person's yes.
func yesFrom(by, via string) sentinel.Verdict {
	v := sentinel.Pass()
	v.Meta = map[string]string{"by": by, "via": via}
	return v
}

// Whatever ends the wait but an answer, the expiry and a withdrawal leaves the
// call held: nothing is decided, nothing runs, and the caller is told.
func TestOnlyAnAnswerEndsAHeldCall(t *testing.T) {
	answers := func(v sentinel.Verdict, err error) approver {
		return func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) { return v, err }
	}
	yes := answers(sentinel.Pass(), nil)
	for name, tc := range map[string]struct {
		approver approver
		readmit  func(context.Context, sentinel.Call) error
		leaves   error // the cause that the caller's context ends with, an hour before the expiry
		asks     int   // so often at least is a person asked; at least once
	}{
		"the approver fails":        {approver: answers(sentinel.Verdict{}, errors.New("no line")), leaves: context.Canceled, asks: 120},
		"the approver breaks":       {approver: breaks, leaves: context.Canceled, asks: 120},
		"the approver says nothing": {approver: answers(sentinel.Verdict{}, nil), leaves: context.Canceled, asks: 120},
		"the approver asks back":    {approver: answers(outcome(sentinel.Ask, "x"), nil), leaves: context.Canceled, asks: 120},
		"the approver puts it off":  {approver: answers(outcome(sentinel.Defer, "x"), nil), leaves: context.Canceled, asks: 120},
		"the caller leaves":         {approver: waits, leaves: context.Canceled},
		"the process ends":          {approver: waits, leaves: errors.New("shutdown")},
		"no place is found after a yes": {approver: yes,
			readmit: func(context.Context, sentinel.Call) error { return errors.New("closing") }},
		"the way back breaks after a yes":    {approver: yes, readmit: func(context.Context, sentinel.Call) error { panic("x") }},
		"the caller leaves while readmitted": {approver: yes, readmit: endsWith(nil), leaves: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var events []string
				asked := 0
				b := newBench(t, func(o *sentinel.Options, _ *bench) {
					o.Approver = approver(func(ctx context.Context, c sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
						asked++
						return tc.approver(ctx, c, d)
					})
					o.Readmit, o.AskTimeout = tc.readmit, 2*time.Hour
					o.Observe = func(e sentinel.Event) { events = append(events, e.Kind) }
				}, askingJudge())
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tc.leaves != nil {
					defer time.AfterFunc(time.Hour, func() { cancel(tc.leaves) }).Stop()
				}
				_, err := b.Desk(grant(t)).Invoke(ctx, "test.do", nil)
				require.ErrorIs(t, err, sentinel.ErrHeld)
				require.NotErrorIs(t, err, sentinel.ErrNotRecorded)
				require.GreaterOrEqual(t, asked, max(tc.asks, 1), "an approver that failed is asked again")
				require.LessOrEqual(t, asked, 150, "with pauses")
				require.Equal(t, []string{"held"}, b.rec.kinds())
				require.Equal(t, []string{sentinel.RecordHeld, sentinel.EventAsked, sentinel.EventLeftHeld}, events)
				require.Empty(t, b.runs())
				require.Equal(t, 1, b.lim.released)
				require.Empty(t, b.InFlight())
			})
		})
	}
}

// A call that is withdrawn for good is decided, whenever that happens.
func TestAWithdrawalEndsAHeldCall(t *testing.T) {
	for name, change := range map[string]func(*sentinel.Options){
		"while a person thinks": func(o *sentinel.Options) { o.Approver = approver(waits) },
		"after a yes": func(o *sentinel.Options) {
			o.Approver = approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
				return yesFrom("ann", "web"), nil
			})
			o.Readmit = func(ctx context.Context, _ sentinel.Call) error { <-ctx.Done(); return ctx.Err() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(o *sentinel.Options, _ *bench) { o.AskTimeout = 2 * time.Hour; change(o) }, askingJudge())
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				defer time.AfterFunc(time.Hour, func() { cancel(skills.ErrWithdrawn) }).Stop()
				_, err := b.Desk(grant(t)).Invoke(ctx, "test.do", nil)
				require.Equal(t, sentinel.CodeApprovalCanceled, refusalOf(t, err).Code)
				require.Equal(t, []string{"held", "decision"}, b.rec.kinds())
				require.NotContains(t, string(b.rec.records[1].Body), "abandoned", "it is the last word")
				require.Empty(t, b.runs())
			})
		})
	}
}

// The time to answer is the checkpoint's, whichever the approver: one that never
// answers, and one that says yes when it is too late.
func TestExpiryHoldsForEveryApprover(t *testing.T) {
	late := func(ctx context.Context, _ sentinel.Call, _ sentinel.Decision) (sentinel.Verdict, error) {
		<-ctx.Done()
		return sentinel.Pass(), nil
	}
	for timeout, want := range map[time.Duration]time.Duration{0: sentinel.DefaultAskTimeout, time.Minute: time.Minute} {
		for _, a := range []approver{waits, late} {
			synctest.Test(t, func(t *testing.T) {
				var shown sentinel.Decision
				b := newBench(t, func(o *sentinel.Options, _ *bench) {
					o.AskTimeout = timeout
					o.Approver = approver(func(ctx context.Context, c sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
						shown = d
						return a(ctx, c, d)
					})
				}, askingJudge())
				start := time.Now()
				_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
				require.Equal(t, want, time.Since(start))
				r := refusalOf(t, err)
				require.Equal(t, []string{skills.KindAskExpired, sentinel.CodeApprovalExpired}, []string{r.Kind, r.Code})
				require.Equal(t, []time.Time{start, start.Add(want)}, []time.Time{shown.Asked, shown.Expires})
				require.Empty(t, b.runs())
				got := times(t, b.rec.records[0])
				require.True(t, got.Asked.Equal(start) && got.Expires.Equal(start.Add(want)))
			})
		}
	}
}

// An approver that heeds nothing holds up no caller beyond the expiry.
func TestApproverThatHeedsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		defer close(end)
		b := newBench(t, func(o *sentinel.Options, _ *bench) {
			o.AskTimeout = time.Minute
			o.Approver = approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
				<-end
				return sentinel.Pass(), nil
			})
		}, askingJudge())
		start := time.Now()
		_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
		require.Equal(t, skills.KindAskExpired, refusalOf(t, err).Kind)
		require.LessOrEqual(t, time.Since(start), time.Minute+time.Second)
		require.Empty(t, b.runs())
	})
}

// recordedTimes are the times and names in the body of a record.
type recordedTimes struct {
	Asked    time.Time `json:"asked_at"`
	Expires  time.Time `json:"expires_at"`
	Answered time.Time `json:"answered_at"`
	Approver string    `json:"approver"`
	Via      string    `json:"via"`
}

func times(t *testing.T, r sentinel.Record) (out recordedTimes) {
	t.Helper()
	require.NoError(t, json.Unmarshal(r.Body, &out))
	return out
}

// memory gives back what the recorder holds, as if it came from the disk.
type memory struct{ r *recorder }

func (m memory) Past(_ context.Context, id string) ([]sentinel.Record, error) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	var out []sentinel.Record
	for _, r := range m.r.records {
		if r.CallID == id {
			out = append(out, r)
		}
	}
	return out, nil
}

// life is one process over the same records.
func life(t *testing.T, rec *recorder, a sentinel.Approver) *bench {
	t.Helper()
	return newBench(t, func(o *sentinel.Options, b *bench) {
		b.rec, o.Recorder, o.History, o.Approver, o.AskTimeout = rec, rec, memory{rec}, a, time.Hour
	}, askingJudge())
}

func (b *bench) again(ctx context.Context, t *testing.T, args string) error {
	t.Helper()
	d := b.Numbered(grant(t))
	_, err := d.Resume(t.Context(), 0, 1)
	require.NoError(t, err)
	_, err = d.Invoke(ctx, "test.do", json.RawMessage(args))
	return err
}

// A process that ends leaves the call held; the next one asks about it under the
// same id, with the time that is left of the first question, and an answer ends it.
func TestHeldOverRestarts(t *testing.T) {
	const args = `{"to":"ann"}`
	for name, tc := range map[string]struct {
		away    time.Duration // between the first process's end and the last one's start
		strip   bool          // the records are of before they held times
		answer  sentinel.Verdict
		kind    string
		asked   int // processes that asked, the first two included
		records []string
	}{
		"answered after it": {10 * time.Minute, false, yesFrom("ann", "web"), "", 3,
			[]string{"held", "held", "held", "decision", "outcome"}},
		"refused after it": {10 * time.Minute, false, outcome(sentinel.Deny, "approval.denied"), skills.KindAskDenied, 3,
			[]string{"held", "held", "held", "decision"}},
		"expired meanwhile": {time.Hour, false, yesFrom("ann", "web"), skills.KindAskExpired, 2, []string{"held", "held", "decision"}},
		"held by an older version": {10 * time.Minute, true, yesFrom("ann", "web"), "", 3,
			[]string{"held", "held", "held", "decision", "outcome"}},
		"expired, by an older one": {time.Hour, true, yesFrom("ann", "web"), skills.KindAskExpired, 2, []string{"held", "held", "decision"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec, start, asked := &recorder{}, time.Now(), 0
				for range 2 { // the first process, and one that ends as the first did
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
					err := life(t, rec, approver(func(ctx context.Context, c sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
						asked++
						return waits(ctx, c, d)
					})).again(ctx, t, args)
					cancel()
					require.ErrorIs(t, err, sentinel.ErrHeld)
				}
				if tc.strip {
					for i, r := range rec.records {
						rec.records[i].Body = without(t, r.Body, "asked_at", "expires_at")
					}
				}
				time.Sleep(tc.away)
				err := life(t, rec, approver(func(_ context.Context, _ sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
					asked++
					require.True(t, d.Asked.Equal(start) && d.Expires.Equal(start.Add(time.Hour)), "%s %s", d.Asked, d.Expires)
					return tc.answer, nil
				})).again(t.Context(), t, args)
				require.Equal(t, tc.asked, asked)
				require.Equal(t, tc.records, rec.kinds())
				for _, r := range rec.records {
					require.Equal(t, sentinel.CallID("g1", 0), r.CallID)
					require.Equal(t, rec.records[0].DecisionID, r.DecisionID)
				}
				if tc.kind == "" {
					require.NoError(t, err)
				} else {
					require.Equal(t, tc.kind, refusalOf(t, err).Kind)
				}
				before := len(rec.kinds())
				require.Equal(t, err, life(t, rec, nil).again(t.Context(), t, args), "it is the last word")
				require.Len(t, rec.kinds(), before)
			})
		})
	}
}

// without takes fields out of a body, as a record has it that is of before them.
func without(t *testing.T, body []byte, names ...string) []byte {
	t.Helper()
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(body, &m))
	for _, n := range names {
		require.Contains(t, m, n)
		delete(m, n)
	}
	out, err := json.Marshal(m)
	require.NoError(t, err)
	return out
}

// Another call than the one that was held is another question, with a time of
// its own.
func TestAnotherCallIsAnotherQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		require.ErrorIs(t, life(t, rec, approver(waits)).again(ctx, t, `{"to":"ann"}`), sentinel.ErrHeld)
		now := time.Now()
		require.NoError(t, life(t, rec, approver(func(_ context.Context, _ sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
			require.True(t, d.Asked.Equal(now))
			return sentinel.Pass(), nil
		})).again(t.Context(), t, `{"to":"bob"}`))
		require.Equal(t, []string{"held", "decision", "held", "decision", "outcome"}, rec.kinds())
		require.Equal(t, rec.records[0].DecisionID, rec.records[1].DecisionID, "the first question has an end of its own")
		require.NotEqual(t, rec.records[0].DecisionID, rec.records[2].DecisionID)
	})
}

// The record of a call that a person decided has both times, who answered, and
// how; its own time is the answer's.
func TestTheAnswerIsOnRecord(t *testing.T) {
	for name, v := range map[string]sentinel.Verdict{
		"yes": yesFrom("ann", "web"),
		"no": func() sentinel.Verdict {
			v := outcome(sentinel.Deny, "approval.denied")
			v.Meta = yesFrom("ann", "web").Meta
			return v
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var told sentinel.Decision
				b := newBench(t, func(o *sentinel.Options, _ *bench) {
					o.Approver = approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
						time.Sleep(time.Minute)
						return v, nil
					})
					o.Observe = func(e sentinel.Event) {
						if e.Kind == sentinel.RecordDecision {
							told = e.Decision
						}
					}
				}, askingJudge())
				_, _ = b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
				at := start.Add(time.Minute)
				got := times(t, b.rec.records[1])
				require.True(t, got.Asked.Equal(start) && got.Answered.Equal(at) && got.Expires.Equal(start.Add(5*time.Minute)))
				require.Equal(t, []string{"ann", "web"}, []string{got.Approver, got.Via})
				require.True(t, b.rec.records[1].At.Equal(at))
				require.True(t, b.rec.records[0].At.Equal(start))
				require.Equal(t, []any{"ann", "web", at, start}, []any{told.Approver, told.Via, told.Answered, told.Asked})
			})
		})
	}
	b := newBench(t, nil) // no person was asked
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.NoError(t, err)
	require.Zero(t, times(t, b.rec.records[0]))
	require.NotContains(t, string(b.rec.records[0].Body), "_at")
}

// What observers and approvers were handed stays as it was, whatever becomes of
// the call. Under the race detector this fails where anything is written.
func TestWhatWasHandedOutIsNeverWritten(t *testing.T) {
	var looking sync.WaitGroup
	release := make(chan struct{})
	var mu sync.Mutex
	states := map[string]sentinel.State{}
	var changed []string
	look := func(who string, d sentinel.Decision) {
		before := slices.Clone(d.Verdicts)
		looking.Go(func() {
			for range 1000 {
				for _, v := range d.Verdicts {
					_ = v.Code + v.Meta["by"]
				}
			}
			<-release
			v, _ := d.Verdict(sentinel.GateApproval)
			mu.Lock()
			defer mu.Unlock()
			states[who] = v.State
			if !reflect.DeepEqual(before, d.Verdicts) {
				changed = append(changed, who)
			}
		})
	}
	pauses := &switchable{}
	b := newBench(t, func(o *sentinel.Options, b *bench) {
		o.Approver = approver(func(_ context.Context, _ sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
			look("approver", d)
			return yesFrom("ann", "web"), nil
		})
		o.Observe = func(e sentinel.Event) { look(e.Kind, e.Decision) }
		o.Pauser = pauses
	}, askingJudge())
	b.rec.onWrite = func(r sentinel.Record) {
		if r.Kind == sentinel.RecordDecision {
			pauses.set()
		}
	}
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.Equal(t, skills.KindPaused, refusalOf(t, err).Kind)
	close(release)
	looking.Wait()
	require.Empty(t, changed)
	require.Equal(t, map[string]sentinel.State{
		"approver": sentinel.NotReached, "asked": sentinel.NotReached, "held": sentinel.NotReached, "decision": sentinel.Judged,
		"outcome": sentinel.Judged,
	}, states)
}

// switchable is a kill switch that is set once.
type switchable struct {
	mu sync.Mutex
	on bool
}

func (s *switchable) set() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = true
}

func (s *switchable) Paused(string, string) (sentinel.Pause, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sentinel.Pause{Scope: "all"}, s.on
}

// full is a queue that never has room.
type full struct{}

func (full) Enter(context.Context, sentinel.Call) (func(), error) { return nil, errors.New("no room") }

// A call that could not start says nothing about its skill.
func TestNotStartedIsNoFailureOfTheSkill(t *testing.T) {
	b := newBench(t, func(o *sentinel.Options, _ *bench) { o.Queues = map[string]sentinel.Queue{"test.do": full{}} })
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	var f *skills.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, skills.FailNotStarted, f.Code)
	require.Equal(t, []bool{true}, b.lim.reported)
}

// An answer after expires_at doesn't count, whatever the timer has measured: a
// machine that slept counts no time.
func TestAnAnswerAfterTheExpiryDoesNotCount(t *testing.T) {
	for name, row := range map[string]struct {
		asleep time.Duration
		kind   string
	}{
		"just in time": {time.Hour - time.Millisecond, ""},
		"too late":     {time.Hour, skills.KindAskExpired},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			b := newBench(t, func(o *sentinel.Options, _ *bench) {
				o.AskTimeout, o.Now = time.Hour, func() time.Time { return now }
				o.Approver = approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
					now = now.Add(row.asleep)
					return sentinel.Pass(), nil
				})
			}, askingJudge())
			_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
			if row.kind == "" {
				require.NoError(t, err)
				require.Len(t, b.runs(), 1)
				return
			}
			require.Equal(t, row.kind, refusalOf(t, err).Kind)
			require.Empty(t, b.runs())
		})
	}
}
