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
