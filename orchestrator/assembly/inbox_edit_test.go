package assembly_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// edit answers with other arguments: the secret as it is shown.
func (b *bureau) edit(i approval.Item, by, to string) error {
	b.t.Helper()
	args := fmt.Sprintf(`{"to":%q,"file":%q,"key":"[secret, 10 characters]"}`, to, b.paper())
	_, err := b.Inbox.Answer(b.t.Context(), approval.Answer{
		Approval: i.ID, Word: approval.Yes, By: by, Via: "test", Digest: i.Digest, Edit: json.RawMessage(args),
	})
	return err
}

// An edit runs what the person wrote, once, with the secret that they were not shown. The agent is
// told what ran, and the ledger has both calls.
func TestEditRuns(t *testing.T) {
	b := openBureau(t, bureauAsks+bureauInbox)
	out, leave := b.invoke(false)
	defer leave()
	first := b.pending()[0]
	require.NoError(t, b.edit(first, "bob", "cat@CANARY.test"))
	r := b.end(out)
	require.NoError(t, r.err)
	require.Equal(t, 1, b.runs())
	require.JSONEq(t, fmt.Sprintf(`{"to":"cat@CANARY.test","file":%q,"key":"CANARY-key"}`, b.paper()), b.ran[0])
	require.Contains(t, r.res.Note, "bob gave this call other arguments when asked about it (to).")
	require.Contains(t, r.res.Note, `It ran with these arguments: {`)
	require.Contains(t, r.res.Note, "cat@CANARY.test")
	require.NotContains(t, r.res.Note, "CANARY-key")

	all := b.list(approval.Filter{All: true})
	require.Len(t, all, 2)
	require.Equal(t, first.ID, all[0].ID)
	require.Equal(t, approval.StateSuperseded, all[0].State)
	require.Equal(t, approval.CodeEdited, all[0].Code)
	require.Equal(t, approval.StateConsumed, all[1].State)
	require.Equal(t, "bob", all[1].By)
	list, err := b.Ledger.List(t.Context(), ledger.Query{Conversation: "c1"})
	require.NoError(t, err)
	var kinds []string
	for _, rec := range list {
		kinds = append(kinds, rec.Kind+" "+rec.Code)
		require.NotContains(t, string(rec.Body), "CANARY")
		require.Equal(t, list[0].Call, rec.Call, "one proposal")
	}
	require.Equal(t, []string{
		"held permission.ask", "approval_answered said_edited", "decision approval.edited",
		"held permission.ask", "approval_answered said_yes", "decision ", "outcome ",
	}, kinds)
	require.Contains(t, string(list[5].Body), `"edited_by":"bob"`)
	require.Contains(t, string(list[5].Body), `"edited_of":"`+first.ID+`"`)

	require.NoError(t, b.Close())
	b.start(bureauAsks + bureauInbox)
	again, leaveAgain := b.invoke(true)
	defer leaveAgain()
	r = b.end(again)
	require.NoError(t, r.err)
	require.Equal(t, "sent", r.res.Content)
	require.Contains(t, r.res.Note, "It ran with these arguments: {", "the agent is told so after a restart too")
	require.Equal(t, 1, b.runs())
}

// An edit goes by the rules as any call: it is denied, asked about further, or rewritten, and what
// its person has not seen they have not approved.
func TestEditBeginsAtTheFirstGate(t *testing.T) {
	asks := bureauAsks + "approvals: {timeout: 10m, inbox: true, who: [%s]}\n"
	plain := func(who string) string { return fmt.Sprintf(asks, who) }
	denies := "permissions: [{skill: \"paper.send\", then: ask}, {skill: \"paper.send\", when: \"args.to.startsWith('cat')\", then: deny}]\n"
	for name, tc := range map[string]struct {
		settings string
		then     func(b *bureau, second approval.Item) // where the edit is asked about
		runs     int
		code     string
	}{
		"allowed by the rules": {
			settings: "permissions: [{skill: \"paper.send\", when: \"args.to.startsWith('bob')\", then: ask}]\n" + bureauInbox, runs: 1,
		},
		"denied by the rules": {settings: denies + bureauInbox, code: "permission.denied"},
		"of two who are needed": {settings: plain("{min: 2}"), then: func(b *bureau, second approval.Item) {
			require.Equal(t, []int{1, 2}, []int{second.Yes, second.Needed}, "the edit is one yes")
			require.ErrorIs(t, b.answer(second, approval.Yes, "bob"), approval.ErrDecided)
			require.Zero(t, b.runs())
			require.NoError(t, b.answer(second, approval.Yes, "cat"))
		}, runs: 1},
		"denied by another": {settings: plain("{min: 2}"), then: func(b *bureau, second approval.Item) {
			require.NoError(t, b.answer(second, approval.No, "cat"))
		}, code: approval.CodeDenied},
		"edited again": {settings: plain("{min: 2}"), then: func(b *bureau, second approval.Item) {
			require.NoError(t, b.edit(second, "cat", "dan@CANARY.test"))
			require.Eventually(t, func() bool {
				list := b.pending()
				return len(list) == 1 && list[0].ID != second.ID
			}, 4*time.Minute, time.Millisecond)
			third := b.pending()[0]
			require.Equal(t, "cat", third.By)
			require.NoError(t, b.answer(third, approval.Yes, "bob"))
		}, runs: 1},
		"rewritten by a rule": {
			settings: "permissions: [{skill: \"paper.send\", then: ask}, " +
				"{skill: \"paper.send\", when: \"args.to.startsWith('cat')\", then: modify, modify: [{set: note, to: checked}]}]\n" + bureauInbox,
			then: func(b *bureau, second approval.Item) {
				require.Zero(t, second.Yes, "what runs is not what bob wrote")
				require.NoError(t, b.answer(second, approval.No, "bob"))
			}, code: approval.CodeDenied,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBureau(t, tc.settings)
			out, leave := b.invoke(false)
			defer leave()
			first := b.pending()[0]
			require.NoError(t, b.edit(first, "bob", "cat@CANARY.test"))
			if tc.then != nil {
				require.Eventually(t, func() bool {
					list := b.pending()
					return len(list) == 1 && list[0].ID != first.ID
				}, 4*time.Minute, time.Millisecond)
				tc.then(b, b.pending()[0])
			}
			r := b.end(out)
			require.Equal(t, tc.runs, b.runs())
			if tc.code == "" {
				require.NoError(t, r.err)
				return
			}
			var no *skills.Refusal
			require.ErrorAs(t, r.err, &no)
			require.Equal(t, tc.code, no.Code)
			require.Contains(t, no.Reason, "gave this call other arguments")
		})
	}
}

