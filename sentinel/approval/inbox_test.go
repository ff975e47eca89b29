package approval_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"github.com/vedette-dev/vedette/internal/testclock"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// began is when the questions of these tests are asked. They expire five minutes later.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const asking = 5 * time.Minute

// office is an inbox on a real database, which can be closed and opened again.
type office struct {
	*approval.Inbox
	t      testing.TB
	path   string
	signer *ledger.Signer
	verify string
	clock  *testclock.Clock
	who    []approval.Rule
	log    bytes.Buffer
	st     *store.Store
	lg     *ledger.Ledger
	jr     *journal.Journal
}

func newOffice(t testing.TB, who ...approval.Rule) *office {
	t.Helper()
	skey, vkey, err := note.GenerateKey(rand.Reader, "vedette/ledger")
	require.NoError(t, err)
	s, err := ledger.NewSigner(skey)
	require.NoError(t, err)
	o := &office{t: t, path: filepath.Join(t.TempDir(), "v.db"), signer: s, verify: vkey, clock: testclock.New(began), who: who}
	o.open()
	t.Cleanup(o.close)
	return o
}

func (o *office) open() {
	o.t.Helper()
	var err error
	o.st, err = store.Open(o.t.Context(), store.Options{Path: o.path})
	require.NoError(o.t, err)
	o.lg, err = ledger.Open(o.t.Context(), o.st, o.signer, ledger.Options{Now: o.clock.Now})
	require.NoError(o.t, err)
	o.jr, err = journal.Open(o.t.Context(), o.st, journal.SingleKey([32]byte{7}), journal.Options{Now: o.clock.Now})
	require.NoError(o.t, err)
	who, err := approval.NewPolicy(o.who)
	require.NoError(o.t, err)
	o.Inbox, err = approval.OpenInbox(o.t.Context(), approval.InboxOptions{
		Store: o.st, Ledger: o.lg, Journal: o.jr, Key: [32]byte{9}, Policy: who, Now: o.clock.Now,
		Log: slog.New(slog.NewTextHandler(&o.log, nil)),
	})
	require.NoError(o.t, err)
}

func (o *office) close() {
	require.NoError(o.t, o.st.Close())
}

// restart ends the process and starts another, with other rules of who may answer if any are given.
func (o *office) restart(who ...approval.Rule) {
	o.t.Helper()
	o.close()
	if who != nil {
		o.who = who
	}
	o.open()
}

// edit changes the database behind the inbox's back.
func (o *office) edit(query string, args ...any) {
	o.t.Helper()
	require.NoError(o.t, o.st.Submit(o.t.Context(), func(tx *store.Tx) error {
		n, err := tx.Exec(query, args...)
		require.Positive(o.t, n)
		return err
	}))
}

// matter is a call that a person is asked about.
type matter struct {
	id, user, conversation, turn, agent, args, code string
	detail                                          string
	commits                                         bool // what shell.run wrote
}

func (m matter) make(t testing.TB) (sentinel.Call, sentinel.Decision) {
	t.Helper()
	or := func(s, other string) string {
		if s == "" {
			return other
		}
		return s
	}
	s, err := skills.Compile(skills.Spec{Name: "email.send", Effect: skills.Irreversible, Reaches: skills.Others, Parameters: json.RawMessage(
		`{"type":"object","properties":{"to":{"type":"string","x-target":true},"body":{"type":"string"},` +
			`"key":{"type":"string","x-secret":true}}}`)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	request := "mail Bob CANARY-request"
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "g", User: or(m.user, "ann"), Conversation: or(m.conversation, "c1"), Turn: or(m.turn, "t1"), Agent: or(m.agent, "mail"),
		Mission: "CANARY-mission", MissionBy: sentinel.ByOrchestrator, Request: &request,
	})
	require.NoError(t, err)
	args := or(m.args, `{"to":"bob@CANARY.test","body":"CANARY-body","key":"CANARYCANARYCANARYCANARYCANARYCA"}`)
	c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: "email.send", Args: []byte(args), Grant: g})
	require.NoError(t, err)
	if m.commits {
		c = commitOf(t, g)
	}
	ask := sentinel.Hold(or(m.code, "permission.ask"), "recipient outside the company")
	ask.Gate, ask.Detail = sentinel.GatePermission, m.detail
	return c, sentinel.Decision{
		ID: or(m.id, "d1"), CallID: c.ID(), Digest: c.Digest(), Outcome: sentinel.Ask, Verdicts: []sentinel.Verdict{ask},
		Asked: began, Expires: began.Add(asking),
	}
}

