package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/notify"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// What is new is gathered, sent once, and not repeated by a restart.
func TestBatchedAndSentOnce(t *testing.T) {
	o, w := newOffice(t), &wire{}
	ch := notify.Channel{Name: "ops", Notifier: w, Batch: 5 * time.Second, Throttle: time.Minute}
	c := o.courier(ch)
	o.later(c, 0)
	require.Empty(t, w.got)
	o.ask("d1", "email.send")
	o.later(c, 0)
	o.later(c, 4*time.Second)
	require.Empty(t, w.got, "it is gathered for five seconds")
	o.ask("d2", "email.send")
	require.Equal(t, 1, c.Status().Waiting)
	o.later(c, time.Second)
	require.Equal(t, [][]string{{"d1", "d2"}}, w.approvals())
	require.Equal(t, 0, c.Status().Waiting)

	o.restart()
	c = o.courier(ch)
	for range 5 {
		o.later(c, time.Minute)
	}
	require.Len(t, w.got, 1)
	o.ask("d3", "email.send")
	o.later(c, 0)
	o.later(c, 5*time.Second)
	require.Equal(t, [][]string{{"d1", "d2"}, {"d3"}}, w.approvals())
}

// Between two messages lies the throttle, however much comes in.
func TestThrottled(t *testing.T) {
	o, w := newOffice(t), &wire{}
	c := o.courier(notify.Channel{Name: "ops", Notifier: w, Batch: time.Second, Throttle: time.Minute})
	for n := range 60 {
		o.ask(fmt.Sprintf("d%02d", n), "email.send")
		o.later(c, 2*time.Second)
	}
	require.Len(t, w.got, 2, "two minutes")
	require.Len(t, w.got[1].Items, 20)
	require.Equal(t, 30, len(w.got[1].Items)+w.got[1].More)
}

// A channel hears of its skills alone.
func TestSkillsOfAChannel(t *testing.T) {
	o, w := newOffice(t), &wire{}
	c := o.courier(notify.Channel{Name: "mail", Notifier: w, Batch: time.Second, Skills: []string{"email.*"}})
	o.ask("d1", "pay.out")
	o.ask("d2", "email.send")
	o.later(c, 0)
	o.later(c, time.Second)
	require.Equal(t, [][]string{{"d2"}}, w.approvals())
}

// What fails is tried again with the same id, later each time, and as late as the other side
// asks. The approval waits as before, and the log hears of it twice.
func TestRetried(t *testing.T) {
	o, w := newOffice(t), &wire{}
	var ids []string
	fail := error(&notify.SendError{Reason: "the receiver answered 429", RetryAfter: 10 * time.Minute})
	w.tell = func() error { ids = append(ids, "try"); return fail }
	c := o.courier(notify.Channel{Name: "ops", Notifier: w, Batch: time.Second})
	o.ask("d1", "email.send")
	o.later(c, 0)
	o.later(c, time.Second)
	require.Len(t, ids, 1)
	o.later(c, 9*time.Minute)
	require.Len(t, ids, 1, "it asked for ten minutes")
	fail = errors.New("dial https://hooks.example.com/CANARY")
	o.later(c, time.Minute)
	require.Len(t, ids, 2)
	s := c.Status()
	require.Equal(t, 2, s.Failures)
	require.Equal(t, 1, s.Waiting)
	require.Equal(t, approval.StatePending, o.state("d1"))
	fail = nil
	o.later(c, 5*time.Minute)
	require.Equal(t, [][]string{{"d1"}}, w.approvals())
	require.Equal(t, 0, c.Status().Failures)
	require.Contains(t, o.log.String(), "takes no messages")
	require.Contains(t, o.log.String(), "works again")
	require.NotContains(t, o.log.String()+s.Problem, "CANARY", "an address is a secret")
}

