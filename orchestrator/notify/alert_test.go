package notify_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/notify"
)

// drawer is an outbox in memory.
type drawer struct{ list []notify.Alert }

func (d *drawer) Due(context.Context, string) ([]notify.Alert, error) { return d.list, nil }

func (d *drawer) Forget(_ context.Context, _ string, told []notify.Alert) error {
	d.list = d.list[len(told):]
	return nil
}

// courierOf opens a courier that has alerts alone, or approvals besides.
func (o *office) courierOf(d *drawer, w *wire, source notify.Source) *notify.Courier {
	o.t.Helper()
	c, err := notify.Open(o.t.Context(), notify.Options{
		Store: o.st, Source: source, Alerts: d, PublicURL: "https://v.example/", Now: o.clock.Now,
	}, notify.Channel{Name: "ops", Notifier: w, Batch: time.Second, Throttle: time.Minute})
	require.NoError(o.t, err)
	return c
}

// Alerts are delivered in messages of their own, before approvals and with the channel's throttle, and again where
// they were not taken.
func TestAlertsOfAChannel(t *testing.T) {
	o, w, record := newOffice(t), &wire{}, int64(17)
	d := &drawer{list: []notify.Alert{
		{ID: "1", Rule: "many", Watch: notify.WatchDenials, At: began, Count: 12, Of: 40, Seconds: 600, Query: `outcome:deny "a b"`},
		{ID: "2", Rule: "blind", Watch: notify.WatchDegraded, At: began, Count: 3, Of: 4, Seconds: 60},
		{ID: "3", Rule: "new", Watch: notify.WatchFirstIrreversible, At: began, Name: "x\u202e\n<!channel> https://evil.example"},
		{ID: "4", Rule: "models", Watch: notify.WatchCanaries, At: began, Name: "fast"},
		{ID: "5", Rule: "proof", Watch: notify.WatchVerify, At: began, Count: 2, Record: &record},
		{ID: "6", Rule: "proof", Watch: notify.WatchVerify, At: began},
	}}
	refused := error(&notify.SendError{Reason: "the receiver answered 503"})
	w.tell = func() error { return refused }
	c := o.courierOf(d, w, o)
	o.ask("d1", "email.send")
	o.later(c, 0)
	require.Equal(t, 7, c.Status().Waiting)
	require.Equal(t, 1, c.Status().Failures)
	refused = nil
	o.later(c, time.Minute)
	require.Len(t, w.got, 1)
	require.Empty(t, d.list)
	o.later(c, 30*time.Second)
	require.Len(t, w.got, 1, "the approval waits for the throttle")
	o.later(c, 30*time.Second)
	require.Len(t, w.got, 2)
	require.Equal(t, notify.KindPending, w.got[1].Kind)

	m := w.got[0]
	require.Equal(t, notify.KindAlert, m.Kind)
	require.Equal(t, "Vedette: 6 alerts of the decision log", m.Title())
	require.Equal(t, []string{
		"many: 12 of 40 decisions were denials, within 10m0s, at 2026-03-01 12:00 UTC",
		"blind: 3 of 4 decisions had no model's judgement, within 1m0s, at 2026-03-01 12:00 UTC",
		`new: the skill x\u202e\u000a<!channel> https:\u002f\u002fevil.example was allowed something irreversible for the first time, ` +
			"at 2026-03-01 12:00 UTC",
		"models: the model fast fails its canaries, so its judgements don't count, at 2026-03-01 12:00 UTC",
		"proof: the ledger was changed: 2 problems, the first at record 17; see vedette ledger verify, at 2026-03-01 12:00 UTC",
		"proof: the ledger can't be verified; vedette ledger verify says why, at 2026-03-01 12:00 UTC",
	}, m.Lines())
	require.Equal(t, "https://v.example/log?q=outcome%3Adeny+%22a+b%22", m.Alerts[0].Link)
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	require.Contains(t, string(raw), `"type":"alerts"`)
	require.Contains(t, string(raw), `"approvals":[]`)
}

// A channel needs no inbox for alerts. A message names 20, and counts the others.
func TestAlertsWithoutAnInbox(t *testing.T) {
	o, w, d := newOffice(t), &wire{}, &drawer{}
	for range 25 {
		d.list = append(d.list, notify.Alert{ID: "1", Rule: "many", Watch: notify.WatchDenials, At: began})
	}
	o.later(o.courierOf(d, w, nil), 0)
	require.Len(t, w.got, 1)
	require.Len(t, w.got[0].Alerts, 20)
	require.Equal(t, 5, w.got[0].More)
	require.Equal(t, "and 5 more", w.got[0].Lines()[20])
	require.Empty(t, d.list)
}