// commitOf is a call that commits what shell.run wrote.
func commitOf(t testing.TB, g sentinel.Grant) sentinel.Call {
	t.Helper()
	run, err := skills.Compile(skills.Spec{Name: "shell.run", Effect: skills.CostsMoney, Parameters: json.RawMessage(`{"type":"object"}`)})
	require.NoError(t, err)
	commit, err := skills.Compile(skills.Spec{Name: skills.CommitName, Effect: skills.Modify,
		Parameters: json.RawMessage(`{"type":"object"}`)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(run, commit)
	require.NoError(t, err)
	first, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: "shell.run", Grant: g})
	require.NoError(t, err)
	c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{
		Skill: skills.CommitName, Args: []byte(`{"Digest":"sha256:0"}`), Grant: g, Follows: &first,
	})
	require.NoError(t, err)
	return c
}

// told is what an Approve ended with.
type told struct {
	v   sentinel.Verdict
	err error
}

// ask puts the question in the background and returns once it is in the inbox.
func (o *office) ask(m matter) (answer <-chan told, leave func()) {
	o.t.Helper()
	c, d := m.make(o.t)
	ctx, cancel := context.WithCancelCause(o.t.Context())
	out := make(chan told, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		v, err := o.Approve(ctx, c, d)
		out <- told{v, err}
	}()
	require.Eventually(o.t, func() bool {
		list, err := o.List(o.t.Context(), approval.Filter{All: true})
		return len(out) > 0 || err == nil && slices.ContainsFunc(list, func(i approval.Item) bool { return i.ID == d.ID })
	}, 4*time.Minute, time.Millisecond)
	return out, func() { cancel(errLeft); <-done }
}

var errLeft = errors.New("the caller left")

// put asks and leaves: the question stays.
func (o *office) put(m matter) {
	o.t.Helper()
	out, leave := o.ask(m)
	leave()
	require.ErrorIs(o.t, (<-out).err, errLeft)
}

func (o *office) item(id string) approval.Item {
	o.t.Helper()
	c, err := o.Show(o.t.Context(), id)
	require.NoError(o.t, err)
	return c.Item
}

// say answers as a person who was shown the question.
func (o *office) say(id string, w approval.Word, by string) (approval.Item, error) {
	o.t.Helper()
	return o.Answer(o.t.Context(), approval.Answer{Approval: id, Word: w, By: by, Via: "test", Digest: o.item(id).Digest})
}

func (o *office) mustSay(id string, w approval.Word, by string) approval.Item {
	o.t.Helper()
	i, err := o.say(id, w, by)
	require.NoError(o.t, err)
	return i
}

func receive(t testing.TB, c <-chan told) told {
	t.Helper()
	select {
	case r := <-c:
		return r
	case <-time.After(4 * time.Minute):
		t.Fatal("no answer came")
		return told{}
	}
}

// A yes allows and a no denies, in the name of who said it. The agent reads a no's feedback as a
// person's words.
func TestInboxAnswers(t *testing.T) {
	o := newOffice(t)
	out, leave := o.ask(matter{})
	defer leave()
	i := o.mustSay("d1", approval.Yes, "local:bob")
	require.Equal(t, approval.StateApproved, i.State)
	require.Equal(t, "local:bob", i.By)
	r := receive(t, out)
	require.NoError(t, r.err)
	require.Equal(t, sentinel.Allow, r.v.Outcome)
	require.Equal(t, sentinel.Judged, r.v.State)
	require.Equal(t, map[string]string{"by": "local:bob", "via": "test"}, r.v.Meta)

	out, leave = o.ask(matter{id: "d2"})
	defer leave()
	_, err := o.Answer(t.Context(), approval.Answer{Approval: "d2", Word: approval.No, By: "cat", Feedback: "ask Bob\nfirst \x1b[31m\u202e\""})
	require.NoError(t, err)
	r = receive(t, out)
	require.NoError(t, r.err)
	require.Equal(t, sentinel.Deny, r.v.Outcome)
	require.Equal(t, approval.CodeDenied, r.v.Code)
	require.Equal(t, "refused by cat", r.v.Reason)
	require.Equal(t, `the person wrote: "ask Bob\nfirst \x1b[31m\u202e\""`, r.v.Detail)
}

