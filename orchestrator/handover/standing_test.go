package handover_test

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// stand makes a standing approval of the call of most tests.
func (o *office) stand(uses int) approval.Standing {
	o.t.Helper()
	s, err := o.Inbox.Stand(context.Background(), approval.Answer{Approval: o.propose(proposal()).Approval, Word: approval.Yes, By: "bob",
		Via: "test"}, approval.StandingTerms{Uses: uses, For: time.Hour})
	require.NoError(o.t, err)
	return s
}

// like is a call like the one that a standing approval was made of.
func like(n int) handover.Proposal {
	p := proposal()
	p.Conversation, p.CallID = fmt.Sprint("talk-", n), fmt.Sprint("like-", n)
	return p
}

// exec changes the database behind the program's back.
func (o *office) exec(statement string) error {
	return o.Store.Submit(context.Background(), func(tx *store.Tx) error {
		_, err := tx.Exec(statement)
		return err
	})
}

// A standing yes allows a call at once: no person is asked, and no id is told that the inbox lacks.
func TestStandingYesAnswersAtOnce(t *testing.T) {
	o := openOffice(t, asks)
	s := o.stand(1)
	a := o.propose(like(1)) // waits for no person
	require.Equal(t, handover.Allowed, a.State)
	require.NotEmpty(t, a.Warrant)
	require.Empty(t, a.Approval)
	require.Empty(t, o.records(a.ID, sentinel.RecordHeld))
	require.Equal(t, 1, o.allowances(a.ID))
	list, err := o.Inbox.ListStanding(t.Context(), approval.StandingFilter{All: true})
	require.NoError(t, err)
	require.Equal(t, 1, list[0].Used)
	require.Equal(t, s.ID, list[0].ID)
	require.Equal(t, handover.OK, o.report(a.ID, handover.OK, "done").State)

	b := o.propose(like(2)) // it is used up
	require.Equal(t, handover.Pending, b.State)
	require.NotEmpty(t, b.Approval)
}

// hasAnswer reports whether the checkpoint reads its clock to date an answer that was given beforehand.
func hasAnswer() bool {
	stack := string(debug.Stack())
	return strings.Contains(stack, ").lookUpAnswer(") && !strings.Contains(stack, ").LookUpAnswer(")
}

// A standing yes that is over between the look at it and the decision lets nothing run: the call is
// pending, with a question that a person finds and answers. The writer is kept busy until the call
// has seen the standing approval as it was.
func TestStandingYesRevokedMeanwhile(t *testing.T) {
	o := openOffice(t, asks)
	s := o.stand(5)
	revoked, looked := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	var broken error
	wg.Go(func() {
		broken = o.Store.Submit(context.Background(), func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE approval_standing SET revoked_at = 1, revoked_by = 'dan' WHERE id = ?`, s.ID)
			close(revoked) // no reader sees it before the commit
			<-looked
			return err
		})
	})
	<-revoked
	var once sync.Once
	o.clock.onRead(func() {
		if hasAnswer() { // it waits for the writer next
			once.Do(func() { close(looked) })
		}
	})
	a := o.propose(like(1))
	wg.Wait()
	require.NoError(t, broken)
	require.Equal(t, handover.Pending, a.State)
	require.Empty(t, a.Warrant)
	require.Zero(t, o.allowances(a.ID))
	require.Len(t, o.records(a.ID, sentinel.RecordHeld), 1)
	o.answer(a.Approval, approval.Yes)
	got := o.propose(waiting(like(1)))
	require.Equal(t, handover.Allowed, got.State)
	require.NotEmpty(t, got.Warrant)
	require.Equal(t, a.Approval, got.Approval)
}

// A revocation is on record and holds, whatever is written into the row before and after it.
func TestRevocationOutlivesEditsOfTheRow(t *testing.T) {
	for name, edit := range map[string]struct{ before, after string }{
		"another value is erased": {`UPDATE approval_standing SET sealed = sealed + 100000, revoked_at = 0`,
			`UPDATE approval_standing SET sealed = sealed - 100000, revoked_at = 0, revoked_by = ''`},
		"it seems to be over": {`UPDATE approval_standing SET revoked_at = 1, used = uses, expires = 1`,
			`UPDATE approval_standing SET revoked_at = 0, used = 0, expires = 9999999999999`},
		"its value is kept aside": {`CREATE TABLE aside AS SELECT v.*, k.wrapped FROM journal_values v JOIN journal_keys k USING (id)
WHERE kind = 'approvals.standing'`,
			`UPDATE approval_standing SET revoked_at = 0, revoked_by = ''`},
	} {
		t.Run(name, func(t *testing.T) {
			o := openOffice(t, asks)
			s := o.stand(5)
			require.NoError(t, o.exec(edit.before))
			out, err := o.Inbox.Revoke(t.Context(), s.ID, "dan", "test")
			require.NoError(t, err)
			require.Equal(t, approval.StandingRevoked, out.State)
			require.NoError(t, o.exec(edit.after))
			if name == "its value is kept aside" {
				require.NoError(t, o.exec(`INSERT INTO journal_values
SELECT id, created, expires, call, conversation, user, kind, name, sealed FROM aside`))
				require.NoError(t, o.exec(`UPDATE journal_keys SET wrapped = (SELECT wrapped FROM aside) WHERE id = (SELECT id FROM aside)`))
			}
			a := o.propose(like(1))
			require.Equal(t, handover.Pending, a.State)
			require.Empty(t, a.Warrant)
			require.NotEmpty(t, a.Approval)
			list, err := o.Inbox.Revoke(t.Context(), s.ID, "dan", "test")
			require.NoError(t, err)
			require.Equal(t, approval.StandingRevoked, list.State)
		})
	}
}
