package alerts_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/mod/sumdb/note"

	"github.com/vedette-dev/vedette/internal/testclock"
	"github.com/vedette-dev/vedette/orchestrator/alerts"
	"github.com/vedette-dev/vedette/orchestrator/notify"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// post is a ledger that is watched, with a clock that tests move.
type post struct {
	*alerts.Watcher
	t       *testing.T
	path    string
	skey    string
	vkey    string
	clock   *testclock.Clock
	log     bytes.Buffer
	st      *store.Store
	ledger  *ledger.Ledger
	failing []string
	n       int
}

func newPost(t *testing.T) *post {
	t.Helper()
	skey, vkey, err := note.GenerateKey(rand.Reader, "vedette/ledger")
	require.NoError(t, err)
	p := &post{t: t, path: filepath.Join(t.TempDir(), "v.db"), skey: skey, vkey: vkey, clock: testclock.New(began)}
	p.open()
	t.Cleanup(func() { require.NoError(t, p.st.Close()) })
	return p
}

func (p *post) open() {
	p.t.Helper()
	signer, err := ledger.NewSigner(p.skey)
	require.NoError(p.t, err)
	p.st, err = store.Open(p.t.Context(), store.Options{Path: p.path})
	require.NoError(p.t, err)
	p.ledger, err = ledger.Open(p.t.Context(), p.st, signer, ledger.Options{Now: p.clock.Now})
	require.NoError(p.t, err)
}

func (p *post) watch(rules ...alerts.Rule) {
	p.t.Helper()
	var err error
	p.Watcher, err = alerts.Open(p.t.Context(), alerts.Options{
		Store: p.st, Ledger: p.ledger, Channels: []string{"ops", "audit"}, Now: p.clock.Now, Log: slog.New(slog.NewTextHandler(&p.log, nil)),
		Failing: func() []string { return p.failing },
		Verify: func(ctx context.Context) (ledger.Report, error) {
			return ledger.Verify(ctx, p.path, ledger.VerifyOptions{PublicKey: p.vkey})
		},
	}, rules...)
	require.NoError(p.t, err)
}

func (p *post) restart(rules ...alerts.Rule) {
	p.t.Helper()
	require.NoError(p.t, p.st.Close())
	p.open()
	p.watch(rules...)
}