// The end of a context is no answer, and an answer that comes while nothing waits is kept over a
// restart. The question is one row, however often it is asked.
func TestInboxKeepsAnswersOverRestart(t *testing.T) {
	o := newOffice(t)
	o.put(matter{})
	o.restart()
	o.put(matter{})
	o.mustSay("d1", approval.Yes, "bob")
	o.restart()
	out, leave := o.ask(matter{})
	defer leave()
	require.Equal(t, sentinel.Allow, receive(t, out).v.Outcome)
	list, err := o.List(t.Context(), approval.Filter{All: true})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, began, list[0].Asked)
	require.Equal(t, began.Add(asking), list[0].Expires)
}

// What can be no answer, or comes too late, is refused with who decided and when, and changes nothing.
func TestInboxRefusesAnswers(t *testing.T) {
	o := newOffice(t)
	o.put(matter{})
	digest := o.item("d1").Digest
	for name, a := range map[string]approval.Answer{
		"no word":         {Approval: "d1", By: "bob"},
		"another word":    {Approval: "d1", Word: "maybe", By: "bob"},
		"no person":       {Approval: "d1", Word: approval.Yes},
		"person in lines": {Approval: "d1", Word: approval.Yes, By: "bob\nann"},
		"long person":     {Approval: "d1", Word: approval.Yes, By: strings.Repeat("b", approval.MaxName+1)},
		"odd way":         {Approval: "d1", Word: approval.Yes, By: "bob", Via: "\x1b"},
		"long feedback":   {Approval: "d1", Word: approval.No, By: "bob", Feedback: strings.Repeat("x", approval.MaxFeedback+1)},
		"no text":         {Approval: "d1", Word: approval.No, By: "bob", Feedback: "\xff"},
		"short digest":    {Approval: "d1", Word: approval.Yes, By: "bob", Digest: digest[:approval.MinDigest-1]},
	} {
		_, err := o.Answer(t.Context(), a)
		require.ErrorIs(t, err, approval.ErrAnswer, name)
	}
	_, err := o.Answer(t.Context(), approval.Answer{Approval: "d9", Word: approval.Yes, By: "bob"})
	require.ErrorIs(t, err, approval.ErrUnknown)
	_, err = o.Answer(t.Context(), approval.Answer{Approval: "d1", Word: approval.Yes, By: "bob", Digest: strings.Repeat("0", 64)})
	var stale *approval.StaleError
	require.ErrorAs(t, err, &stale)
	require.NotContains(t, err.Error(), digest, "what was not shown is not told")
	_, err = o.Answer(t.Context(), approval.Answer{Approval: "d1", Word: approval.Yes, By: "bob", Digest: digest + "0"})
	require.ErrorIs(t, err, approval.ErrStale)
	require.Equal(t, approval.StatePending, o.item("d1").State)
	require.Zero(t, o.item("d1").Yes)

	_, err = o.Answer(t.Context(), approval.Answer{Approval: "d1", Word: approval.No, By: "bob", Digest: digest[:approval.MinDigest]})
	require.NoError(t, err, "the beginning of a digest does")
	o.clock.Shift(time.Minute)
	_, err = o.say("d1", approval.Yes, "cat")
	var decided *approval.DecidedError
	require.ErrorAs(t, err, &decided)
	require.Equal(t, "bob", decided.Item.By)
	require.Equal(t, began, decided.Item.At)
	require.Contains(t, err.Error(), "bob said no at 2026-03-01T12:00:00Z")
}

// The moment of the expiry is too late, also for a clock that stood still; the millisecond before
// is not.
func TestInboxAtExpiry(t *testing.T) {
	o := newOffice(t)
	o.put(matter{})
	o.put(matter{id: "d2"})
	o.clock.Shift(asking - time.Millisecond)
	o.mustSay("d1", approval.Yes, "bob")
	o.clock.Shift(time.Millisecond)
	_, err := o.say("d2", approval.Yes, "bob")
	var decided *approval.DecidedError
	require.ErrorAs(t, err, &decided)
	require.Equal(t, approval.StateExpired, decided.Item.State)
	require.ErrorContains(t, err, "it expired at 2026-03-01T12:05:00Z")
	list, err := o.List(t.Context(), approval.Filter{})
	require.NoError(t, err)
	require.Empty(t, list)
	list, err = o.List(t.Context(), approval.Filter{State: approval.StateExpired})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "d2", list[0].ID)
}

