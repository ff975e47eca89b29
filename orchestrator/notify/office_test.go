package notify_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/mod/sumdb/note"

	"github.com/vedette-dev/vedette/internal/testclock"
	"github.com/vedette-dev/vedette/orchestrator/notify"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// office is an inbox on a real database, with a clock that tests move.
type office struct {
	*approval.Inbox
	t      *testing.T
	path   string
	signer *ledger.Signer
	clock  *testclock.Clock
	log    bytes.Buffer
	st     *store.Store
}

func newOffice(t *testing.T) *office {
	t.Helper()
	skey, _, err := note.GenerateKey(rand.Reader, "vedette/ledger")
	require.NoError(t, err)
	s, err := ledger.NewSigner(skey)
	require.NoError(t, err)
	o := &office{t: t, path: filepath.Join(t.TempDir(), "v.db"), signer: s, clock: testclock.New(began)}
	o.open()
	t.Cleanup(func() { require.NoError(t, o.st.Close()) })
	return o
}

func (o *office) open() {
	o.t.Helper()
	var err error
	o.st, err = store.Open(o.t.Context(), store.Options{Path: o.path})
	require.NoError(o.t, err)
	lg, err := ledger.Open(o.t.Context(), o.st, o.signer, ledger.Options{Now: o.clock.Now})
	require.NoError(o.t, err)
	jr, err := journal.Open(o.t.Context(), o.st, journal.SingleKey([32]byte{7}), journal.Options{Now: o.clock.Now})
	require.NoError(o.t, err)
	o.Inbox, err = approval.OpenInbox(o.t.Context(), approval.InboxOptions{
		Store: o.st, Ledger: lg, Journal: jr, Key: [32]byte{9}, Now: o.clock.Now,
	})
	require.NoError(o.t, err)
}

func (o *office) restart() {
	o.t.Helper()
	require.NoError(o.t, o.st.Close())
	o.open()
}

// ask puts a question and leaves: it stays in the inbox.
func (o *office) ask(id, skill string) {
	o.t.Helper()
	s, err := skills.Compile(skills.Spec{Name: skill, Effect: skills.Irreversible, Reaches: skills.Others, Parameters: json.RawMessage(
		`{"type":"object","properties":{"to":{"type":"string","x-target":true}}}`)})
	require.NoError(o.t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(o.t, err)
	request := "mail Bob CANARY-request"
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "g", User: "ann", Conversation: "c1", Turn: "t1", Agent: "mail", Mission: "CANARY-mission",
		MissionBy: sentinel.ByOrchestrator, Request: &request,
	})
	require.NoError(o.t, err)
	c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: skill, Args: []byte(`{"to":"bob@CANARY.test"}`), Grant: g})
	require.NoError(o.t, err)
	why := sentinel.Hold("permission.ask", "CANARY-reason")
	why.Gate = sentinel.GatePermission
	d := sentinel.Decision{ID: id, CallID: c.ID(), Digest: c.Digest(), Outcome: sentinel.Ask, Verdicts: []sentinel.Verdict{why},
		Asked: o.clock.Now(), Expires: o.clock.Now().Add(time.Hour)}
	ctx, leave := context.WithCancel(o.t.Context())
	defer leave()
	o.st.OnCommit(leave) // once the question is durable
	_, err = o.Approve(ctx, c, d)
	require.ErrorIs(o.t, err, context.Canceled)
	require.Equal(o.t, approval.StatePending, o.state(id))
}

func (o *office) state(id string) approval.State {
	o.t.Helper()
	i, err := approval.Get(o.t.Context(), o.st.Reader(), id, o.clock.Now())
	require.NoError(o.t, err)
	return i.State
}

func (o *office) deny(id string) {
	o.t.Helper()
	_, err := o.Answer(o.t.Context(), approval.Answer{Approval: id, Word: approval.No, By: "carol", Via: "test"})
	require.NoError(o.t, err)
}

func (o *office) courier(c notify.Channel) *notify.Courier {
	o.t.Helper()
	out, err := notify.Open(o.t.Context(), notify.Options{
		Store: o.st, Source: o.Inbox, PublicURL: "https://v.example/", Now: o.clock.Now, Log: slog.New(slog.NewTextHandler(&o.log, nil)),
	}, c)
	require.NoError(o.t, err)
	return out
}

// later moves the clock and lets the courier look.
func (o *office) later(c *notify.Courier, d time.Duration) {
	o.t.Helper()
	o.clock.Shift(d)
	require.NoError(o.t, c.Look(o.t.Context()))
}

// wire is a notifier that keeps what it is sent, or fails as it is told.
type wire struct {
	mu   sync.Mutex
	got  []notify.Message
	tell func() error
}

func (w *wire) Send(_ context.Context, m notify.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tell != nil {
		if err := w.tell(); err != nil {
			return err
		}
	}
	w.got = append(w.got, m)
	return nil
}

// approvals are the ids in the messages, a list each.
func (w *wire) approvals() [][]string {
	out := [][]string{}
	for _, m := range w.got {
		var ids []string
		for _, i := range m.Items {
			ids = append(ids, i.Approval)
		}
		out = append(out, ids)
	}
	return out
}
