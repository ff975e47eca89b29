package notify_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/notify"
)

// notifierFunc is a notifier that is a function.
type notifierFunc func(notify.Message) error

func (f notifierFunc) Send(_ context.Context, m notify.Message) error { return f(m) }

// Each channel is told of a blocked text, one that fails or panics keeps none from the others, and no caller waits.
func TestAlarmsTellEveryChannel(t *testing.T) {
	told := make(chan notify.Message, 1)
	a := notify.NewAlarms([]notify.Channel{
		{Name: "broken", Notifier: notifierFunc(func(notify.Message) error { panic("x") })},
		{Name: "down", Notifier: notifierFunc(func(notify.Message) error { return errors.New("no way") })},
		{Name: "ops", Notifier: notifierFunc(func(m notify.Message) error { told <- m; return nil })},
	}, "https://v.example/", nil)
	for range 100 { // more than there is room for, and nothing reads
		a.Tell(notify.Blocked{Request: "r1", User: "ann", At: time.Unix(0, 0), Score: 97, Rules: []string{"command.rm_target"}, Others: 3})
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	m := <-told
	cancel()
	for range 8 { // those that were under way
		select {
		case <-told:
		case err := <-ended:
			ended <- err
		}
	}
	require.NoError(t, <-ended)
	require.Equal(t, notify.KindBlocked, m.Kind)
	require.Equal(t, "Vedette: a text was blocked as an attack", m.Title())
	require.Equal(t, []string{"request r1, for ann, score 97, by command.rm_target; 3 more since the message before"}, m.Lines())
	require.Equal(t, "https://v.example/intents/r1", m.Link)
	require.Regexp(t, "^msg_", m.ID)
}