// A yes needs as many different people as the rules say; the first no decides, also of somebody who
// said yes before.
func TestInboxQuorum(t *testing.T) {
	o := newOffice(t, approval.Rule{Effect: skills.Irreversible, Min: 2}, approval.Rule{Skill: "files.*", Min: 9})
	out, leave := o.ask(matter{})
	defer leave()
	i := o.mustSay("d1", approval.Yes, "bob")
	require.Equal(t, approval.StatePending, i.State)
	require.Equal(t, []int{1, 2}, []int{i.Yes, i.Needed})
	_, err := o.say("d1", approval.Yes, "bob")
	require.ErrorIs(t, err, approval.ErrDecided)
	require.ErrorContains(t, err, "bob said yes already, 1 of the 2 who are needed")
	o.restart()
	again, leaveAgain := o.ask(matter{})
	defer leaveAgain()
	require.Empty(t, again, "one yes is not two")
	i = o.mustSay("d1", approval.Yes, "cat")
	require.Equal(t, approval.StateApproved, i.State)
	r := receive(t, again)
	require.NoError(t, r.err)
	require.Equal(t, "bob, cat", r.v.Meta["by"])
	require.Empty(t, out, "the process that ended hears nothing")

	o.put(matter{id: "d2"})
	o.mustSay("d2", approval.Yes, "bob")
	i = o.mustSay("d2", approval.No, "bob")
	require.Equal(t, approval.StateDenied, i.State)
	out, leave = o.ask(matter{id: "d2"})
	defer leave()
	require.Equal(t, sentinel.Deny, receive(t, out).v.Outcome)
}

// All rules that match hold together. Where too few people are left to approve, no person is asked.
func TestInboxWhoMayAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		who        []approval.Rule
		may, mayNt []string
		nobody     bool
	}{
		"no rule": {nil, []string{"ann", "bob", "local:root"}, nil, false},
		"named":   {[]approval.Rule{{Approvers: []string{"bob", "cat"}}}, []string{"bob", "cat"}, []string{"ann", "Bob", "local:bob"}, false},
		"both rules": {[]approval.Rule{{Approvers: []string{"bob", "cat"}}, {Skill: "email.*", Approvers: []string{"cat", "dan"}}},
			[]string{"cat"}, []string{"bob", "dan"}, false},
		"another skill":  {[]approval.Rule{{Skill: "files.write", Approvers: []string{"bob"}}}, []string{"dan"}, nil, false},
		"another effect": {[]approval.Rule{{Effect: skills.Read, Approvers: []string{"bob"}}}, []string{"dan"}, nil, false},
		"another requester": {[]approval.Rule{{Users: []string{"guest-*", "a[a-m]n"}, Approvers: []string{"bob"}}},
			[]string{"dan"}, nil, false},
		"this requester": {[]approval.Rule{{Users: []string{"guest-*", "a*"}, Approvers: []string{"bob"}}},
			[]string{"bob"}, []string{"dan"}, false},
		"nor another name of theirs": {[]approval.Rule{{ExcludeRequester: true}}, []string{"bob"}, []string{"Ann", "local:ANN", "\uff41nn"},
			false},
		"not the requester": {[]approval.Rule{{ExcludeRequester: true}}, []string{"bob", "local:bob"}, []string{"ann", "local:ann"}, false},
		"disjoint":          {[]approval.Rule{{Approvers: []string{"bob"}}, {Approvers: []string{"cat"}}}, nil, nil, true},
		"only themselves":   {[]approval.Rule{{Approvers: []string{"ann"}, ExcludeRequester: true}}, nil, nil, true},
		"too few":           {[]approval.Rule{{Approvers: []string{"ann", "bob"}, ExcludeRequester: true}, {Min: 2}}, nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, tc.who...)
			if tc.nobody {
				c, d := matter{}.make(t)
				_, err := o.Approve(t.Context(), c, d)
				require.ErrorIs(t, err, sentinel.ErrNoApprover)
				return
			}
			for n, by := range append(tc.may, tc.mayNt...) {
				id := fmt.Sprint("dd", n)
				o.put(matter{id: id + "-id"})
				_, err := o.say(id+"-id", approval.Yes, by)
				if n < len(tc.may) {
					require.NoError(t, err, by)
					continue
				}
				var no *approval.NotAllowedError
				require.ErrorAs(t, err, &no, by)
				require.NotEmpty(t, no.Rules)
				require.Equal(t, approval.StatePending, o.item(id+"-id").State)
			}
		})
	}
}

