package eval

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
)

// endsRun is a decider whose first decision ends the run.
type endsRun struct{}

func (endsRun) NewCall(sentinel.Proposal) (sentinel.Call, error) { return sentinel.Call{}, nil }

func (endsRun) Decide(context.Context, sentinel.Call) (sentinel.Decision, error) {
	return sentinel.Decision{}, &Away{Model: "fast", Failure: auth}
}

// A case that ends the run keeps its slot, so that no further case begins in the
// moment before the other workers are stopped.
func TestEndedRunKeepsSlot(t *testing.T) {
	e, s := NewEvaluator(Options{Decider: endsRun{}}), make(slots, 1)
	line := []byte(`{"id":"a","original_request":"Find mail","proposed_action":{"skill_name":"email.search","arguments":{}}}`)
	work := make(chan pendingLine, 2)
	for n := range 2 {
		work <- pendingLine{n, line, make(chan Result, 1), make(chan struct{})}
	}
	var away *Away
	require.ErrorAs(t, e.decideTasks(t.Context(), work, s), &away)
	require.Len(t, s, 1, "the slot of the case that ended the run stays taken")
	require.Len(t, work, 1, "the next case isn't begun")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, e.decideTasks(ended, work, s), "a worker that waits for the slot ends with the run")
}
