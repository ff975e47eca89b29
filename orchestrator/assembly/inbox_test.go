package assembly_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	purge "github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// bureau is a house with an inbox, whose process can end and start again with other rules.
type bureau struct {
	*assembly.Parts
	t     *testing.T
	dir   string
	clock *hands
	mu    sync.Mutex
	ran   []string
}

const (
	bureauAsks = "permissions: [{skill: \"paper.send\", then: ask}]\n"
	bureauHead = "version: 1\nskills: {include: []}\nsentinel: {mode: \"off\"}\nguard: {roots: [\"./workspace\"]}\n"
)

func openBureau(t *testing.T, settings string) *bureau {
	t.Helper()
	b := &bureau{t: t, dir: t.TempDir(), clock: newHands()}
	require.NoError(t, os.Mkdir(filepath.Join(b.dir, "workspace"), 0o700))
	b.writePaper("first")
	b.start(settings)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// paper is the file that the calls of these tests send.
func (b *bureau) paper() string { return filepath.Join(b.dir, "workspace", "paper.txt") }

func (b *bureau) writePaper(text string) {
	b.t.Helper()
	require.NoError(b.t, os.WriteFile(b.paper(), []byte(text), 0o600))
}

// start starts a process with these settings.
func (b *bureau) start(settings string) {
	b.t.Helper()
	file := filepath.Join(b.dir, "vedette.yaml")
	if !strings.Contains(settings, "judge:") {
		settings += "judge: {threshold: 0, ask_below: 0}\n"
	}
	require.NoError(b.t, os.WriteFile(file, []byte(bureauHead+settings), 0o600))
	cfg, err := config.Load(file, config.Options{KnownSkills: []string{"paper.send"}})
	require.NoError(b.t, err)
	b.Parts, err = assembly.Build(b.t.Context(), cfg, assembly.Options{Now: b.clock.now, Natives: []assembly.Native{{
		Spec: skills.Spec{
			Name: "paper.send", Effect: skills.Irreversible, Reaches: skills.Others, Output: skills.Trusted, Run: skills.Run{Kind: "native"},
			Parameters: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","x-target":true},` +
				`"note":{"type":"string"},"file":{"type":"string","x-path":true},"key":{"type":"string","x-secret":true}}}`),
		},
		Run: func(_ context.Context, order skills.Order) (skills.Result, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.ran = append(b.ran, order.Args)
			return skills.Result{Content: "sent"}, nil
		},
	}}})
	require.NoError(b.t, err)
}

func (b *bureau) runs() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.ran)
}

func (b *bureau) grant() sentinel.Grant {
	b.t.Helper()
	sc, err := skills.NewScope("paper.send")
	require.NoError(b.t, err)
	req := "send the paper CANARY-request"
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "g1", User: "ann", Conversation: "c1", Turn: "t1", Agent: "clerk", Mission: "CANARY-mission", MissionBy: sentinel.ByOrchestrator,
		Request: &req, Scope: sc,
	})
	require.NoError(b.t, err)
	return g
}

// invoked is what a call came to.
type invoked struct {
	res skills.Result
	err error
}