// A rule that can't be read, or that nobody could meet, is a mistake with its place.
func TestPolicyMistakes(t *testing.T) {
	_, err := approval.NewPolicy([]approval.Rule{
		{Skill: "*"}, {Skill: "email"}, {Users: []string{"a", "{b}"}}, {Approvers: []string{"a", "a"}, Min: 2},
	})
	require.ErrorContains(t, err, "approvals.who[1].skill: must be a skill's name")
	require.ErrorContains(t, err, "approvals.who[2].users[1]: has a brace")
	require.ErrorContains(t, err, "approvals.who[3].min: is 2 and approvers names 1, so no call could ever be approved")
	require.NotContains(t, err.Error(), "who[0]")
}

// Rules of who may answer hold as they are when the answer counts: what somebody said before a
// restart is heard only while they still may, and as many are needed as then.
func TestInboxWhoMayAfterRestart(t *testing.T) {
	for name, who := range map[string]approval.Rule{
		"no more among them": {Approvers: []string{"cat"}}, "more are needed": {Min: 2}, "the requester is excluded": {ExcludeRequester: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			o.put(matter{})
			o.mustSay("d1", approval.Yes, "ann")
			o.restart(who)
			out, leave := o.ask(matter{})
			defer leave()
			require.Eventually(t, func() bool { return o.item("d1").State == approval.StatePending }, 4*time.Minute, time.Millisecond)
			require.Empty(t, out)
			o.mustSay("d1", approval.Yes, "cat")
			r := receive(t, out)
			require.NoError(t, r.err)
			require.Contains(t, r.v.Meta["by"], "cat")
		})
	}
}

// An answer is to what was shown. Where the call is asked about for another reason after a restart,
// what people said before doesn't count, and the old digest is stale.
func TestInboxAsksAgainWhereTheQuestionChanged(t *testing.T) {
	for _, w := range []approval.Word{approval.Yes, approval.No} {
		o := newOffice(t)
		o.put(matter{})
		before := o.item("d1").Digest
		o.mustSay("d1", w, "bob")
		o.restart()
		out, leave := o.ask(matter{code: "judge.ask"})
		require.Eventually(t, func() bool { return o.item("d1").Digest != before }, 4*time.Minute, time.Millisecond)
		require.Empty(t, out)
		_, err := o.Answer(t.Context(), approval.Answer{Approval: "d1", Word: approval.Yes, By: "bob", Digest: before})
		require.ErrorIs(t, err, approval.ErrStale)
		c, err := o.Show(t.Context(), "d1")
		require.NoError(t, err)
		require.Equal(t, "judge.ask", c.Sheet.Asks[0].Code)
		require.Len(t, c.Answers, 1)
		require.True(t, c.Answers[0].Void)
		o.mustSay("d1", approval.Yes, "bob")
		require.Equal(t, sentinel.Allow, receive(t, out).v.Outcome)
		leave()
	}
	o := newOffice(t)
	o.put(matter{detail: "the model says this"})
	before := o.item("d1").Digest
	o.put(matter{detail: "the model says that"})
	require.Equal(t, before, o.item("d1").Digest, "words for the same reason change nothing")
}

// A row that was changed in the database approves nothing: what was sealed counts.
func TestInboxTampered(t *testing.T) {
	for name, edit := range map[string]func(o *office){
		"state": func(o *office) { o.edit(`UPDATE approvals SET state = 'approved', yes = 1, decided_by = 'bob'`) },
		"answer": func(o *office) {
			o.edit(`UPDATE approvals SET state = 'approved', yes = 1, decided_by = 'bob'`)
			o.edit(`INSERT INTO approval_answers VALUES ('d1', 1, 'yes', 'bob', 'web', 1, 0, 1)`)
		},
		"answer to another approval": func(o *office) {
			o.put(matter{id: "d2", args: `{"to":"cat@x.test"}`})
			o.mustSay("d2", approval.Yes, "bob")
			o.edit(`UPDATE journal_values SET call = 'approval/d1' WHERE kind = 'approvals.answer'`)
			o.edit(`UPDATE approvals SET state = 'approved' WHERE id = 'd1'`)
		},
		"denied":  func(o *office) { o.edit(`UPDATE approvals SET state = 'denied'`) },
		"expired": func(o *office) { o.edit(`UPDATE approvals SET state = 'consumed'`) },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			o.put(matter{})
			edit(o)
			c, d := matter{}.make(t)
			ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errLeft)
			defer cancel()
			v, err := o.Approve(ctx, c, d)
			require.Error(t, err)
			require.NotEqual(t, sentinel.Allow, v.Outcome)
		})
	}
	t.Run("digest", func(t *testing.T) { // the answer was to another digest than the call has
		o := newOffice(t)
		o.put(matter{})
		o.edit(`UPDATE approvals SET digest = ?`, strings.Repeat("a", 64))
		_, err := o.Show(t.Context(), "d1")
		require.ErrorContains(t, err, "the database was changed", "what is shown is what the digest is of")
		_, err = o.Answer(t.Context(), approval.Answer{Approval: "d1", Word: approval.Yes, By: "bob", Digest: strings.Repeat("a", 64)})
		require.NoError(t, err)
		out, leave := o.ask(matter{})
		require.Eventually(t, func() bool {
			list, err := o.List(t.Context(), approval.Filter{})
			return err == nil && len(list) == 1 && list[0].State == approval.StatePending
		}, 4*time.Minute, time.Millisecond)
		leave()
		require.ErrorIs(t, receive(t, out).err, errLeft)
	})
	t.Run("fewer needed", func(t *testing.T) {
		o := newOffice(t, approval.Rule{Min: 2})
		o.put(matter{})
		o.edit(`UPDATE approvals SET needed = 1`)
		require.Equal(t, approval.StatePending, o.mustSay("d1", approval.Yes, "bob").State)
	})
}

