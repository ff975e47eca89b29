package skillqueue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/orchestrator/skillqueue"
	"github.com/vedette-dev/vedette/sentinel"
)

// A call waits for its turn for ten seconds, which is less than its warrant lives. It
// starts when the one before it has ended.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := skillqueue.New("files.read", 1)
		leave, err := q.Enter(t.Context(), sentinel.Call{})
		require.NoError(t, err)
		require.Equal(t, admission.Stats{What: "calls of files.read", Used: 1, Process: 1, Users: 1}, q.Stats())

		began := time.Now()
		_, err = q.Enter(t.Context(), sentinel.Call{})
		require.ErrorIs(t, err, admission.ErrOverloaded)
		require.Equal(t, 10*time.Second, time.Since(began))

		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, err = q.Enter(ctx, sentinel.Call{})
		require.EqualError(t, err, "the caller left before it could start")

		go leave()
		leave, err = q.Enter(t.Context(), sentinel.Call{})
		require.NoError(t, err)
		leave()
		require.Zero(t, q.Stats().Used)
	})
}
