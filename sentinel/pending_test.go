package sentinel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// waitingRoom is a bench of which every call is held until the test answers.
type waitingRoom struct {
	*bench
	asked   chan struct{}
	answers chan func() (sentinel.Verdict, error)
}

func newWaitingRoom(t *testing.T, most sentinel.PendingLimits, history sentinel.History) waitingRoom {
	w := waitingRoom{nil, make(chan struct{}, 100), make(chan func() (sentinel.Verdict, error), 100)}
	w.bench = newBench(t, func(o *sentinel.Options, _ *bench) {
		o.Pending, o.History = most, history
		o.Approver = approver(func(ctx context.Context, _ sentinel.Call, _ sentinel.Decision) (sentinel.Verdict, error) {
			w.asked <- struct{}{}
			select {
			case fn, ok := <-w.answers:
				if !ok { // from now on every answer is yes
					return sentinel.Pass(), nil
				}
				return fn()
			case <-ctx.Done():
				return sentinel.Verdict{}, ctx.Err()
			}
		})
	}, says("guard", outcome(sentinel.Ask, "guard.x")))
	return w
}

// hold proposes a call and waits until a person is asked about it.
func (w waitingRoom) hold(ctx context.Context, t *testing.T, user, conversation string) <-chan error {
	out, desk := make(chan error, 1), w.Desk(grantOf(t, user, conversation))
	go func() {
		_, err := desk.Invoke(ctx, "test.do", nil)
		out <- err
	}()
	<-w.asked
	return out
}

// So many calls wait for people, for a conversation, a user and the process; the
// next is denied, on record, as a spent budget, and nobody is asked.
func TestPendingIsBounded(t *testing.T) {
	for name, row := range map[string]struct {
		most sentinel.PendingLimits
		next [2]string // whose call is too many
		free [2]string // whose isn't
	}{
		"conversation": {sentinel.PendingLimits{Conversation: 2, User: 3, Process: 10}, [2]string{"u", "c"}, [2]string{"u", "d"}},
		"user":         {sentinel.PendingLimits{Conversation: 3, User: 2, Process: 10}, [2]string{"u", "d"}, [2]string{"v", "c"}},
		"process":      {sentinel.PendingLimits{Conversation: 3, User: 3, Process: 2}, [2]string{"v", "d"}, [2]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaitingRoom(t, row.most, nil)
			held := []<-chan error{w.hold(t.Context(), t, "u", "c"), w.hold(t.Context(), t, "u", "c")}
			_, err := w.Desk(grantOf(t, row.next[0], row.next[1])).Invoke(t.Context(), "test.do", nil)
			no := refusalOf(t, err)
			require.Equal(t, []string{skills.KindBudget, sentinel.GateApproval, sentinel.CodePendingFull}, []string{no.Kind, no.Gate, no.Code})
			require.True(t, strings.HasSuffix(no.Reason, "(approvals.pending."+name+")"), no.Reason)
			require.Empty(t, w.asked)
			require.Equal(t, []string{"held", "held", "decision"}, w.rec.kinds())
			if row.free[0] != "" {
				held = append(held, w.hold(t.Context(), t, row.free[0], row.free[1]))
			}
			for range held {
				w.answers <- func() (sentinel.Verdict, error) { return sentinel.Pass(), nil }
			}
			for _, h := range held {
				require.NoError(t, <-h)
			}
			again := w.hold(t.Context(), t, row.next[0], row.next[1])
			w.answers <- func() (sentinel.Verdict, error) { return sentinel.Pass(), nil }
			require.NoError(t, <-again)
		})
	}
}