// Calls of one turn that wait at the same time are one batch, also where a filter or a page leaves
// some of them out.
func TestInboxBatches(t *testing.T) {
	o := newOffice(t)
	for n, m := range []matter{
		{turn: "t1"}, {turn: "t1", agent: "b"}, {turn: "t2"}, {turn: "t1", agent: "c"}, {conversation: "c2", user: "bob"},
	} {
		m.id = fmt.Sprint("id-", n)
		o.put(m)
	}
	batches := func(f approval.Filter) (out []string) {
		list, err := o.List(t.Context(), f)
		require.NoError(t, err)
		for _, i := range list {
			out = append(out, fmt.Sprintf("%s %d/%d", i.ID, i.Place, i.Of))
		}
		return out
	}
	require.Equal(t, []string{"id-0 1/3", "id-1 2/3", "id-2 1/1", "id-3 3/3", "id-4 1/1"}, batches(approval.Filter{}))
	require.Equal(t, []string{"id-4 1/1"}, batches(approval.Filter{User: "bob"}))
	require.Equal(t, []string{"id-0 1/3", "id-1 2/3"}, batches(approval.Filter{Limit: 2}))
	require.Equal(t, []string{"id-2 1/1", "id-3 3/3"}, batches(approval.Filter{Limit: 2, After: "id-1"}))
	require.Len(t, batches(approval.Filter{Conversation: "c1"}), 4)
	require.Empty(t, batches(approval.Filter{Skill: "files.write"}))
	require.Equal(t, 3, o.item("id-3").Of)
	o.mustSay("id-0", approval.No, "bob")
	require.Equal(t, []string{"id-1 1/2", "id-2 1/1", "id-3 2/2", "id-4 1/1"}, batches(approval.Filter{}))
	require.Equal(t, []string{"id-0 0/0"}, batches(approval.Filter{State: approval.StateDenied}))
	_, err := o.Show(t.Context(), "id-")
	require.ErrorIs(t, err, approval.ErrUnknown, "fewer than four characters name none")
	_, err = o.Show(t.Context(), "nope")
	require.ErrorIs(t, err, approval.ErrUnknown)
}

