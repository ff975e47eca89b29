package orchestrator

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/sentinel/pause"
)

// A pause for what can be no user's id would stop nothing and looks like one
// that does, so it is refused; one that was made before can be lifted.
func TestDoorKnowsWhoCanBePaused(t *testing.T) {
	r := start(t, with(), orch("go", "done"))
	d := door{r.parts, r.Orchestrator.log, r.Top, r.Status}
	for _, user := range []string{"*", "ann ", "ann,bob", "-ann", "a b"} {
		_, err := d.Pause(t.Context(), pause.Target{User: user}, "uid:0")
		require.ErrorIs(t, err, pause.ErrTarget, user)
		_, err = d.Lift(t.Context(), pause.Target{User: user}, "uid:0")
		require.NoError(t, err, user)
	}
	require.Empty(t, d.Pauses())
	for _, user := range []string{"ann", "ann@example.com", "team:7"} {
		_, err := d.Pause(t.Context(), pause.Target{User: user}, "uid:0")
		require.NoError(t, err, user)
	}
	require.Len(t, d.Pauses(), 3)
}

// Whether operators can come in is known.
func TestReachable(t *testing.T) {
	r := start(t, with(), orch("go", "done"))
	require.Eventually(t, func() bool { return r.Reachable(t.Context()) == nil }, eventually, tick)
	require.NoError(t, os.Remove(control.SocketPath(r.parts.Config.Ledger.Path)))
	require.ErrorIs(t, r.Reachable(t.Context()), control.ErrNotRunning)
}
