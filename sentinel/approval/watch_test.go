package approval_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// kindsOf are the changes that wait for a reader.
func kindsOf(c <-chan approval.Change) (out []string) {
	for {
		select {
		case got := <-c:
			out = append(out, fmt.Sprint(got.Kind, " ", got.Item.ID, " ", got.Item.State))
		default:
			return out
		}
	}
}

// A reader is told of each change once it is on disk, until its context ends.
func TestWatch(t *testing.T) {
	o := newOffice(t)
	o.put(matter{id: "before", user: "dan"})
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, cancel := context.WithCancel(t.Context())
	changes, err := o.Watch(ctx)
	require.NoError(t, err)
	o.put(matter{})
	o.mustSay("d1", approval.Yes, "bob")
	_, err = o.say("d1", approval.Yes, "cat")
	require.Error(t, err)
	broken := errors.New("the record can't be written")
	allowed := sentinel.Record{Kind: sentinel.RecordDecision, DecisionID: "d1", Outcome: "allow"}
	require.ErrorIs(t, o.st.Submit(t.Context(), func(tx *store.Tx) error {
		return errors.Join(o.CloseTx(tx, allowed), broken)
	}), broken)
	require.NoError(t, o.st.Submit(t.Context(), func(tx *store.Tx) error { return o.CloseTx(tx, allowed) }))
	require.NoError(t, o.st.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := o.ForgetTx(tx, "ann", "")
		return err
	}))
	require.Equal(t, []string{"asked d1 pending", "answered d1 approved", "ended d1 consumed", "forgotten d1 "}, kindsOf(changes))
	cancel()
	for range changes { // until it is closed
		continue
	}
	o.put(matter{id: "d2"}) // and no more is sent
}

// A reader who is too slow is told of the gap, once, and hears of what follows once it has caught up.
// It slows nothing.
func TestWatchSlowReader(t *testing.T) {
	o := newOffice(t)
	changes, err := o.Watch(t.Context())
	require.NoError(t, err)
	for n := range 70 {
		o.put(matter{id: fmt.Sprint("d", n)})
	}
	got := kindsOf(changes)
	require.Len(t, got, 65)
	require.Equal(t, "asked d63 pending", got[63])
	require.Equal(t, "gap  ", got[64])
	o.put(matter{id: "after"})
	require.Equal(t, []string{"asked after pending"}, kindsOf(changes))
}

// Readers are bounded, and one who leaves makes room.
func TestWatchIsBounded(t *testing.T) {
	o := newOffice(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, leave := context.WithCancel(ctx)
	changes, err := o.Watch(first)
	require.NoError(t, err)
	for range approval.MaxWatchers - 1 {
		_, err := o.Watch(ctx)
		require.NoError(t, err)
	}
	_, err = o.Watch(ctx)
	require.ErrorIs(t, err, approval.ErrWatchers)
	leave()
	_, open := <-changes
	require.False(t, open)
	_, err = o.Watch(ctx)
	require.NoError(t, err)
}

// One declined call of a batch ends nothing for the others: each has its own answer.
func TestBatchOfThreeAnswersEach(t *testing.T) {
	o := newOffice(t)
	var outs []<-chan told
	for n := range 3 {
		out, leave := o.ask(matter{id: fmt.Sprint("d", n)})
		t.Cleanup(leave)
		outs = append(outs, out)
	}
	i := o.item("d1")
	require.Equal(t, []int{2, 3}, []int{i.Place, i.Of})
	o.mustSay("d1", approval.No, "bob")
	require.Equal(t, approval.CodeDenied, receive(t, outs[1]).v.Code)
	require.Empty(t, outs[0])
	require.Empty(t, outs[2])
	i = o.item("d2")
	require.Equal(t, []int{2, 2}, []int{i.Place, i.Of})
	o.mustSay("d2", approval.Yes, "bob")
	o.mustSay("d0", approval.Yes, "cat")
	require.Equal(t, "cat", receive(t, outs[0]).v.Meta["by"])
	require.Equal(t, "bob", receive(t, outs[2]).v.Meta["by"])
}