// invoke makes the one call of these tests; resumed says that an earlier process made it before. It
// returns once the question is in the inbox, or the call is over.
func (b *bureau) invoke(resumed bool) (out <-chan invoked, leave func()) {
	b.t.Helper()
	d := b.Checkpoint.Numbered(b.grant())
	if resumed {
		_, err := d.Resume(b.t.Context(), 0, 1)
		require.NoError(b.t, err)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	done, got := make(chan struct{}), make(chan invoked, 1)
	args := fmt.Sprintf(`{"to":"bob@CANARY.test","file":%q,"key":"CANARY-key"}`, b.paper())
	go func() {
		defer close(done)
		res, err := d.Invoke(ctx, "paper.send", json.RawMessage(args))
		got <- invoked{res, err}
	}()
	require.Eventually(b.t, func() bool {
		return len(got) > 0 || len(b.pending()) > 0 && slices.ContainsFunc(b.Checkpoint.InFlight(), func(c sentinel.InFlight) bool {
			return c.Phase == sentinel.PhaseApproval
		})
	}, 4*time.Minute, time.Millisecond)
	return got, func() { cancel(); <-done }
}

func (b *bureau) list(f approval.Filter) []approval.Item {
	b.t.Helper()
	list, err := b.Inbox.List(b.t.Context(), f)
	require.NoError(b.t, err)
	return list
}

func (b *bureau) pending() []approval.Item { return b.list(approval.Filter{}) }

// hold makes the call and leaves it held, and returns its approval.
func (b *bureau) hold() approval.Item {
	b.t.Helper()
	out, leave := b.invoke(false)
	leave()
	require.ErrorIs(b.t, (<-out).err, sentinel.ErrHeld)
	require.Len(b.t, b.pending(), 1)
	return b.pending()[0]
}

// end waits for what the call comes to.
func (b *bureau) end(out <-chan invoked) invoked {
	b.t.Helper()
	select {
	case r := <-out:
		return r
	case <-time.After(4 * time.Minute):
		b.t.Fatal("the call does not end")
		return invoked{}
	}
}

func (b *bureau) answer(i approval.Item, w approval.Word, by string) error {
	b.t.Helper()
	_, err := b.Inbox.Answer(b.t.Context(), approval.Answer{
		Approval: i.ID, Word: w, By: by, Via: "test", Digest: i.Digest, Feedback: "CANARY-feedback",
	})
	return err
}

const bureauInbox = "approvals: {timeout: 10m, inbox: true}\n"

// A call that was approved runs at most once, and only as it was shown: whatever restarted, changed
// or expired between the question and the answer, and between the answer and the call.
func TestApprovedAtMostOnce(t *testing.T) {
	two := "approvals: {timeout: 10m, inbox: true, who: [{min: 2}]}\n"
	notAnn := "approvals: {timeout: 10m, inbox: true, who: [{exclude_requester: true}]}\n"
	for _, tc := range []struct {
		name     string
		settings string                           // before, bureauAsks + bureauInbox where empty
		between  func(b *bureau, i approval.Item) // while nothing waits; restarts by itself
		after    string                           // settings of the process that asks again, if not the same
		late     func(b *bureau, i approval.Item) // while the call waits again
		runs     int
		code     string // of the refusal; empty where it ran
		state    approval.State
	}{
		{name: "answered before the restart", between: func(b *bureau, i approval.Item) {
			require.NoError(t, b.answer(i, approval.Yes, "bob"))
		}, runs: 1, state: approval.StateConsumed},
		{name: "answered after the restart", late: func(b *bureau, i approval.Item) {
			require.NoError(t, b.answer(i, approval.Yes, "bob"))
		}, runs: 1, state: approval.StateConsumed},
		{name: "no before the restart", between: func(b *bureau, i approval.Item) {
			require.NoError(t, b.answer(i, approval.No, "bob"))
		}, code: approval.CodeDenied, state: approval.StateDenied},
		{name: "no after the restart", late: func(b *bureau, i approval.Item) {
			require.NoError(t, b.answer(i, approval.No, "bob"))
		}, code: approval.CodeDenied, state: approval.StateDenied},
		{name: "yes twice", between: func(b *bureau, i approval.Item) {
			require.NoError(t, b.answer(i, approval.Yes, "bob"))
			require.ErrorIs(t, b.answer(i, approval.Yes, "bob"), approval.ErrDecided)
			require.ErrorIs(t, b.answer(i, approval.No, "cat"), approval.ErrDecided)
		}, runs: 1, state: approval.StateConsumed},
		{name: "yes, and expired before it is asked again", between: func(b *bureau, i approval.Item) {
			require.NoError(t, b.answer(i, approval.Yes, "bob"))
			b.clock.move(10 * time.Minute)
		}, code: approval.CodeExpired, state: approval.StateExpired},
		{name: "expired, and answered then", between: func(b *bureau, i approval.Item) {
			b.clock.move(10 * time.Minute)
			require.ErrorIs(t, b.answer(i, approval.Yes, "bob"), approval.ErrDecided)
		}, code: approval.CodeExpired, state: approval.StateExpired},
		{name: "yes, and denied by a rule since", between: func(b *bureau, i approval.Item) {
			require.NoError(t, b.answer(i, approval.Yes, "bob"))
		}, after: "permissions: [{skill: \"paper.send\", then: ask}, {id: stop, skill: \"paper.send\", then: deny}]\n" + bureauInbox,
			code: "permission.denied", state: approval.StateSuperseded},
		{name: "yes, and another reason to ask since", between: func(b *bureau, i approval.Item) {
			require.NoError(t, b.answer(i, approval.Yes, "bob"))
		}, after: "permissions: [{skill: \"paper.send\", then: ask}]\njudge: {threshold: 0.01, ask_below: 1}\n" + bureauInbox,
			late: func(b *bureau, i approval.Item) {
				require.ErrorIs(t, b.answer(i, approval.Yes, "bob"), approval.ErrStale)
			},
			code: "held", state: approval.StatePending},
		{name: "yes, and the file changed since", between: func(b *bureau, i approval.Item) {
			require.NoError(t, b.answer(i, approval.Yes, "bob"))
			b.writePaper("second")
		}, code: sentinel.CodeApprovalChanged, state: approval.StateSuperseded},
		{name: "the file changed while the call waits", late: func(b *bureau, i approval.Item) {
			b.writePaper("second")
			require.NoError(t, b.answer(i, approval.Yes, "bob"))
		}, code: sentinel.CodeApprovalChanged, state: approval.StateSuperseded},
		{name: "one yes of two", settings: bureauAsks + two, between: func(b *bureau, i approval.Item) {
			require.NoError(t, b.answer(i, approval.Yes, "bob"))
		}, late: func(b *bureau, i approval.Item) { require.Equal(t, approval.StatePending, b.pending()[0].State) },
			code: "held", state: approval.StatePending},
		{name: "one yes on each side", settings: bureauAsks + two, between: func(b *bureau, i approval.Item) {
			require.NoError(t, b.answer(i, approval.Yes, "bob"))
		}, late: func(b *bureau, i approval.Item) { require.NoError(t, b.answer(i, approval.Yes, "cat")) },
			runs: 1, state: approval.StateConsumed},
		{name: "the requester", settings: bureauAsks + notAnn, between: func(b *bureau, i approval.Item) {
			require.ErrorIs(t, b.answer(i, approval.Yes, "ann"), approval.ErrNotAllowed)
		}, late: func(b *bureau, i approval.Item) {
			require.ErrorIs(t, b.answer(i, approval.Yes, "local:ann"), approval.ErrNotAllowed)
		}, code: "held", state: approval.StatePending},
		{name: "the requester's yes of before that rule", between: func(b *bureau, i approval.Item) {
			require.NoError(t, b.answer(i, approval.Yes, "ann"))
		}, after: bureauAsks + notAnn, late: func(b *bureau, i approval.Item) {
			require.Eventually(t, func() bool { return len(b.pending()) == 1 }, 4*time.Minute, time.Millisecond)
		}, code: "held", state: approval.StatePending},
		{name: "no person is left who could", after: bureauAsks +
			"approvals: {timeout: 10m, inbox: true, who: [{approvers: [ann], exclude_requester: true}]}\n",
			code: approval.CodeNobody, state: approval.StateCancelled},
		{name: "withdrawn while nothing waits", between: func(b *bureau, i approval.Item) {
			require.NoError(t, b.answer(i, approval.Yes, "bob"))
			require.NoError(t, b.EndHeldCalls(t.Context(), "c1", "t1", "", "the turn ended"))
		}, code: sentinel.CodeApprovalCanceled, state: approval.StateCancelled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			settings := tc.settings
			if settings == "" {
				settings = bureauAsks + bureauInbox
			}
			b := openBureau(t, settings)
			i := b.hold()
			if tc.between != nil {
				tc.between(b, i)
			}
			require.NoError(t, b.Close())
			if tc.after != "" {
				settings = tc.after
			}
			b.start(settings)
			require.Zero(t, b.runs())
			out, leave := b.invoke(true)
			if tc.late != nil {
				tc.late(b, i)
			}
			if tc.code == "held" {
				leave()
			}
			r := b.end(out)
			leave()
			require.Equal(t, tc.runs, b.runs())
			var no *skills.Refusal
			switch tc.code {
			case "held":
				require.ErrorIs(t, r.err, sentinel.ErrHeld)
			case "":
				require.NoError(t, r.err)
			default:
				require.ErrorAs(t, r.err, &no)
				require.Equal(t, tc.code, no.Code)
			}
			all := b.list(approval.Filter{All: true})
			require.Len(t, all, 1)
			require.Equal(t, tc.state, all[0].State)

			// And never again, whatever starts next.
			require.NoError(t, b.Close())
			b.start(settings)
			again, leaveAgain := b.invoke(true)
			leaveAgain()
			<-again
			require.Equal(t, tc.runs, b.runs())
		})
	}
}