// However a wait ends, the call counts no longer.
func TestPendingEnds(t *testing.T) {
	for name, end := range map[string]func() (sentinel.Verdict, error){
		"yes":     func() (sentinel.Verdict, error) { return sentinel.Pass(), nil },
		"no":      func() (sentinel.Verdict, error) { return sentinel.Refuse("approval.denied", "no"), nil },
		"expired": func() (sentinel.Verdict, error) { return sentinel.Refuse("approval.expired", "late"), nil },
		"error":   func() (sentinel.Verdict, error) { return sentinel.Verdict{}, errors.New("broken") },
		"panic":   func() (sentinel.Verdict, error) { panic("broken") },
		"left":    nil,
		"store":   func() (sentinel.Verdict, error) { return sentinel.Pass(), nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWaitingRoom(t, sentinel.PendingLimits{User: 1}, nil)
				if name == "store" {
					w.rec.fail = func(r sentinel.Record) error {
						if r.Kind == sentinel.RecordDecision {
							return errors.New("the disk is full")
						}
						return nil
					}
				}
				for range 3 {
					ctx, leave := context.WithCancel(t.Context())
					h := w.hold(ctx, t, "u", "c")
					if end == nil {
						leave()
					} else {
						w.answers <- end
					}
					if name == "error" || name == "panic" {
						<-w.asked // again: a failure is no answer
						leave()
					}
					err := <-h
					leave()
					require.Equal(t, name == "yes", err == nil, "%v", err)
				}
			})
		})
	}
}

// A held record that can't be written counts no longer either.
func TestPendingNotRecorded(t *testing.T) {
	w := newWaitingRoom(t, sentinel.PendingLimits{User: 1}, nil)
	w.rec.fail = func(sentinel.Record) error { return errors.New("the disk is full") }
	for range 3 {
		_, err := w.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
		require.ErrorIs(t, err, sentinel.ErrNotRecorded)
	}
	w.rec.fail = nil
	h := w.hold(t.Context(), t, "u1", "c1")
	w.answers <- func() (sentinel.Verdict, error) { return sentinel.Pass(), nil }
	require.NoError(t, <-h)
}

// A question that is on record is put again after a restart though others have
// taken its place. Another call under the same id was never asked about: it is
// one more, and so is one whose question was answered.
func TestPendingAgain(t *testing.T) {
	const held = `{"to":"ann"}`
	for name, row := range map[string]struct {
		answered bool
		args     string
		put      bool
	}{
		"the call that is held":                 {false, held, true},
		"another call under its id":             {false, `{"to":"bob"}`, false},
		"another call under the id of a denied": {true, `{"to":"bob"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			rec := &recorder{}
			gone, cancel := context.WithCancel(t.Context())
			defer cancel()
			first := life(t, rec, approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
				if row.answered {
					return sentinel.Refuse("approval.denied", "no"), nil
				}
				cancel()
				return sentinel.Verdict{}, gone.Err()
			}))
			require.Error(t, first.again(gone, t, held))

			w := newWaitingRoom(t, sentinel.PendingLimits{User: 1}, memory{rec})
			other := w.hold(t.Context(), t, "u1", "another")
			w.answers <- func() (sentinel.Verdict, error) { return sentinel.Pass(), nil }
			require.NoError(t, <-other)
			other = w.hold(t.Context(), t, "u1", "another") // it has the only place
			again, desk := make(chan error, 1), w.Numbered(grant(t))
			_, err := desk.Resume(t.Context(), 0, 1)
			require.NoError(t, err)
			go func() {
				_, err := desk.Invoke(t.Context(), "test.do", json.RawMessage(row.args))
				again <- err
			}()
			var refused error
			put := false
			select {
			case <-w.asked:
				put = true
			case refused = <-again:
			}
			close(w.answers)
			require.NoError(t, <-other)
			require.Equal(t, row.put, put)
			if put {
				require.NoError(t, <-again)
				return
			}
			require.Equal(t, sentinel.CodePendingFull, refusalOf(t, refused).Code)
		})
	}
}

// The number of proposals that were left out is one record; of none there is none.
func TestOmit(t *testing.T) {
	b := newBench(t, nil)
	d := b.Desk(grant(t))
	require.NoError(t, d.Omit(t.Context(), 0))
	require.Empty(t, b.rec.kinds())
	require.NoError(t, d.Omit(t.Context(), 2999))
	require.Equal(t, []string{"refused"}, b.rec.kinds())
	r := b.rec.records[0]
	require.Equal(t, []string{sentinel.CodeOmitted, sentinel.GateLimits, "deny"}, []string{r.Code, r.Gate, r.Outcome})
	require.Contains(t, string(r.Body), `"suppressed":2999`)
	b.rec.fail = func(sentinel.Record) error { return fmt.Errorf("the disk is full") }
	require.ErrorIs(t, d.Omit(t.Context(), 1), sentinel.ErrNotRecorded)
}
