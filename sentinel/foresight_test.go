package sentinel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
)

// foresighted is an approver that was answered beforehand, over and over while left lasts. What it
// is asked all the same, the approver in it answers.
type foresighted struct {
	approver
	left  int
	err   error
	seeks int
}

func (f *foresighted) LookUpAnswer(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, bool, error) {
	f.seeks++
	if f.left < 0 {
		panic("x")
	}
	if f.left == 0 || f.err != nil {
		return sentinel.Verdict{}, false, f.err
	}
	f.left--
	return yesFrom("cat", "standing"), true, nil
}

// overdrawn is a recorder that finds the first answers over that were given beforehand.
type overdrawn struct {
	*recorder
	over int
}

func (o *overdrawn) Record(ctx context.Context, r sentinel.Record) error {
	if r.Kind == sentinel.RecordDecision && r.Outcome == sentinel.Allow.String() && o.over > 0 {
		o.over--
		return fmt.Errorf("used up: %w", sentinel.ErrAnswerOver)
	}
	return o.recorder.Record(ctx, r)
}

// An answer given beforehand spares the question. One that is over by the time that it counts spares
// nothing: a person is asked, and what that person says is what happens.
func TestAnswersGivenBeforehand(t *testing.T) {
	no := func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
		return sentinel.Refuse("approval.denied", "no"), nil
	}
	yes := func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
		return yesFrom("ann", "web"), nil
	}
	for name, tc := range map[string]struct {
		f     foresighted
		over  int
		kinds []string
		by    string // who is on record for a yes; empty for a refusal
	}{
		"a yes": {f: foresighted{approver: no, left: 1}, kinds: []string{"decision", "outcome"}, by: "cat"},
		"none":  {f: foresighted{approver: yes}, kinds: []string{"held", "decision", "outcome"}, by: "ann"},
		"it can't be read": {f: foresighted{approver: yes, left: 1, err: errors.New("disk")},
			kinds: []string{"held", "decision", "outcome"}, by: "ann"},
		"it breaks": {f: foresighted{approver: yes, left: -1}, kinds: []string{"held", "decision", "outcome"}, by: "ann"},
		"over, and a person says yes": {f: foresighted{approver: yes, left: 1}, over: 1, kinds: []string{"held", "decision",
			"outcome"}, by: "ann"},
		"over, and a person says no":  {f: foresighted{approver: no, left: 1}, over: 1, kinds: []string{"held", "decision"}},
		"over, and another one holds": {f: foresighted{approver: no, left: 2}, over: 1, kinds: []string{"decision", "outcome"}, by: "cat"},
		"two over, and a person's yes": {
			f: foresighted{approver: yes, left: 2}, over: 2, kinds: []string{"held", "decision", "outcome"}, by: "ann",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(o *sentinel.Options, b *bench) {
				o.Approver, o.Recorder = &tc.f, &overdrawn{b.rec, tc.over}
			}, askingJudge())
			_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
			require.Equal(t, tc.kinds, b.rec.kinds())
			require.Positive(t, tc.f.seeks)
			if tc.by == "" {
				require.Equal(t, "approval.denied", refusalOf(t, err).Code)
				require.Empty(t, b.runs())
				return
			}
			require.NoError(t, err)
			require.Len(t, b.runs(), 1)
			for _, r := range b.rec.records {
				if r.Kind == sentinel.RecordDecision {
					require.Equal(t, tc.by, times(t, r).Approver)
					require.Equal(t, tc.by == "cat", times(t, r).Asked.IsZero(), "without a question there is no time of one")
				}
			}
		})
	}
}

// An answer given beforehand is for calls that no stranger's text stands behind.
func TestNoAnswerBeforehandAfterTaint(t *testing.T) {
	f := &foresighted{approver: waits, left: 1}
	b := newBench(t, func(o *sentinel.Options, _ *bench) { o.Approver = f }, askingJudge())
	ctx, cancel := context.WithCancel(t.Context())
	f.approver = func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
		cancel()
		return sentinel.Verdict{}, errors.New("no person")
	}
	desk := b.Desk(grant(t))
	desk.Taint()
	_, err := desk.Invoke(ctx, "test.do", nil)
	require.ErrorIs(t, err, sentinel.ErrHeld)
	require.Zero(t, f.seeks)
	require.Empty(t, b.runs())
}
