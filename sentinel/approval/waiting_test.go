package approval_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// sameLists compares what an inbox lists with what the database holds, by many filters and page by page.
func (o *office) sameLists() {
	o.t.Helper()
	ctx := context.WithoutCancel(o.t.Context())
	for _, f := range []approval.Filter{
		{}, {State: approval.StatePending}, {Conversation: "c1"}, {User: "u2"}, {Conversation: "c1", User: "u1"}, {Skill: "email.send"},
		{Limit: 3}, {Skill: "no.skill"}, {All: true},
	} {
		for {
			want, err := approval.List(ctx, o.st.Reader(), f, o.clock.Now())
			require.NoError(o.t, err)
			got, err := o.List(ctx, f)
			require.NoError(o.t, err)
			require.Len(o.t, got, len(want), "%+v", f)
			for i := range want {
				require.Equal(o.t, want[i], got[i], "%+v", f)
			}
			if f.Limit == 0 || len(got) == 0 {
				break
			}
			f.After = got[len(got)-1].ID
		}
	}
}

// Whatever is asked, answered, decided, erased, or fails on its way, an inbox lists what the database holds.
func TestListsAreWhatTheDatabaseHolds(t *testing.T) {
	for seed := range uint64(20) {
		o := newOffice(t, approval.Rule{Users: []string{"u2"}, Min: 2})
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // cases of a test
		pick := func() string { return fmt.Sprintf("d%d", random.IntN(12)) }
		broken := errors.New("the submission fails")
		for step := range 60 {
			id := pick()
			switch random.IntN(9) {
			case 0, 1, 2:
				n := random.IntN(4)
				if _, err := o.Show(t.Context(), id); err != nil {
					o.put(matter{id: id, user: fmt.Sprint("u", n%3), conversation: fmt.Sprint("c", n%2), turn: fmt.Sprint("t", n)})
				}
			case 3:
				_, _ = o.Answer(t.Context(), approval.Answer{Approval: id, Word: approval.Yes, By: fmt.Sprint("bob", random.IntN(3)), Via: "test"})
			case 4:
				_, _ = o.Answer(t.Context(), approval.Answer{Approval: id, Word: approval.No, By: "bob", Via: "test"})
			case 5:
				require.NoError(t, o.st.Submit(t.Context(), func(tx *store.Tx) error {
					return o.CloseTx(tx, sentinel.Record{Kind: sentinel.RecordDecision, DecisionID: id, Outcome: "allow"})
				}))
			case 6: // one that is undone
				require.ErrorIs(t, o.st.Submit(t.Context(), func(tx *store.Tx) error {
					_, err := o.ForgetTx(tx, "u1", "")
					return errors.Join(err, o.CloseTx(tx, sentinel.Record{Kind: sentinel.RecordDecision, DecisionID: id, Outcome: "deny"}), broken)
				}), broken)
			case 7:
				if random.IntN(4) == 0 {
					require.NoError(t, o.st.Submit(t.Context(), func(tx *store.Tx) error {
						_, err := o.ForgetTx(tx, "", fmt.Sprint("c", random.IntN(2)))
						return err
					}))
				}
			case 8:
				if o.clock.Shift(time.Minute); random.IntN(6) == 0 {
					o.restart()
				}
			}
			if step%3 == 0 {
				o.sameLists()
			}
		}
		o.sameLists()
	}
}

// A list while questions come and go has each question that was there before and is there after it.
func TestListsWhileQuestionsComeAndGo(t *testing.T) {
	o := newOffice(t)
	for n := range 5 {
		o.put(matter{id: fmt.Sprint("stays", n)})
	}
	var writers, readers sync.WaitGroup
	writers.Go(func() {
		for n := range 100 {
			id := fmt.Sprint("d", n)
			c, d := matter{id: id}.make(t)
			d.Expires = o.clock.Now().Add(asking)
			answered := make(chan error, 1)
			go func() {
				_, err := o.Approve(t.Context(), c, d)
				answered <- err
			}()
			for {
				_, err := o.Answer(t.Context(), approval.Answer{Approval: id, Word: approval.No, By: "bob", Via: "test"})
				if !errors.Is(err, approval.ErrUnknown) {
					break
				}
				runtime.Gosched()
			}
			if err := <-answered; err != nil {
				t.Error(err)
			}
		}
	})
	for range 3 {
		readers.Go(func() {
			for range 100 {
				list, err := o.List(t.Context(), approval.Filter{})
				if err != nil {
					t.Error(err)
				}
				stay := 0
				for _, i := range list {
					if len(i.ID) > 4 {
						stay++
					}
				}
				if stay != 5 {
					t.Errorf("%d of 5 questions that wait are listed", stay)
				}
			}
		})
	}
	writers.Wait()
	readers.Wait()
	o.sameLists()
}