// decide appends decisions of one kind.
func (p *post) decide(times int, skill, outcome, body string) {
	p.t.Helper()
	require.NoError(p.t, p.st.Submit(p.t.Context(), func(tx *store.Tx) error {
		for range times {
			p.n++
			id := fmt.Sprintf("r%05d", p.n)
			_, err := p.ledger.AppendTx(tx, ledger.Entry{ID: id, Time: p.clock.Now(), Kind: "decision", Call: "c-" + id, Decision: "d-" + id,
				User: "ann", Skill: skill, Outcome: outcome, Body: []byte(body)})
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// look has the log looked at and returns what a channel is to be told from then on, which is told.
func (p *post) look(channel string) []notify.Alert {
	p.t.Helper()
	require.NoError(p.t, p.Look(p.t.Context()))
	return p.take(channel)
}

func (p *post) take(channel string) []notify.Alert {
	p.t.Helper()
	list, err := p.Outbox().Due(p.t.Context(), channel)
	require.NoError(p.t, err)
	require.NoError(p.t, p.Outbox().Forget(p.t.Context(), channel, list))
	return list
}

var tooMany = alerts.Rule{Name: "many", Watch: notify.WatchDenials, Count: 5, Share: 0.5, Window: 10 * time.Minute, Throttle: time.Hour}

// A rate needs its count and its share, within its window, and is told once within the throttle.
func TestRateOfDenials(t *testing.T) {
	p := newPost(t)
	p.decide(9, "mail.send", "deny", "{}") // before the rule
	p.watch(tooMany)
	require.Empty(t, p.look("ops"))
	p.clock.Shift(time.Hour)
	p.decide(10, "mail.read", "allow", "{}")
	p.decide(5, "mail.send", "deny", "{}")
	require.Empty(t, p.look("ops"), "a third")
	p.clock.Shift(8 * time.Minute)
	p.decide(5, "mail.send", "deny", "{}")
	got := p.look("ops")
	require.Len(t, got, 1)
	require.Equal(t, int64(10), got[0].Count)
	require.Equal(t, int64(20), got[0].Of)
	require.Equal(t, int64(600), got[0].Seconds)
	require.Equal(t, "outcome:deny since:2026-03-01T12:58:00Z", got[0].Query)
	require.Len(t, p.take("audit"), 1, "every channel is told")
	require.Contains(t, p.log.String(), "rule=many")

	p.decide(5, "mail.send", "deny", "{}")
	require.Empty(t, p.look("ops"), "it is throttled")
	p.clock.Shift(time.Hour)
	p.decide(4, "mail.send", "deny", "{}")
	require.Empty(t, p.look("ops"), "the window is over")
	p.decide(1, "mail.send", "deny", "{}")
	require.Len(t, p.look("ops"), 1)
}

// A restart repeats no alert, loses none, and counts what was written meanwhile, by its own time.
func TestRatesGoOnAfterARestart(t *testing.T) {
	p := newPost(t)
	p.watch(tooMany)
	p.decide(4, "mail.send", "deny", "{}")
	require.Empty(t, p.look("ops"))
	p.restart(tooMany)
	p.clock.Shift(time.Minute)
	p.decide(1, "mail.send", "deny", "{}") // not looked at yet
	p.clock.Shift(3 * time.Hour)
	p.restart(tooMany)
	require.NoError(t, p.Look(t.Context()))
	p.restart(tooMany) // with what is to be told in the database
	require.Len(t, p.look("ops"), 1, "five within ten minutes, three hours ago")
	p.restart(tooMany)
	require.Empty(t, p.look("ops"))
	require.Len(t, p.take("audit"), 1)
}

// A rule looks at the records of its query alone, and tells its own channels.
func TestQueryAndChannelsOfARule(t *testing.T) {
	p := newPost(t)
	r := tooMany
	r.Query, r.Channels = "skill:mail.* -user:bob", []string{"audit"}
	degraded := alerts.Rule{Name: "blind", Watch: notify.WatchDegraded, Count: 2, Window: time.Minute, Throttle: time.Hour}
	p.watch(r, degraded)
	p.decide(9, "file.read", "deny", "{}")
	require.Empty(t, p.look("audit"))
	p.decide(5, "mail.send", "deny", "{}")
	p.decide(1, "mail.send", "allow", `{"degraded":true}`)
	require.Empty(t, p.look("ops"))
	require.Len(t, p.take("audit"), 1)
	p.decide(1, "mail.send", "allow", `{"degraded":true}`)
	got := p.look("ops")
	require.Len(t, got, 1)
	require.Equal(t, notify.WatchDegraded, got[0].Watch)
	require.Equal(t, "degraded:yes since:2026-03-01T11:59:00Z", got[0].Query)
}

// A skill's first irreversible call is told once, also where the log is older than the rule.
func TestFirstIrreversible(t *testing.T) {
	const forGood = `{"effect":"irreversible"}`
	rule := alerts.Rule{Name: "new", Watch: notify.WatchFirstIrreversible}
	p := newPost(t)
	p.decide(1, "old.send", "allow", forGood)
	p.watch(rule)
	p.decide(700, "new.send", "allow", `{"effect":"read"}`)
	p.decide(1, "new.send", "deny", forGood)
	p.decide(1, "old.send", "allow", forGood)
	require.Empty(t, p.look("ops"))
	p.decide(2, "new.send", "allow", forGood)
	p.decide(1, "other.send", "allow", forGood)
	got := p.look("ops")
	require.Len(t, got, 2, "they aren't throttled")
	require.ElementsMatch(t, []string{"new.send", "other.send"}, []string{got[0].Name, got[1].Name})
	require.Contains(t, []string{got[0].Query, got[1].Query}, `decision:"d-r00704"`)
	p.restart(rule)
	p.decide(1, "new.send", "allow", forGood)
	require.Empty(t, p.look("ops"))
}

// A model that fails its canaries is told, and again after the throttle while it does.
func TestCanaries(t *testing.T) {
	p := newPost(t)
	p.watch(alerts.Rule{Name: "models", Watch: notify.WatchCanaries, Throttle: time.Hour})
	require.Empty(t, p.look("ops"))
	p.failing = []string{"fast", "primary"}
	require.Len(t, p.look("ops"), 2)
	p.failing = []string{"fast"}
	require.Empty(t, p.look("ops"))
	p.clock.Shift(time.Hour)
	got := p.look("ops")
	require.Len(t, got, 1)
	require.Equal(t, "fast", got[0].Name)
}

// A ledger that was changed under its watch is told with the first bad record.
func TestVerify(t *testing.T) {
	p := newPost(t)
	rule := alerts.Rule{Name: "proof", Watch: notify.WatchVerify, Every: time.Hour, Throttle: time.Minute}
	p.watch(rule)
	p.decide(5, "mail.send", "deny", "{}")
	require.NoError(t, p.VerifyWhenDue(t.Context()))
	require.Empty(t, p.take("ops"))
	rows, err := p.st.Reader().Query(t.Context(), `SELECT sql FROM sqlite_master WHERE name = 'ledger_records_no_update'`)
	require.NoError(t, err)
	var trigger string
	require.True(t, rows.Next())
	require.NoError(t, rows.Scan(&trigger))
	require.NoError(t, rows.Close())
	require.NoError(t, p.st.Submit(t.Context(), func(tx *store.Tx) error {
		for _, sql := range []string{`DROP TRIGGER ledger_records_no_update`, `UPDATE ledger_records SET user = 'eve' WHERE idx = 3`, trigger} {
			if _, err := tx.Exec(sql); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(t, p.VerifyWhenDue(t.Context()))
	require.Empty(t, p.take("ops"), "it isn't time")
	p.clock.Shift(time.Hour)
	p.restart(rule)
	require.NoError(t, p.VerifyWhenDue(t.Context()))
	got := p.take("ops")
	require.Len(t, got, 1)
	require.Positive(t, got[0].Count)
	require.Equal(t, int64(3), *got[0].Record)
}

// A clock that is set back by a day silences no rule.
func TestClockSetBack(t *testing.T) {
	p := newPost(t)
	p.watch(tooMany)
	p.decide(5, "mail.send", "deny", "{}")
	require.Len(t, p.look("ops"), 1)
	p.clock.Shift(-24 * time.Hour)
	p.decide(5, "mail.send", "deny", "{}")
	require.Len(t, p.look("ops"), 1)
}

// What waits longer than a week for a channel is dropped, so that the rows have an end.
func TestAlertsExpire(t *testing.T) {
	p := newPost(t)
	p.watch(tooMany)
	p.decide(5, "mail.send", "deny", "{}")
	require.NoError(t, p.Look(t.Context()))
	p.clock.Shift(8 * 24 * time.Hour)
	p.decide(5, "mail.send", "deny", "{}")
	require.Len(t, p.look("ops"), 1)
}

// Run ends with its context, and with a panic, whose value it does not tell.
func TestRunEnds(t *testing.T) {
	p := newPost(t)
	p.watch(tooMany)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	cancel()
	require.NoError(t, <-done)
	w, err := alerts.Open(t.Context(), alerts.Options{Store: p.st, Ledger: p.ledger, Now: p.clock.Now,
		Failing: func() []string { panic("CANARY") }},
		alerts.Rule{Name: "m", Watch: notify.WatchCanaries})
	require.NoError(t, err)
	err = w.Run(t.Context())
	require.ErrorContains(t, err, "panicked")
	require.NotContains(t, err.Error(), "CANARY")
}

// Rules that can't work are refused.
func TestMistakes(t *testing.T) {
	p := newPost(t)
	for _, r := range []alerts.Rule{
		{}, {Name: "x", Watch: "y"}, {Name: "x", Watch: notify.WatchDenials}, {Name: "x", Watch: notify.WatchVerify},
		{Name: "x", Watch: notify.WatchDenials, Count: 1, Window: time.Minute, Share: 2},
		{Name: "x", Watch: notify.WatchFirstIrreversible, Query: "usr:ann"},
		{Name: "x", Watch: notify.WatchCanaries, Query: "user:ann"},
	} {
		_, err := alerts.Open(t.Context(), alerts.Options{Store: p.st, Ledger: p.ledger}, r)
		require.Error(t, err, "%+v", r)
	}
}
