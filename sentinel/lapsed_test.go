package sentinel_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
)

// revising is an approver whose yes holds while holds says so.
type revising struct {
	approver
	holds func() (bool, error)
}

func (r revising) AnswerHolds(context.Context, sentinel.Call, sentinel.Decision) (bool, error) {
	return r.holds()
}

// A yes that ends while its call waits for its places is none: a person is asked again, under the same id, and the
// answer to that counts.
func TestLapsedYesIsAskedAgain(t *testing.T) {
	for name, lapse := range map[string]func() (bool, error){
		"it holds no more":   func() (bool, error) { return false, nil },
		"that can't be told": func() (bool, error) { return true, errors.New("the store is away") },
		"asking panics":      func() (bool, error) { panic("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			var kinds []string
			placed := 0
			b := newBench(t, func(o *sentinel.Options, _ *bench) {
				o.Approver = revising{func(_ context.Context, _ sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
					asked = append(asked, d.ID)
					return yesFrom([]string{"bob", "carl"}[len(asked)-1], "test"), nil
				}, func() (bool, error) {
					if len(asked) == 1 {
						return lapse()
					}
					return true, nil
				}}
				o.Readmit = func(context.Context, sentinel.Call) error { placed++; return nil }
				o.Observe = func(e sentinel.Event) { kinds = append(kinds, e.Kind) }
			}, askingJudge())
			_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
			require.NoError(t, err)
			require.Len(t, b.runs(), 1)
			require.Len(t, asked, 2)
			require.Equal(t, asked[0], asked[1])
			require.Equal(t, 2, placed)
			require.Equal(t, []string{"held", "decision", "outcome"}, b.rec.kinds(), "one question on record")
			require.Equal(t, []string{"held", "asked", "reopened", "asked", "decision", "outcome"}, kinds)
			require.Contains(t, string(b.rec.records[1].Body), `"approver":"carl"`)
		})
	}
}

// A call whose yes ends when its decision is on record, while it waits for its skill, is withdrawn. It needs no other
// policy for that.
func TestLapsedYesWithdrawsACallInAQueue(t *testing.T) {
	for _, name := range []string{"the same policy", "another policy"} {
		t.Run(name, func(t *testing.T) {
			holds := true
			var b *bench
			b = newBench(t, func(o *sentinel.Options, _ *bench) {
				o.Approver = revising{func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
					return yesFrom("bob", "test"), nil
				}, func() (bool, error) { return holds, nil }}
				o.Queues = map[string]sentinel.Queue{"test.do": queue(func(context.Context, sentinel.Call) (func(), error) {
					holds = false
					if name == "another policy" {
						require.NoError(t, b.SetPolicy(sentinel.Policy{Gates: passing(askingJudge()), Digest: "two"}))
					}
					return func() {}, nil
				})}
			}, askingJudge())
			_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
			require.Equal(t, sentinel.CodeApprovalSuperseded, refusalOf(t, err).Code)
			require.Empty(t, b.runs())
			require.Equal(t, []string{"held", "decision", "outcome"}, b.rec.kinds())
			require.Equal(t, sentinel.CodeWithdrawn, b.rec.records[2].Code)
		})
	}
}