// An edit outlives restarts at each step of its way, and runs once.
func TestEditOverRestarts(t *testing.T) {
	two := bureauAsks + "approvals: {timeout: 10m, inbox: true, who: [{min: 2}]}\n"
	b := openBureau(t, two)
	first := b.hold()
	require.NoError(t, b.edit(first, "bob", "cat@CANARY.test"), "while nothing waits")
	require.Equal(t, approval.StateSuperseded, b.list(approval.Filter{All: true})[0].State)
	require.ErrorIs(t, b.answer(first, approval.Yes, "cat"), approval.ErrDecided)
	restart := func() (<-chan invoked, func()) {
		require.NoError(t, b.Close())
		b.start(two)
		return b.invoke(true)
	}
	out, leave := restart()
	require.Eventually(t, func() bool { return len(b.pending()) == 1 }, 4*time.Minute, time.Millisecond)
	second := b.pending()[0]
	require.NotEqual(t, first.ID, second.ID)
	leave()
	require.ErrorIs(t, b.end(out).err, sentinel.ErrHeld)

	_, leave = restart() // the edited call is asked about again
	require.Equal(t, second.ID, b.pending()[0].ID)
	require.Equal(t, 1, b.pending()[0].Yes)
	leave()
	require.NoError(t, b.answer(second, approval.Yes, "cat"))
	out, leave = restart()
	defer leave()
	require.NoError(t, b.end(out).err)
	require.Equal(t, 1, b.runs())
	require.Contains(t, b.ran[0], "cat@CANARY.test")
	_, leave = restart()
	leave()
	require.Equal(t, 1, b.runs())
}

// A process that ends right after it has recorded that a call was edited goes on with the edit.
func TestEditAfterKill(t *testing.T) {
	b := openBureau(t, bureauAsks+bureauInbox)
	first := b.hold()
	require.NoError(t, b.edit(first, "bob", "cat@CANARY.test"))
	out, leave := b.invoke(true) // a second desk in the process: decides the first, and asks about the edit
	defer leave()
	require.NoError(t, b.end(out).err)
	require.Equal(t, 1, b.runs())
	// What the journal keeps of the edit holds no secret.
	list, err := b.Ledger.List(t.Context(), ledger.Query{Conversation: "c1", Kind: sentinel.RecordDecision})
	require.NoError(t, err)
	values, err := b.Journal.ByCall(t.Context(), list[0].Call)
	require.NoError(t, err)
	found := false
	for _, v := range values {
		require.NotContains(t, string(v.Data), "CANARY-key", v.Kind)
		found = found || v.Kind == "edit" && strings.Contains(string(v.Data), "cat@CANARY.test")
	}
	require.True(t, found)
}

// What can be no edit is refused, and changes nothing.
func TestEditRefused(t *testing.T) {
	b := openBureau(t, bureauAsks+"approvals: {timeout: 10m, inbox: true, who: [{exclude_requester: true}]}\n")
	i := b.hold()
	card, err := b.Inbox.Show(t.Context(), i.ID)
	require.NoError(t, err)
	for name, args := range map[string]string{
		"no JSON":        `{`,
		"a list":         `[]`,
		"a name twice":   `{"to":"a","to":"b"}`,
		"the same":       string(card.Sheet.Args),
		"another secret": `{"to":"a","key":"mine"}`,
		"a wrong type":   `{"to":1}`,
		"too long":       `{"to":"` + strings.Repeat("x", sentinel.MaxArgs) + `"}`,
	} {
		_, err := b.Inbox.Answer(t.Context(), approval.Answer{
			Approval: i.ID, Word: approval.Yes, By: "bob", Digest: i.Digest, Edit: json.RawMessage(args),
		})
		require.ErrorIs(t, err, approval.ErrAnswer, name)
	}
	_, err = b.Inbox.Answer(t.Context(), approval.Answer{Approval: i.ID, Word: approval.No, By: "bob", Edit: json.RawMessage(`{}`)})
	require.ErrorIs(t, err, approval.ErrAnswer)
	require.ErrorIs(t, b.edit(i, "ann", "cat@CANARY.test"), approval.ErrNotAllowed, "the requester")
	stale := i
	stale.Digest = strings.Repeat("0", 64)
	require.ErrorIs(t, b.edit(stale, "bob", "cat@CANARY.test"), approval.ErrStale)
	b.clock.move(10 * time.Minute)
	require.ErrorIs(t, b.edit(i, "bob", "cat@CANARY.test"), approval.ErrDecided)
	require.Equal(t, approval.StateExpired, b.list(approval.Filter{All: true})[0].State)
	require.Zero(t, b.runs())
}
