package orchestrator

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// callQueue are the tool calls of the model's last answer.
type callQueue struct {
	call       llm.ToolCall   // that is under way; without an id where none is
	calls      []llm.ToolCall // still to be done
	hidden     []string       // ids of those whose secrets an earlier process did not keep
	unread     bool           // calls are a new answer's
	prejudging otp.Ref        // what is judged before its turn, zero if nothing is
}

// setCalls takes the calls of a new answer.
func (q *callQueue) setCalls(calls []llm.ToolCall) {
	q.calls, q.unread, q.hidden = orderDispatches(calls), true, nil
}

// takeNextCall makes the next call the one under way. It reports whether there is one.
func (q *callQueue) takeNextCall() bool {
	if len(q.calls) == 0 {
		return false
	}
	q.call, q.calls = q.calls[0], q.calls[1:]
	return true
}

// isHidden reports whether the secrets of the call under way were not kept.
func (q *callQueue) isHidden() bool { return slices.Contains(q.hidden, q.call.ID) }

// maxPrejudged is how many dispatches of an answer are judged ahead. Further ones are
// judged in their turn.
const maxPrejudged = 8

// prejudgeDispatches tells the desk of the dispatches of a new answer. So the desk judges
// them while the first is under way.
func (q *callQueue) prejudgeDispatches(c *otp.Context, desk *sentinel.Desk) {
	if !q.unread {
		return
	}
	q.unread = false
	var list []skills.Proposed
	for _, k := range q.calls {
		if k.Name == toolDispatch {
			list = append(list, skills.Proposed{Skill: skillDispatch, Args: json.RawMessage(k.Arguments)})
		}
	}
	if len(list) < 2 {
		return
	}
	list = list[:min(len(list), maxPrejudged)]
	q.prejudging = c.Async(0, func(ctx context.Context) (any, error) {
		desk.Prejudge(ctx, list)
		return nil, nil
	})
}

// stopPrejudging ends what is judged ahead, with the answer whose calls it was for.
func (q *callQueue) stopPrejudging(c *otp.Context) {
	if q.prejudging != 0 {
		c.CancelTask(q.prejudging)
		q.prejudging = 0
	}
}

// maxPeek bounds what is read of arguments before the checkpoint has judged
// them; it refuses longer ones.
const maxPeek = 1 << 20

// peekArguments reads arguments to route a call. What it can't read is empty: the
// checkpoint judges the bytes themselves and says what is wrong with them.
func peekArguments(k llm.ToolCall) (a dispatchArgs) {
	if len(k.Arguments) <= maxPeek {
		_ = json.Unmarshal([]byte(k.Arguments), &a)
	}
	return a
}

// orderDispatches puts the dispatches of one answer after those they depend on. So the model
// may name dispatches in any order; all other calls keep their places. Dispatches in
// a circle are refused later, because each depends on an agent that no call has
// dispatched.
func orderDispatches(calls []llm.ToolCall) []llm.ToolCall {
	type dispatch struct {
		call llm.ToolCall
		args dispatchArgs
	}
	var rest []dispatch
	unplaced := map[string]int{}
	for _, k := range calls {
		if k.Name == toolDispatch {
			a := peekArguments(k)
			rest = append(rest, dispatch{k, a})
			unplaced[a.AgentID]++
		}
	}
	out := slices.Clone(calls)
	for i := range out {
		if out[i].Name != toolDispatch {
			continue
		}
		n := max(0, slices.IndexFunc(rest, func(d dispatch) bool {
			return !slices.ContainsFunc(d.args.DependsOn, func(id string) bool { return unplaced[id] > 0 })
		}))
		out[i] = rest[n].call
		unplaced[rest[n].args.AgentID]--
		rest = slices.Delete(rest, n, n+1)
	}
	return out
}
