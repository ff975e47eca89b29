package assembly_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// errand is one more call of the tests of standing approvals.
type errand struct {
	user, to, grant string
	tainted         bool
}

// send makes a call to an end, and leaves it where a person is asked. asked says so.
func (b *bureau) send(e errand) (asked bool, err error) {
	b.t.Helper()
	sc, err := skills.NewScope("paper.send")
	require.NoError(b.t, err)
	req := "send the paper to " + e.to
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: e.grant, User: e.user, Conversation: "c-" + e.grant, Turn: "t-" + e.grant, Agent: "clerk", Mission: "m",
		MissionBy: sentinel.ByOrchestrator, Request: &req, Scope: sc, Tainted: e.tainted,
	})
	require.NoError(b.t, err)
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := b.Checkpoint.Numbered(g).Invoke(ctx, "paper.send", json.RawMessage(fmt.Sprintf(`{"to":%q}`, e.to)))
		done <- err
	}()
	require.Eventually(b.t, func() bool {
		return len(done) > 0 || len(b.list(approval.Filter{Conversation: "c-" + e.grant})) > 0
	}, 4*time.Minute, time.Millisecond)
	if len(done) == 0 {
		cancel()
	}
	err = <-done
	return len(b.list(approval.Filter{Conversation: "c-" + e.grant})) > 0, err
}

// stand makes a standing approval for calls to bob.
func (b *bureau) stand(uses int, d time.Duration) approval.Standing {
	b.t.Helper()
	asked, err := b.send(errand{user: "ann", to: "bob", grant: "first"})
	require.True(b.t, asked)
	require.ErrorIs(b.t, err, sentinel.ErrHeld)
	i := b.pending()[0]
	s, err := b.Inbox.Stand(b.t.Context(), approval.Answer{Approval: i.ID, Word: approval.Yes, By: "cat", Via: "test", Digest: i.Digest},
		approval.StandingTerms{Uses: uses, For: d})
	require.NoError(b.t, err)
	require.Equal(b.t, approval.StateApproved, b.list(approval.Filter{All: true})[0].State)
	return s
}

// A standing approval lets as many calls run as it says, each the same as that which it was given to,
// and each on record with its name.
func TestStandingApproval(t *testing.T) {
	b := openBureau(t, bureauAsks+bureauInbox)
	s := b.stand(2, time.Hour)
	require.Equal(t, approval.StandingActive, s.State)
	require.Equal(t, "permission.ask, rule rule-1", s.Rule)
	for n, want := range []bool{false, false, true} {
		asked, err := b.send(errand{user: "ann", to: "bob", grant: fmt.Sprint("g", n)})
		require.Equal(t, want, asked, n)
		if !want {
			require.NoError(t, err)
		}
	}
	require.Equal(t, 2, b.runs())
	list, err := b.Inbox.ListStanding(t.Context(), approval.StandingFilter{All: true})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, approval.StandingUsedUp, list[0].State)
	require.Equal(t, []int{2, 2}, []int{list[0].Used, list[0].Uses})
	list, err = b.Inbox.ListStanding(t.Context(), approval.StandingFilter{User: "ann"})
	require.NoError(t, err)
	require.Empty(t, list)

	recs, err := b.Ledger.List(t.Context(), ledger.Query{Conversation: "c-g0", Kind: sentinel.RecordDecision})
	require.NoError(t, err)
	require.Len(t, recs, 1)
	require.Contains(t, string(recs[0].Body), `"standing":"`+s.ID+`"`)
	require.Contains(t, string(recs[0].Body), `"approver":"cat"`)
	made, err := b.Ledger.List(t.Context(), ledger.Query{Kind: approval.RecordStanding})
	require.NoError(t, err)
	require.Len(t, made, 1)
	require.Equal(t, approval.CodeStandingMade, made[0].Code)
}

