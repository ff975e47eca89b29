package orchestrator

import (
	"encoding/json"
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
)

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
