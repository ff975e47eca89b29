package intake

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A question that is being put when the process ends is put all the same: cut off, it would be denied for good.
func TestQuestionsArePutAtTheEnd(t *testing.T) {
	for name, row := range map[string]struct {
		held bool
		took time.Duration
	}{"once it is on record": {true, 0}, "or its time is over": {false, putTime}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &flight{held: make(chan struct{})}
				ctx, cancel := context.WithCancel(t.Context())
				asking, end := f.questionContext(ctx)
				defer end()
				began := time.Now()
				cancel()
				synctest.Wait()
				require.NoError(t, asking.Err())
				if row.held {
					close(f.held)
				}
				<-asking.Done()
				require.Equal(t, row.took, time.Since(began))
			})
		})
	}
}

// No more requests are under way than there is room for, each once; one that fails is gone on with later, and one that
// panics takes no other with it.
func TestFlights(t *testing.T) {
	fs := newFlights(1, slog.New(slog.DiscardHandler))
	defer fs.close()
	leave := make(chan struct{})
	first, err := fs.begin(owner{request: "a"}, Answer{Status: Running}, func(context.Context, *flight) (Answer, error) {
		<-leave
		return Answer{Status: Completed}, nil
	})
	require.NoError(t, err)
	again, err := fs.begin(owner{request: "a"}, Answer{}, nil)
	require.NoError(t, err)
	require.Same(t, first, again)
	_, err = fs.begin(owner{request: "b"}, Answer{}, nil)
	require.ErrorIs(t, err, ErrBusy)
	require.ErrorIs(t, fs.makeRoom(), ErrBusy)
	require.NoError(t, fs.remindOf("b", err))
	close(leave)
	a, err := first.await(t.Context())
	require.NoError(t, err)
	require.Equal(t, Completed, a.Status)
	require.Nil(t, fs.find("a"))
	require.Equal(t, []string{"b"}, fs.takeDue(time.Time{}))
	require.Empty(t, fs.takeDue(time.Time{}))

	f, err := fs.begin(owner{request: "c"}, Answer{}, func(context.Context, *flight) (Answer, error) { panic("broken") })
	require.NoError(t, err)
	_, err = f.await(t.Context())
	require.Error(t, err)
	require.Equal(t, []string{"c"}, fs.takeDue(time.Time{}))

	at := time.Unix(100, 0)
	fs.remind("d", at)
	require.Empty(t, fs.takeDue(at.Add(-1)))
	require.Equal(t, []string{"d"}, fs.takeDue(at))

	fs.close()
	require.ErrorIs(t, fs.makeRoom(), ErrClosed)
	require.True(t, fs.isClosed())
	other := errors.New("another")
	require.ErrorIs(t, fs.remindOf("e", other), other)
}
