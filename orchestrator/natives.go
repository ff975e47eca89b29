package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/skills"
)

// The orchestrator's own skills. Their effect is create and inward; they count
// against turn.agents alone.
const (
	skillDispatch = "agent.dispatch"
	skillUpdate   = "agent.update"
	skillExtend   = "agent.extend"
)

// isNativeSkill reports whether the skill is one of the orchestrator's own.
func isNativeSkill(name string) bool { return strings.HasPrefix(name, "agent.") }

const agentID = `"agent_id":{"type":"string","pattern":"^[a-z][a-z0-9_-]{0,63}$"}`

var nativeSchemas = map[string]string{
	skillDispatch: `{"type":"object","required":["agent_id","mission","skills"],"additionalProperties":false,"properties":{` + agentID + `,
		"mission":{"type":"string","minLength":1,"maxLength":8000,"x-content":true},
		"skills":{"type":"array","items":{"type":"string"},"maxItems":64},
		"context":{"type":"string","maxLength":32000,"x-content":true},
		"depends_on":{"type":"array","items":{"type":"string"},"maxItems":16},
		"max_tool_calls":{"type":"integer","minimum":1,"maximum":20},
		"model":{"type":"string"}}}`,
	skillUpdate: `{"type":"object","required":["agent_id","message"],"additionalProperties":false,"properties":{` + agentID + `,
		"message":{"type":"string","minLength":1,"maxLength":8000,"x-content":true}}}`,
	skillExtend: `{"type":"object","required":["agent_id","message"],"additionalProperties":false,"properties":{` + agentID + `,
		"message":{"type":"string","minLength":1,"maxLength":8000,"x-content":true},
		"skills":{"type":"array","items":{"type":"string"},"maxItems":64}}}`,
}

var nativeDescriptions = map[string]string{
	skillDispatch: "Start a sub-agent with a mission and a scope of skills.",
	skillUpdate:   "Give a running sub-agent more information.",
	skillExtend:   "Answer a sub-agent's request for help, and grant it more skills.",
}

// listNativeSkills are the orchestrator's own skills with what runs them: a message to
// the conversation that the call belongs to.
func listNativeSkills(run func(context.Context, skills.Order) (skills.Result, error)) []assembly.Native {
	var out []assembly.Native
	for _, name := range []string{skillDispatch, skillUpdate, skillExtend} {
		out = append(out, assembly.Native{
			Spec: skills.Spec{
				Name: name, Description: nativeDescriptions[name], Effect: skills.Create, Reaches: skills.Self,
				Output: skills.Trusted, Parameters: json.RawMessage(nativeSchemas[name]), Run: skills.Run{Kind: "native"},
				// What they change is the conversation's process, which knows a call by
				// its id.
				Idempotent: true,
			},
			Run: run,
		})
	}
	return out
}

type nativeCall struct {
	grant string // whose call it is
	call  string
	skill string
	args  dispatchArgs
}

// errGone is a conversation that crashed, and its agents with it. It does not
// speak against the skill, whose breaker all conversations share, and the call
// is made again once the turn has been restored.
var errGone = &skills.Failure{Code: skills.FailCanceled, Unknown: true, Err: errors.New("the conversation is gone")}

// errWithdrawn is a turn, or an agent, whose end is written down. Its calls are wanted no
// more, and nothing will ask about them again.
var errWithdrawn = fmt.Errorf("the call has no turn to go on in: %w", skills.ErrWithdrawn)
