package sentinel_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// requireEnded checks that every question on record has a decision, and one only.
func requireEnded(t *testing.T, list []sentinel.Record) {
	t.Helper()
	asked, decided := map[string]bool{}, map[string]int{}
	for _, r := range list {
		switch r.Kind {
		case sentinel.RecordHeld:
			asked[r.DecisionID] = true
		case sentinel.RecordDecision:
			decided[r.DecisionID]++
		}
	}
	require.NotEmpty(t, asked)
	for id := range asked {
		require.Equal(t, 1, decided[id], "the question %s has no end, or several", id)
	}
}

// An approver that fails for a while in a living process is asked again, and its
// answer then ends the call.
func TestAnApproverThatFailedIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []sentinel.Decision
		b := newBench(t, func(o *sentinel.Options, _ *bench) {
			o.Approver = approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
				return sentinel.Verdict{}, nil
			})
			o.AskTimeout = time.Hour
			o.Approver = approver(func(_ context.Context, _ sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
				if asked = append(asked, d); len(asked) < 4 {
					return sentinel.Verdict{}, errors.New("no line")
				}
				return yesFrom("ann", "web"), nil
			})
		}, askingJudge())
		_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
		require.NoError(t, err)
		require.Len(t, asked, 4)
		for _, d := range asked {
			require.Equal(t, []any{asked[0].ID, asked[0].Expires}, []any{d.ID, d.Expires})
		}
		require.Equal(t, []string{"held", "decision", "outcome"}, b.rec.kinds())
		requireEnded(t, b.rec.records)
	})
}

// A desk that is withdrawn ends its questions and those below it, on record, and
// lets no other be asked.
func TestWithdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(o *sentinel.Options, _ *bench) { o.Approver, o.AskTimeout = approver(waits), time.Hour }, askingJudge())
		root := b.Desk(grant(t))
		child, err := root.Child(sentinel.Child{ID: "g2", Agent: "a2", Mission: "do it", MissionBy: sentinel.ByOrchestrator,
			Scope: grant(t).Scope()})
		require.NoError(t, err)
		out := make(chan error, 1)
		go func() {
			_, err := child.Invoke(t.Context(), "test.do", nil)
			out <- err
		}()
		synctest.Wait()
		require.NoError(t, root.Withdraw(t.Context()))
		require.Equal(t, []string{"held", "decision"}, b.rec.kinds(), "it is on record when Withdraw returns")
		require.Equal(t, sentinel.CodeApprovalCanceled, refusalOf(t, <-out).Code)
		_, err = child.Invoke(t.Context(), "test.do", nil)
		require.Equal(t, sentinel.CodeApprovalCanceled, refusalOf(t, err).Code)
		require.Equal(t, []string{"held", "decision", "decision"}, b.rec.kinds(), "no person is asked any more")
		requireEnded(t, b.rec.records)
		require.Empty(t, b.runs())
	})
}

// A call that was left held, and that no desk asks about again, gets an end.
func TestEndHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		b := life(t, rec, approver(waits))
		require.ErrorIs(t, b.again(ctx, t, `{"to":"ann"}`), sentinel.ErrHeld)
		for range 2 { // a second time there is nothing left to end
			require.NoError(t, b.EndHeld(t.Context(), rec.records[0].CallID, "its agent crashed"))
			require.Equal(t, []string{"held", "decision"}, rec.kinds())
		}
		end := rec.records[1]
		require.Equal(t, []string{"deny", sentinel.GateApproval, sentinel.CodeApprovalCanceled}, []string{end.Outcome, end.Gate, end.Code})
		require.Contains(t, string(end.Body), "its agent crashed")
		require.Equal(t, times(t, rec.records[0]), times(t, end), "it says when the question was asked")
		requireEnded(t, rec.records)
		no := refusalOf(t, life(t, rec, nil).again(t.Context(), t, `{"to":"ann"}`))
		require.Equal(t, sentinel.CodeApprovalCanceled, no.Code, "it is the last word")
	})
}

// Secret arguments are kept nowhere, so a call with some that was held can't be
// asked about after a restart: that ends it, on record.
func TestRecallEndsAHeldCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, life(t, rec, approver(waits)).again(ctx, t, `{"key":"s3cret"}`), sentinel.ErrHeld)
		d := life(t, rec, approver(waits)).Numbered(grant(t))
		_, err := d.Resume(t.Context(), 0, 1)
		require.NoError(t, err)
		_, err = d.Recall(t.Context(), "test.do", nil)
		var f *skills.Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, sentinel.FailNotProposed, f.Code)
		require.Equal(t, []string{"held", "decision"}, rec.kinds())
		requireEnded(t, rec.records)
	})
}

// A question about another call than the one that is proposed now is superseded,
// on record.
func TestSupersededQuestionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, life(t, rec, approver(waits)).again(ctx, t, `{"to":"ann"}`), sentinel.ErrHeld)
		yes := approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
			return yesFrom("ann", "web"), nil
		})
		require.NoError(t, life(t, rec, yes).again(t.Context(), t, `{"to":"bob"}`))
		require.Equal(t, []string{"held", "decision", "held", "decision", "outcome"}, rec.kinds())
		require.Equal(t, sentinel.CodeApprovalSuperseded, rec.records[1].Code)
		requireEnded(t, rec.records)
	})
}

// Where the rules decide without a person after a restart, that ends the question.
func TestRulesEndAHeldCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, life(t, rec, approver(waits)).again(ctx, t, `{"to":"ann"}`), sentinel.ErrHeld)
		b := newBench(t, func(o *sentinel.Options, b *bench) { b.rec, o.Recorder, o.History = rec, rec, memory{rec} },
			says("judge", outcome(sentinel.Deny, "judge.below_threshold")))
		require.Equal(t, "judge.below_threshold", refusalOf(t, b.again(t.Context(), t, `{"to":"ann"}`)).Code)
		requireEnded(t, rec.records)
	})
}

// A file that was changed while the process was down is not what the question
// showed: no answer to it counts.
func TestChangedWhileAway(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.txt")
	require.NoError(t, os.WriteFile(file, []byte("as it was shown"), 0o600))
	args, err := json.Marshal(map[string]string{"path": file})
	require.NoError(t, err)
	spec := skills.Spec{
		Name: "test.do", Effect: skills.Modify,
		Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","x-path":true}}}`),
	}
	rec := &recorder{}
	process := func(a approver) *bench {
		return newBenchFor(t, spec, func(o *sentinel.Options, b *bench) {
			b.rec, o.Recorder, o.History, o.Approver, o.AskTimeout = rec, rec, memory{rec}, a, time.Hour
		}, askingJudge())
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = process(func(ctx context.Context, c sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
		cancel()
		return waits(ctx, c, d)
	}).again(ctx, t, string(args))
	require.ErrorIs(t, err, sentinel.ErrHeld)
	require.NoError(t, os.WriteFile(file, []byte("as it is by now"), 0o600))
	b := process(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
		return sentinel.Pass(), nil
	})
	require.Equal(t, sentinel.CodeApprovalChanged, refusalOf(t, b.again(t.Context(), t, string(args))).Code)
	require.Empty(t, b.runs())
	require.Equal(t, []string{"held", "decision"}, rec.kinds())
	requireEnded(t, rec.records)
}