// A standing approval holds for nothing else than the calls that it was given to.
func TestStandingApprovalHoldsForNothingElse(t *testing.T) {
	judged := "judge: {threshold: 0.01, ask_below: 1}\n"
	for name, tc := range map[string]struct {
		errand  errand
		between func(b *bureau, s approval.Standing)
		after   string // the settings of another process
	}{
		"another target":    {errand: errand{user: "ann", to: "eve"}},
		"another user":      {errand: errand{user: "dan", to: "bob"}},
		"a tainted call":    {errand: errand{user: "ann", to: "bob", tainted: true}},
		"after its time":    {between: func(b *bureau, _ approval.Standing) { b.clock.move(time.Hour) }},
		"other rules":       {after: "permissions: [{skill: \"paper.send\", then: ask}, {skill: \"paper.*\", then: ask}]\n" + bureauInbox},
		"another gate asks": {after: bureauAsks + judged + bureauInbox},
		"two are needed":    {after: bureauAsks + "approvals: {timeout: 10m, inbox: true, who: [{min: 2}]}\n"},
		"its person may not any more": {
			after: bureauAsks + "approvals: {timeout: 10m, inbox: true, who: [{approvers: [dan]}]}\n",
		},
		"revoked": {between: func(b *bureau, s approval.Standing) {
			out, err := b.Inbox.Revoke(t.Context(), s.ID[:8], "dan", "test")
			require.NoError(t, err)
			require.Equal(t, approval.StandingRevoked, out.State)
			_, err = b.Inbox.Revoke(t.Context(), s.ID, "dan", "test")
			require.NoError(t, err, "twice is once")
		}},
		"revoked, and the row changed back": {between: func(b *bureau, s approval.Standing) {
			_, err := b.Inbox.Revoke(t.Context(), s.ID, "dan", "test")
			require.NoError(t, err)
			b.change(`UPDATE approval_standing SET revoked_at = 0, revoked_by = ''`)
		}},
		"a row for longer than was sealed": {between: func(b *bureau, _ approval.Standing) {
			b.clock.move(time.Hour)
			b.change(`UPDATE approval_standing SET expires = 9999999999999`)
		}},
		"a row of another call": {errand: errand{user: "ann", to: "eve"}, between: func(b *bureau, _ approval.Standing) {
			_, _ = b.send(errand{user: "ann", to: "eve", grant: "other"})
			i := b.list(approval.Filter{Conversation: "c-other"})[0]
			card, err := b.Inbox.Show(t.Context(), i.ID)
			require.NoError(t, err)
			b.change(`UPDATE approval_standing SET matches = ?`, card.Sheet.Standing.Match)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBureau(t, bureauAsks+bureauInbox)
			s := b.stand(20, time.Hour)
			if tc.between != nil {
				tc.between(b, s)
			}
			if tc.after != "" {
				require.NoError(t, b.Close())
				b.start(tc.after)
			}
			e := tc.errand
			if e.user == "" {
				e = errand{user: "ann", to: "bob"}
			}
			e.grant = "next"
			asked, _ := b.send(e)
			require.True(t, asked)
			require.Zero(t, b.runs())
		})
	}
}

// What can't be a standing approval is refused, and the question stays open.
func TestStandingRefused(t *testing.T) {
	b := openBureau(t, bureauAsks+bureauInbox)
	asked, _ := b.send(errand{user: "ann", to: "bob", grant: "g1"})
	require.True(t, asked)
	i := b.pending()[0]
	yes := approval.Answer{Approval: i.ID, Word: approval.Yes, By: "cat", Digest: i.Digest}
	for name, terms := range map[string]approval.StandingTerms{
		"no uses": {For: time.Hour}, "too many": {Uses: 21, For: time.Hour}, "no time": {Uses: 1}, "too long": {Uses: 1, For: 25 * time.Hour},
	} {
		_, err := b.Inbox.Stand(t.Context(), yes, terms)
		require.ErrorIs(t, err, approval.ErrStanding, name)
	}
	good := approval.StandingTerms{Uses: 1, For: time.Hour}
	no := yes
	no.Word = approval.No
	_, err := b.Inbox.Stand(t.Context(), no, good)
	require.ErrorIs(t, err, approval.ErrStanding)
	_, err = b.Inbox.Stand(t.Context(), approval.Answer{Approval: "none", Word: approval.Yes, By: "cat"}, good)
	require.ErrorIs(t, err, approval.ErrUnknown)
	require.Equal(t, approval.StatePending, b.pending()[0].State)

	asked, _ = b.send(errand{user: "ann", to: "bob", grant: "g2", tainted: true})
	require.True(t, asked)
	tainted := b.list(approval.Filter{Conversation: "c-g2"})[0]
	_, err = b.Inbox.Stand(t.Context(), approval.Answer{Approval: tainted.ID, Word: approval.Yes, By: "cat", Digest: tainted.Digest}, good)
	require.ErrorIs(t, err, approval.ErrStanding)

	b = openBureau(t, bureauAsks+"approvals: {timeout: 10m, inbox: true, who: [{min: 2}]}\n")
	_, _ = b.send(errand{user: "ann", to: "bob", grant: "g1"})
	i = b.pending()[0]
	_, err = b.Inbox.Stand(t.Context(), approval.Answer{Approval: i.ID, Word: approval.Yes, By: "cat", Digest: i.Digest}, good)
	require.ErrorContains(t, err, "2 people are needed each time")
	require.Zero(t, b.pending()[0].Yes, "nothing was taken")
	list, err := b.Inbox.ListStanding(t.Context(), approval.StandingFilter{All: true})
	require.NoError(t, err)
	require.Empty(t, list)
}

// change changes the database behind the inbox's back.
func (b *bureau) change(query string, args ...any) {
	b.t.Helper()
	require.NoError(b.t, b.Store.Submit(b.t.Context(), func(tx *store.Tx) error {
		n, err := tx.Exec(query, args...)
		require.Positive(b.t, n)
		return err
	}))
}