// An approval ends in the transaction that records its decision, and by its code. What was decided
// while no inbox listened is taken up at the next start.
func TestInboxEnds(t *testing.T) {
	for _, tc := range []struct {
		outcome, gate, code string
		want                approval.State
	}{
		{"allow", "", "", approval.StateConsumed},
		{"deny", "approval", "approval.denied", approval.StateDenied},
		{"deny", "approval", "approval.expired", approval.StateExpired},
		{"deny", "approval", "approval.canceled", approval.StateCancelled},
		{"deny", "approval", "approval.changed", approval.StateSuperseded},
		{"deny", "approval", "approval.superseded", approval.StateSuperseded},
		{"deny", "permission", "permission.rule", approval.StateSuperseded},
	} {
		o := newOffice(t)
		o.put(matter{})
		o.put(matter{id: "d2"})
		rec := sentinel.Record{Kind: sentinel.RecordDecision, DecisionID: "d1", Outcome: tc.outcome, Gate: tc.gate, Code: tc.code}
		require.ErrorIs(t, o.st.Submit(t.Context(), func(tx *store.Tx) error {
			require.NoError(t, o.CloseTx(tx, rec))
			return errLeft
		}), errLeft)
		require.Equal(t, approval.StatePending, o.item("d1").State, "the decision was not recorded")
		require.NoError(t, o.st.Submit(t.Context(), func(tx *store.Tx) error { return o.CloseTx(tx, rec) }))
		require.Equal(t, tc.want, o.item("d1").State, tc.code)
		require.Equal(t, tc.code, o.item("d1").Code)
		require.Equal(t, approval.StatePending, o.item("d2").State)
		_, err := o.say("d1", approval.Yes, "bob")
		require.ErrorIs(t, err, approval.ErrDecided)
		call := o.item("d2").Call
		require.NoError(t, o.st.Submit(t.Context(), func(tx *store.Tx) error {
			_, err := o.lg.AppendTx(tx, ledger.Entry{
				ID: "r1", Time: began, Kind: sentinel.RecordDecision, Call: call, Decision: "d2", Outcome: tc.outcome, Gate: tc.gate, Code: tc.code,
			})
			return err
		}))
		o.restart()
		require.Equal(t, tc.want, o.item("d2").State, "after a restart: "+tc.code)
		n, err := o.Prune(t.Context(), began)
		require.NoError(t, err)
		require.Zero(t, n)
		n, err = o.Prune(t.Context(), began.Add(time.Second))
		require.NoError(t, err)
		require.Equal(t, 2, n)
		o.put(matter{id: "d3"})
		n, err = o.Prune(t.Context(), began.Add(asking))
		require.NoError(t, err)
		require.Zero(t, n, "it has just expired")
		n, err = o.Prune(t.Context(), began.Add(asking+time.Second))
		require.NoError(t, err)
		require.Equal(t, 1, n, "no call took it up")
	}
}

// However many answer at the same moment, exactly one answer decides, and each other learns who did.
func TestInboxConcurrentAnswers(t *testing.T) {
	o := newOffice(t)
	out, leave := o.ask(matter{})
	defer leave()
	digest := o.item("d1").Digest
	var wg sync.WaitGroup
	took, late := make(chan approval.Item, 40), make(chan *approval.DecidedError, 40)
	for n := range 40 {
		wg.Go(func() {
			w := approval.Yes
			if n%2 == 1 {
				w = approval.No
			}
			i, err := o.Answer(context.Background(), approval.Answer{Approval: "d1", Word: w, By: fmt.Sprint("p", n), Digest: digest})
			var decided *approval.DecidedError
			if errors.As(err, &decided) {
				late <- decided
			} else if err == nil {
				took <- i
			}
		})
	}
	wg.Wait()
	require.Len(t, took, 1)
	require.Len(t, late, 39)
	one := <-took
	for range 39 {
		require.Equal(t, one.By, (<-late).Item.By)
	}
	r := receive(t, out)
	require.Equal(t, one.State == approval.StateApproved, r.v.Outcome == sentinel.Allow)
	require.Equal(t, one.By, r.v.Meta["by"])
}

// An answer is on record before it counts, in codes and names; the ledger verifies.
func TestInboxRecordsAnswers(t *testing.T) {
	o := newOffice(t, approval.Rule{Min: 2})
	o.put(matter{})
	for _, by := range []string{"bob", "cat"} {
		_, err := o.Answer(t.Context(), approval.Answer{Approval: "d1", Word: approval.Yes, By: by, Via: "web", Feedback: "CANARY-feedback"})
		require.NoError(t, err)
	}
	list, err := o.lg.List(t.Context(), ledger.Query{Kind: approval.RecordAnswered, Decision: "d1"})
	require.NoError(t, err)
	require.Len(t, list, 2)
	for n, r := range list {
		require.Equal(t, approval.CodeSaidYes, r.Code)
		require.Equal(t, []string{"ann", "c1", "mail", "email.send"}, []string{r.User, r.Conversation, r.Agent, r.Skill})
		var b map[string]any
		require.NoError(t, json.Unmarshal(r.Body, &b))
		require.Equal(t, []any{"yes", float64(n + 1), float64(2), "web"}, []any{b["word"], b["yes"], b["needed"], b["via"]})
		require.NotContains(t, string(r.Body), "CANARY")
	}
	rep, err := ledger.Verify(t.Context(), o.path, ledger.VerifyOptions{PublicKey: o.verify})
	require.NoError(t, err)
	require.True(t, rep.OK())
}

