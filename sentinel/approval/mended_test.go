package approval_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// After a restart by whose rules fewer people are needed, or others may not answer any more, the
// count is taken again: no person has to repeat what they said.
func TestInboxCountsAnewAfterRestart(t *testing.T) {
	o := newOffice(t, approval.Rule{Min: 2})
	o.put(matter{})
	o.mustSay("d1", approval.Yes, "bob")
	o.restart(approval.Rule{Min: 1})
	out, leave := o.ask(matter{})
	defer leave()
	r := receive(t, out)
	require.NoError(t, r.err)
	require.Equal(t, sentinel.Allow, r.v.Outcome)
	require.Equal(t, "bob", r.v.Meta["by"])

	o = newOffice(t, approval.Rule{Min: 3, Approvers: []string{"ann", "bob", "cat"}})
	o.put(matter{})
	o.mustSay("d1", approval.Yes, "bob")
	o.mustSay("d1", approval.Yes, "ann")
	o.restart(approval.Rule{Min: 2, Approvers: []string{"bob", "cat"}})
	out, leave = o.ask(matter{})
	defer leave()
	require.Eventually(t, func() bool { return o.item("d1").Yes == 1 }, 4*time.Minute, time.Millisecond, "ann may not answer any more")
	require.Empty(t, out)
	require.Equal(t, approval.StateApproved, o.mustSay("d1", approval.Yes, "cat").State)
	require.Equal(t, "bob, cat", receive(t, out).v.Meta["by"])
}

// The rules about a skill hold for the call that commits what its program wrote.
func TestWhoMayCommit(t *testing.T) {
	o := newOffice(t, approval.Rule{Skill: "shell.run", Approvers: []string{"bob"}, ExcludeRequester: true})
	out, leave := o.ask(matter{commits: true})
	defer leave()
	i := o.item("d1")
	require.Equal(t, skills.CommitName, i.Skill)
	require.Equal(t, "shell.run", i.Commits)
	_, err := o.say("d1", approval.Yes, "cat")
	require.ErrorIs(t, err, approval.ErrNotAllowed)
	o.mustSay("d1", approval.Yes, "bob")
	require.Equal(t, sentinel.Allow, receive(t, out).v.Outcome)

	o = newOffice(t, approval.Rule{Effect: skills.CostsMoney, Min: 2})
	o.put(matter{commits: true})
	require.Equal(t, approval.StatePending, o.mustSay("d1", approval.Yes, "bob").State, "the effect of what wrote counts too")

	o = newOffice(t, approval.Rule{Skill: "shell.run", Approvers: []string{"ann"}, ExcludeRequester: true})
	c, d := matter{commits: true}.make(t)
	_, err = o.Approve(t.Context(), c, d)
	require.ErrorIs(t, err, sentinel.ErrNoApprover)
}

// putChanged asks about something else under the same id, and leaves once that is put.
func (o *office) putChanged(m matter) {
	o.t.Helper()
	before := o.item("d1").Digest
	_, leave := o.ask(m)
	defer leave()
	require.Eventually(o.t, func() bool {
		list, err := o.List(o.t.Context(), approval.Filter{All: true})
		return err == nil && list[0].Digest != before
	}, 4*time.Minute, time.Millisecond)
}

// An answer to a question that changed stays void, also where the question changes back.
func TestInboxVoidStaysVoid(t *testing.T) {
	o := newOffice(t, approval.Rule{Min: 2})
	o.put(matter{})
	o.mustSay("d1", approval.Yes, "bob")
	o.restart()
	o.putChanged(matter{code: "permission.other"})
	require.Zero(t, o.item("d1").Yes)
	o.restart()
	o.putChanged(matter{})
	out, leave := o.ask(matter{})
	o.mustSay("d1", approval.Yes, "cat")
	o.edit(`UPDATE approvals SET state = 'approved', yes = 2`)
	o.edit(`UPDATE approval_answers SET void = 0`)
	leave()
	<-out
	out, leave = o.ask(matter{})
	defer leave()
	require.Eventually(t, func() bool { return len(out) > 0 || o.item("d1").State == approval.StatePending }, 4*time.Minute,
		time.Millisecond)
	require.Empty(t, out, "what was said to the first question is not said to this one")
}

// A person is shown the sheet of the question that they answer, and no other, whatever the row says.
func TestSheetIsBoundToItsDigest(t *testing.T) {
	o := newOffice(t)
	o.put(matter{})
	var first int64
	require.NoError(t, o.st.Reader().QueryRow(t.Context(), `SELECT sheet FROM approvals`).Scan(&first))
	o.restart()
	o.putChanged(matter{code: "permission.other"})
	_, err := o.Show(t.Context(), "d1")
	require.NoError(t, err)
	o.edit(`UPDATE approvals SET sheet = ?`, first)
	_, err = o.Show(t.Context(), "d1")
	require.ErrorContains(t, err, "the database was changed")
}

// An answer that is on disk wakes its call, also where a hook after the commit failed.
func TestAnswerWithFailedHookWakes(t *testing.T) {
	o := newOffice(t)
	out, leave := o.ask(matter{})
	defer leave()
	digest := o.item("d1").Digest
	fail := true
	o.st.OnCommit(func() {
		if fail {
			fail = false
			panic("a hook breaks")
		}
	})
	_, err := o.Answer(t.Context(), approval.Answer{Approval: "d1", Word: approval.Yes, By: "bob", Digest: digest})
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.Equal(t, sentinel.Allow, receive(t, out).v.Outcome)
}

// A purge ends the wait of the calls whose questions it deletes: nothing of them is written again.
func TestPurgeEndsTheWait(t *testing.T) {
	o := newOffice(t)
	out, leave := o.ask(matter{})
	defer leave()
	require.NoError(t, o.st.Submit(t.Context(), func(tx *store.Tx) error {
		n, err := o.ForgetTx(tx, "ann", "")
		require.Equal(t, 1, n)
		return err
	}))
	require.ErrorIs(t, receive(t, out).err, sentinel.ErrNoApprover)
	list, err := o.List(t.Context(), approval.Filter{All: true})
	require.NoError(t, err)
	require.Empty(t, list)
	_, err = o.Show(t.Context(), "d1")
	require.ErrorIs(t, err, approval.ErrUnknown)
	require.NotContains(t, o.log.String(), "level=ERROR")
}
