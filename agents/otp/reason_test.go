package otp

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a process ended with is final: a crash of a callback that outlived its
// kill does not become the reason that later watchers are told.
func TestReasonIsFinal(t *testing.T) {
	for name, row := range map[string]struct{ first, later Reason }{
		"killed, then its callback crashes": {Reason{Kind: KindKilled}, Crash(errors.New("late"))},
		"ended, then killed":                {Normal(), Reason{Kind: KindKilled}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &proc{}
			p.setReason(row.first, true)
			p.setReason(row.first, true) // until it is dead the last one counts
			p.mu.Lock()
			p.phase = phaseFrozen
			p.mu.Unlock()
			p.setReason(row.later, true)
			require.Equal(t, row.first, p.exitReason())
		})
	}
}

// The zero PID and the zero Reason are safe to use, and the latter counts as a failure.
func TestZeroValues(t *testing.T) {
	var pid PID
	pid.Send(1)
	require.Equal(t, []any{"none", "", true, false}, []any{pid.String(), pid.ID(), pid.IsZero(), pid.Alive()})
	require.True(t, Reason{}.Failed())
	require.Error(t, Reason{}.Err())
	require.ErrorIs(t, Reason{Kind: KindKilled}.Err(), ErrKilled)
	require.NoError(t, Normal().Err())
	require.Empty(t, Normal().Stack())
}

// A crash keeps the stack of the panic and the value, and its text shows neither.
func TestCrashKeepsItsStack(t *testing.T) {
	r := newRig(t)
	pid := r.start(worker("w", Temporary))
	pid.Send(boom)
	reason := r.ended(pid)
	require.Contains(t, reason.Stack(), "otp.boom")
	require.Equal(t, "boom", reason.Detail.(*Exit).Value)
	require.NotContains(t, reason.String(), "boom")
}
