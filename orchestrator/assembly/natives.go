package assembly

import (
	"encoding/json"

	"github.com/vedette-dev/vedette/sentinel/scope"
	"github.com/vedette-dev/vedette/skills"
)

const agentID = `"agent_id":{"type":"string","pattern":"^[a-z][a-z0-9_-]{0,63}$"}`

var nativeSchemas = map[string]string{
	scope.SkillDispatch: `{"type":"object","required":["agent_id","mission","skills"],"additionalProperties":false,"properties":{` +
		agentID + `,
		"mission":{"type":"string","minLength":1,"maxLength":8000,"x-content":true},
		"skills":{"type":"array","items":{"type":"string"},"maxItems":64},
		"context":{"type":"string","maxLength":32000,"x-content":true},
		"depends_on":{"type":"array","items":{"type":"string"},"maxItems":16},
		"max_tool_calls":{"type":"integer","minimum":1,"maximum":20},
		"model":{"type":"string"}}}`,
	skillUpdate: `{"type":"object","required":["agent_id","message"],"additionalProperties":false,"properties":{` + agentID + `,
		"message":{"type":"string","minLength":1,"maxLength":8000,"x-content":true}}}`,
	scope.SkillExtend: `{"type":"object","required":["agent_id","message"],"additionalProperties":false,"properties":{` + agentID + `,
		"message":{"type":"string","minLength":1,"maxLength":8000,"x-content":true},
		"skills":{"type":"array","items":{"type":"string"},"maxItems":64}}}`,
}

var nativeDescriptions = map[string]string{
	scope.SkillDispatch: "Start a sub-agent with a mission and a scope of skills.",
	skillUpdate:         "Give a running sub-agent more information.",
	scope.SkillExtend:   "Answer a sub-agent's request for help, and grant it more skills.",
}

// NativeSchema returns the schema of the arguments of one of the orchestrator's own skills.
func NativeSchema(name string) json.RawMessage { return json.RawMessage(nativeSchemas[name]) }

// NativeSpecs returns the orchestrator's own skills, by which its model hands work to agents. Their effect is
// create and inward.
func NativeSpecs() []skills.Spec {
	var out []skills.Spec
	for _, name := range []string{scope.SkillDispatch, skillUpdate, scope.SkillExtend} {
		out = append(out, skills.Spec{
			Name: name, Description: nativeDescriptions[name], Effect: skills.Create, Reaches: skills.Self,
			Output: skills.Trusted, Parameters: NativeSchema(name), Run: skills.Run{Kind: "native"},
			// What they change is the conversation's process, which knows a call by
			// its id.
			Idempotent: true,
		})
	}
	return out
}
