package loop

import (
	"context"
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// Prejudger judges the calls of an answer before the first of them is made. Prejudge
// returns when the calls are judged, or when ctx ends. Its findings bind no later
// decision.
type Prejudger interface {
	Prejudge(ctx context.Context, calls []skills.Proposed)
}

// Queue are the tool calls of the model's last answer.
type Queue struct {
	// Call is under way; without an id where none is.
	Call llm.ToolCall

	calls      []llm.ToolCall // still to be made
	hidden     []string       // ids of those whose secrets an earlier process did not keep
	fresh      bool           // calls are a new answer's
	prejudging otp.Ref        // what is judged before its turn, zero if nothing is
}

// CallsLeft are the calls that are still to be made, not to be changed.
func (q *Queue) CallsLeft() []llm.ToolCall { return q.calls }

// IsHidden reports whether the secrets of the call under way were not kept.
func (q *Queue) IsHidden() bool { return slices.Contains(q.hidden, q.Call.ID) }

// StopPrejudging ends what is judged ahead, with the answer whose calls it was for.
func (q *Queue) StopPrejudging(c *otp.Context) {
	if q.prejudging != 0 {
		c.CancelTask(q.prejudging)
		q.prejudging = 0
	}
}

// setCalls takes the calls of a new answer.
func (q *Queue) setCalls(calls []llm.ToolCall) { q.calls, q.fresh, q.hidden = calls, true, nil }

// takeNextCall makes the next call the one under way. It reports whether there is one.
func (q *Queue) takeNextCall() bool {
	if len(q.calls) == 0 {
		q.calls = nil
		return false
	}
	q.Call, q.calls = q.calls[0], q.calls[1:]
	return true
}

// takeNewAnswer reports once whether the calls are a new answer's.
func (q *Queue) takeNewAnswer() bool {
	fresh := q.fresh
	q.fresh = false
	return fresh
}