// What an agent reads of a no is the person's feedback, marked as a person's; it stands in no record.
func TestInboxFeedbackReachesTheAgent(t *testing.T) {
	b := openBureau(t, bureauAsks+bureauInbox)
	out, leave := b.invoke(false)
	defer leave()
	require.NoError(t, b.answer(b.pending()[0], approval.No, "bob"))
	var no *skills.Refusal
	require.ErrorAs(t, b.end(out).err, &no)
	require.Equal(t, skills.KindAskDenied, no.Kind)
	require.Equal(t, `refused by bob: the person wrote: "CANARY-feedback"`, no.Reason)
	list, err := b.Ledger.List(t.Context(), ledger.Query{Conversation: "c1"})
	require.NoError(t, err)
	var kinds []string
	for _, r := range list {
		kinds = append(kinds, r.Kind)
		require.NotContains(t, string(r.Body), "CANARY")
	}
	require.Equal(t, []string{sentinel.RecordHeld, approval.RecordAnswered, sentinel.RecordDecision}, kinds,
		"the answer is on record before the decision")
}

// Without the key nothing changes: a call that needs a person is refused at once. An approver of the
// program's own is asked in place of the inbox.
func TestInboxIsOptedInto(t *testing.T) {
	b := openBureau(t, bureauAsks)
	require.Nil(t, b.Inbox)
	_, err := b.Checkpoint.Numbered(b.grant()).Invoke(t.Context(), "paper.send", json.RawMessage(`{"to":"x"}`))
	var no *skills.Refusal
	require.ErrorAs(t, err, &no)
	require.Equal(t, sentinel.CodeApprovalNobody, no.Code)

	log := &buffer{}
	p := pastHouse(t, assembly.Options{Log: log.logger(), Approver: approves(sentinel.Pass)})
	require.Nil(t, p.Inbox)
}