// A notifier that panics is one that fails.
func TestPanicOfANotifier(t *testing.T) {
	o, w := newOffice(t), &wire{tell: func() error { panic("CANARY") }}
	c := o.courier(notify.Channel{Name: "ops", Notifier: w, Batch: time.Second})
	o.ask("d1", "email.send")
	o.later(c, 0)
	o.later(c, time.Second)
	require.Equal(t, "the notifier panicked", c.Status().Problem)
	require.NotContains(t, o.log.String(), "CANARY")
}

// What was answered before it could be told is told to no person.
func TestAnsweredMeanwhile(t *testing.T) {
	o, w := newOffice(t), &wire{}
	c := o.courier(notify.Channel{Name: "ops", Notifier: w, Batch: time.Minute, Decided: true})
	o.ask("d1", "email.send")
	o.later(c, 0)
	o.deny("d1")
	o.later(c, time.Minute)
	o.later(c, time.Minute)
	require.Empty(t, w.got)
}

// A channel that wants it hears how an approval ended that it was told of, once.
func TestDecided(t *testing.T) {
	o, w := newOffice(t), &wire{}
	ch := notify.Channel{Name: "ops", Notifier: w, Batch: time.Second, Throttle: time.Second, Decided: true}
	c := o.courier(ch)
	o.ask("d1", "email.send")
	o.ask("d2", "email.send")
	o.later(c, 0)
	o.later(c, time.Second)
	o.deny("d1")
	o.restart()
	c = o.courier(ch)
	o.later(c, time.Minute)
	o.later(c, 2*time.Hour) // d2 expires
	o.later(c, time.Hour)
	require.Equal(t, [][]string{{"d1", "d2"}, {"d1"}, {"d2"}}, w.approvals())
	require.Equal(t, notify.KindDecided, w.got[1].Kind)
	require.Equal(t, "carol", w.got[1].Items[0].By)
	require.Equal(t, approval.StateDenied, w.got[1].Items[0].State)
	require.Equal(t, approval.StateExpired, w.got[2].Items[0].State)
	left, err := o.st.Reader().Query(t.Context(), `SELECT 1 FROM notices`)
	require.NoError(t, err)
	require.False(t, left.Next(), "rows go when approvals end")
	require.NoError(t, left.Close())
}

// A message holds names and times, and nothing of what the call would do.
func TestMessagesHoldNoValues(t *testing.T) {
	o, w := newOffice(t), &wire{}
	c := o.courier(notify.Channel{Name: "ops", Notifier: w, Batch: time.Second})
	o.ask("d1", "email.send")
	o.later(c, 0)
	o.later(c, time.Second)
	raw, err := json.Marshal(w.got)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "CANARY")
	require.Contains(t, string(raw), `"link":"https://v.example/approvals/d1"`)
	require.Contains(t, string(raw), `"expires":"2026-03-01T13:00:00Z"`)
}

// A clock that is set back neither silences a channel nor repeats a message.
func TestClockSetBack(t *testing.T) {
	o, w := newOffice(t), &wire{}
	c := o.courier(notify.Channel{Name: "ops", Notifier: w, Batch: time.Second, Throttle: time.Minute})
	o.ask("d1", "email.send")
	o.later(c, 0)
	o.later(c, time.Second)
	o.later(c, -24*time.Hour)
	o.ask("d2", "email.send")
	o.later(c, time.Second)
	o.later(c, time.Minute)
	require.Equal(t, [][]string{{"d1"}, {"d2"}}, w.approvals())
}

// Run ends with its context.
func TestRunEnds(t *testing.T) {
	o, w := newOffice(t), &wire{}
	c := o.courier(notify.Channel{Name: "ops", Notifier: w})
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- c.Run(ctx) }()
	cancel()
	require.NoError(t, <-done)
}

// Settings that can't work are refused when a channel is opened.
func TestOpenRefuses(t *testing.T) {
	o := newOffice(t)
	for _, ch := range []notify.Channel{{}, {Name: "x"}, {Name: "x", Notifier: &wire{}, Skills: []string{"["}}} {
		_, err := notify.Open(t.Context(), notify.Options{Store: o.st, Source: o}, ch)
		require.Error(t, err)
	}
}