// No value is in the clear in the database, its log or what the program logs, and a purge leaves
// neither sheet nor feedback nor row.
func TestInboxHoldsNoValuesInTheClear(t *testing.T) {
	o := newOffice(t)
	o.put(matter{detail: "CANARY-detail"})
	_, err := o.Answer(t.Context(), approval.Answer{Approval: "d1", Word: approval.No, By: "bob", Feedback: "CANARY-feedback"})
	require.NoError(t, err)
	search := func(name string) {
		for _, suffix := range []string{"", "-wal"} {
			raw, err := os.ReadFile(o.path + suffix) //nolint:gosec // the test's own file
			require.NoError(t, err)
			require.NotContains(t, string(raw), "CANARY", name+suffix)
		}
		require.NotContains(t, o.log.String(), "CANARY")
	}
	search("asked")
	c, err := o.Show(t.Context(), "d1")
	require.NoError(t, err)
	require.Contains(t, c.Sheet.Text, "CANARY-body")
	require.Contains(t, c.Sheet.Text, "CANARY-detail")
	require.Equal(t, "mail Bob CANARY-request", *c.Sheet.Request)
	require.Contains(t, string(c.Sheet.Args), `"key":"[secret, 32 characters]"`)
	require.Contains(t, c.Sheet.Text, "[secret, 32 characters]")
	raw, err := json.Marshal(c)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "CANARYCANARY", "the secret itself")
	require.Equal(t, "CANARY-feedback", c.Answers[0].Feedback)

	n, err := o.jr.EraseUser(t.Context(), "ann")
	require.NoError(t, err)
	require.Equal(t, 2, n)
	c, err = o.Show(t.Context(), "d1")
	require.NoError(t, err)
	require.Nil(t, c.Sheet)
	require.Empty(t, c.Answers[0].Feedback)
	require.NoError(t, o.st.Submit(t.Context(), func(tx *store.Tx) error {
		n, err := approval.ForgetTx(tx, "ann", "")
		require.Equal(t, 1, n)
		return err
	}))
	_, err = o.Show(t.Context(), "d1")
	require.ErrorIs(t, err, approval.ErrUnknown)
}

// A database that never had an inbox has no approvals, and nothing to forget.
func TestListWithoutInbox(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "v.db")})
	require.NoError(t, err)
	defer func() { require.NoError(t, st.Close()) }()
	list, err := approval.List(t.Context(), st.Reader(), approval.Filter{}, began)
	require.NoError(t, err)
	require.Empty(t, list)
	_, err = approval.FindID(t.Context(), st.Reader(), "0199")
	require.ErrorIs(t, err, approval.ErrUnknown)
	require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
		n, err := approval.ForgetTx(tx, "ann", "")
		require.Zero(t, n)
		return err
	}))
}

// There is one inbox for each store.
func TestOneInbox(t *testing.T) {
	o := newOffice(t)
	_, err := approval.OpenInbox(t.Context(), approval.InboxOptions{Store: o.st, Ledger: o.lg, Journal: o.jr})
	require.ErrorIs(t, err, store.ErrClaimed)
	_, err = approval.OpenInbox(t.Context(), approval.InboxOptions{})
	require.Error(t, err)
}

// What ten thousand calls that wait cost to list, from the oldest to the newest.
func BenchmarkList10000(b *testing.B) {
	o := newOffice(b)
	const n = 10_000
	for first := 0; first < n; first += 1000 {
		require.NoError(b, o.st.Submit(b.Context(), func(tx *store.Tx) error {
			for i := first; i < first+1000; i++ {
				_, err := tx.Exec(`INSERT INTO approvals VALUES (?, 'call', ?, ?, 'agent', 'ann', 'email.send', 'irreversible', 1, 0, ?, ?, ?,
'pending', '', 1, 0, '', '', 0, 0, 0, '', '', '')`,
					fmt.Sprintf("0199a1b2-c3d4-7000-8000-%012d", i), fmt.Sprint("c", i/8), fmt.Sprint("t", i/4),
					strings.Repeat("a", 64), began.UnixMilli()+int64(i), began.Add(time.Hour).UnixMilli())
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
	b.ReportAllocs()
	for b.Loop() {
		list, err := o.List(b.Context(), approval.Filter{})
		if err != nil || len(list) != n {
			b.Fatal(len(list), err)
		}
	}
}