// A purge takes approvals with it: rows, sheets, feedback and answers.
func TestPurgeForgetsApprovals(t *testing.T) {
	for _, whose := range []purge.PurgeOptions{{User: "ann", By: "root"}, {Conversation: "c1", By: "root"}} {
		b := openBureau(t, bureauAsks+bureauInbox)
		i := b.hold()
		require.NoError(t, b.answer(i, approval.No, "bob"))
		require.NoError(t, b.Close())
		src := purge.Source{Database: b.Config.Ledger.Path, Keys: b.Config.Keys.Dir}
		card, err := src.ShowApproval(t.Context(), i.ID)
		require.NoError(t, err)
		require.Contains(t, card.Sheet.Text, "CANARY-mission")
		require.Equal(t, "CANARY-feedback", card.Answers[0].Feedback)
		_, err = src.Purge(t.Context(), whose)
		require.NoError(t, err)
		_, err = src.ShowApproval(t.Context(), i.ID)
		require.ErrorIs(t, err, approval.ErrUnknown)
		list, err := src.ListApprovals(t.Context(), approval.Filter{All: true})
		require.NoError(t, err)
		require.Empty(t, list)
		b.start(bureauAsks + bureauInbox)
		for _, table := range []string{"approvals", "approval_answers", "journal_values"} {
			var n int
			require.NoError(t, b.Store.Reader().QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
			require.Zero(t, n, table)
		}
	}
}

// Mistakes under approvals.who are told with their place and what was meant.
func TestWhoMistakes(t *testing.T) {
	file := write(t, `approvals:
  who:
    - {skill: "fs.raed", approvers: [bob], min: 2}
    - {skil: "fs.read"}
    - {effect: modfy, users: ["{a}"]}
    - {approvers: []}
`)
	_, err := config.Load(file, config.Options{})
	for _, want := range []string{
		":6:5: approvals.who is for the inbox; add inbox: true beside it, or remove it",
		`unknown skill "fs.raed"; did you mean "fs.read"?`, `unknown key "skil"`, `did you mean "skill"?`, "approvals.who[2].effect",
		"approvals.who[3].approvers",
	} {
		require.ErrorContains(t, err, want)
	}
	err = assembly.CheckDraft(config.Inspect(file, config.Options{}))
	require.ErrorContains(t, err, "approvals.who[2].users[0]: has a brace")
	require.ErrorContains(t, err, "approvals.who[0].min: is 2 and approvers names 1, so no call could ever be approved")
	require.Equal(t, 1, countText(err.Error(), "approvals.who is for the inbox"))
}

func countText(s, part string) (n int) {
	for i := range len(s) - len(part) + 1 {
		if s[i:i+len(part)] == part {
			n++
		}
	}
	return n
}

// While a process has the database, another can't answer in it; its list can be read.
func TestInboxBesideAnotherProcess(t *testing.T) {
	b := openBureau(t, bureauAsks+bureauInbox)
	i := b.hold()
	src := purge.Source{Database: b.Config.Ledger.Path, Keys: b.Config.Keys.Dir}
	list, err := src.ListApprovals(t.Context(), approval.Filter{})
	require.NoError(t, err)
	require.Equal(t, []string{i.ID}, ids(list))
	_, err = src.AnswerApproval(t.Context(), nil, approval.Answer{Approval: i.ID, Word: approval.Yes, By: "local:bob"})
	require.Error(t, err)
	require.Equal(t, approval.StatePending, b.pending()[0].State)
	_, err = purge.Source{Database: filepath.Join(t.TempDir(), "none.db")}.ListApprovals(t.Context(), approval.Filter{})
	require.ErrorContains(t, err, "no such database")
}

func ids(list []approval.Item) (out []string) {
	for _, i := range list {
		out = append(out, i.ID)
	}
	return slices.Clip(out)
}
