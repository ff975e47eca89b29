package sentinel_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// shelf keeps what waits for a commit, over the lives of a process.
type shelf struct {
	k       *commits
	gone    error
	dropped int
}

func (s *shelf) Restore(_ context.Context, args json.RawMessage) (*skills.Follow, error) {
	if s.gone != nil {
		return nil, s.gone
	}
	f := s.k.follow
	f.Args, f.Drop = args, func() error { return s.Drop(args) }
	return &f, nil
}

func (s *shelf) Drop(json.RawMessage) error {
	s.dropped++
	return nil
}

// commitLife is one process over the records of another, whose commit is asked about.
func commitLife(t *testing.T, rec *recorder, a sentinel.Approver) (*commits, *shelf) {
	t.Helper()
	s := &shelf{}
	k := newCommits(t, func(o *sentinel.Options) {
		o.Recorder, o.History, o.Approver, o.AskTimeout, o.Follows = rec, memory{rec}, a, time.Hour, s
	}, ofCommit("guard", outcome(sentinel.Ask, "guard.commit")))
	s.k, k.rec = k, rec
	k.follow.Drop = func() error { return s.Drop(nil) }
	return k, s
}

// propose resumes the desk and proposes its first call, as an agent does that was resumed.
func (k *commits) propose(ctx context.Context, t *testing.T, args string) (skills.Result, error) {
	t.Helper()
	d := k.Numbered(grant(t))
	_, err := d.Resume(t.Context(), 0, 1)
	require.NoError(t, err)
	return d.Invoke(ctx, "test.do", json.RawMessage(args))
}

// leave is a life whose caller leaves while a person is asked about the commit.
func leaveCommit(t *testing.T, rec *recorder, ran error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	k, s := commitLife(t, rec, approver(waits))
	k.ran = ran
	_, err := k.propose(ctx, t, `{"to":"ann"}`)
	require.ErrorIs(t, err, sentinel.ErrHeld)
	require.Zero(t, s.dropped, "what it wrote stays")
	require.Empty(t, k.committed)
	require.Empty(t, k.outcomes(), "neither call has an end")
}

// A commit that a person is asked about outlives its caller and its process: what waits for
// it stays, the question is put again with its time, and the answer ends both calls. The
// program itself doesn't run again.
func TestAHeldCommitOutlivesItsProcess(t *testing.T) {
	for name, tc := range map[string]struct {
		away     time.Duration
		args     string
		ran      error
		gone     error
		answer   sentinel.Verdict
		asked    int
		outcomes []string
		says     string
		dropped  int
	}{
		"approved": {answer: yesFrom("ann", "web"), asked: 1, outcomes: []string{"exec.commit ok", "test.do ok"}},
		"it failed": {ran: errors.New("exit code 1"), answer: yesFrom("ann", "web"), asked: 1,
			outcomes: []string{"exec.commit ok", "test.do failed failed"}, says: "skill failed: exit code 1"},
		"refused": {answer: outcome(sentinel.Deny, "approval.denied"), asked: 1, outcomes: []string{"test.do failed not_committed"},
			says: "not committed", dropped: 1},
		"expired": {away: time.Hour, outcomes: []string{"test.do failed not_committed"}, says: "no person answered in time", dropped: 1},
		"changed": {gone: errors.New("another digest"), outcomes: []string{"test.do failed not_committed"},
			says: "isn't what the question was about", dropped: 1},
		"another call": {args: `{"to":"bob"}`, outcomes: []string{"test.do failed not_committed"}, says: "may or may not have happened",
			dropped: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec, asked := &recorder{}, 0
				for range 2 {
					leaveCommit(t, rec, tc.ran)
				}
				require.Equal(t, []string{"decision", "held", "held"}, rec.kinds(), "the program ran once")
				time.Sleep(tc.away)
				k, s := commitLife(t, rec, approver(func(_ context.Context, c sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
					asked++
					first, ok := c.Follows()
					require.True(t, ok)
					require.Equal(t, "test.do", first.Name())
					require.Equal(t, rec.records[1].DecisionID, d.ID)
					return tc.answer, nil
				}))
				s.gone = tc.gone
				if tc.args == "" {
					tc.args = `{"to":"ann"}`
				}
				res, err := k.propose(t.Context(), t, tc.args)
				if tc.says == "" {
					require.NoError(t, err)
					require.Equal(t, "the program's", res.Content)
				} else {
					require.ErrorContains(t, err, tc.says)
				}
				require.Equal(t, tc.asked, asked)
				require.Equal(t, tc.outcomes, k.outcomes())
				require.Equal(t, tc.dropped, s.dropped)
				require.Empty(t, k.lim.reported, "it ran in another process")
				before := len(rec.kinds())
				_, again := k.propose(t.Context(), t, `{"to":"ann"}`)
				require.Equal(t, err == nil, again == nil, "it is the last word: %v", again)
				require.Len(t, rec.kinds(), before)
			})
		})
	}
}

// A start keeps what a person is asked about until its time is over, and what nothing can
// ask about again is withdrawn.
func TestAStartKeepsAHeldCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		leaveCommit(t, rec, nil)
		k, s := commitLife(t, rec, nil)
		left, err := k.SettleFollow(t.Context(), rec.records[0].CallID)
		require.NoError(t, err)
		require.Equal(t, sentinel.FollowHeld, left)
		require.Len(t, rec.kinds(), 2)
		time.Sleep(2 * time.Hour)
		left, err = k.SettleFollow(t.Context(), rec.records[0].CallID)
		require.NoError(t, err)
		require.Equal(t, sentinel.FollowOver, left)
		require.Equal(t, []string{"decision", "held", "decision", "outcome"}, rec.kinds())
		require.Equal(t, sentinel.CodeApprovalExpired, rec.records[2].Code)
		require.Equal(t, []string{"test.do failed not_committed"}, k.outcomes())
		require.Equal(t, 1, s.dropped)
	})
}

// The end of a turn ends its held commits: what waited is thrown away, and the first call
// says so.
func TestTheEndOfAHeldCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		leaveCommit(t, rec, nil)
		k, s := commitLife(t, rec, nil)
		require.NoError(t, k.EndHeld(t.Context(), rec.records[1].CallID, "its turn has ended"))
		require.Equal(t, sentinel.CodeApprovalCanceled, rec.records[2].Code)
		require.Equal(t, []string{"test.do failed not_committed"}, k.outcomes())
		require.Equal(t, 1, s.dropped)
	})
}

// Where nothing can give back what waits, a caller that leaves has it thrown away.
func TestACommitThatCannotBeKeptIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCommits(t, func(o *sentinel.Options) { o.Approver, o.AskTimeout = approver(waits), time.Hour },
			ofCommit("guard", outcome(sentinel.Ask, "guard.commit")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := k.Desk(grant(t)).Invoke(ctx, "test.do", json.RawMessage(`{"to":"ann"}`))
		require.ErrorContains(t, err, "the caller left")
		require.Equal(t, 1, k.dropped)
		require.Equal(t, []string{"test.do failed not_committed"}, k.outcomes())
	})
}
