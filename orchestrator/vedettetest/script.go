package vedettetest

import (
	"encoding/json"
	"fmt"
)

// The tools that models are given. A test of this package asks a real turn for them.
const (
	toolDispatch = "dispatch_agent"
	toolResults  = "get_agent_results"
	toolUseSkill = "use_skill"
	toolHelp     = "request_help"
)

// Call is one call of a scripted model.
type Call struct {
	name      string
	arguments map[string]any
}

// MarshalJSON implements json.Marshaler: a call as the script has it.
func (c Call) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"name": c.name, "arguments": c.arguments})
}

// Dispatch starts an agent with a mission and skills.
func Dispatch(agent, mission string, skills ...string) Call {
	return Call{toolDispatch, map[string]any{"agent_id": agent, "mission": mission, "skills": append([]string{}, skills...)}}
}

// Await waits until all agents have ended.
func Await() Call {
	return Call{toolResults, map[string]any{"mode": "wait_all", "timeout_seconds": 60}}
}

// Use calls a skill, from an agent.
func Use(skill string, arguments map[string]any) Call {
	if arguments == nil {
		arguments = map[string]any{}
	}
	return Call{toolUseSkill, map[string]any{"skill": skill, "arguments": arguments}}
}

// Part is what one model plays: the orchestrator's for a request, or an agent's for a mission.
type Part struct{ rules []rule }

// rule is one rule of a script, as package scripted reads it.
type rule map[string]any

// Orchestrator plays the orchestrator's model for requests that contain a text. A round is a
// text, a Call, or a []Call; the text is the answer.
func Orchestrator(request string, rounds ...any) Part {
	return Part{playRounds(rule{"has_tool": toolDispatch, "last_user_contains": request}, rounds)}
}

// Agent plays the model of agents whose mission contains a text, round by round as
// Orchestrator does.
func Agent(mission string, rounds ...any) Part {
	rules := playRounds(rule{"has_tool": toolHelp, "user_contains": mission}, rounds)
	last := rule{"when": rule{"has_tools": false, "user_contains": mission}, "reply": rule{"content": "my calls are spent"}}
	return Part{append(rules, last)}
}

// playRounds makes a rule of each round. Rounds are told apart by how many results of calls the model
// has been given.
func playRounds(when rule, rounds []any) (out []rule) {
	seen := 0
	for _, round := range rounds {
		w := rule{"tool_results": seen}
		for k, v := range when {
			w[k] = v
		}
		reply := rule{}
		switch r := round.(type) {
		case string:
			reply["content"] = r
		case Call:
			reply["tool_calls"] = []Call{r}
			seen++
		case []Call:
			reply["tool_calls"] = r
			seen += len(r)
		default:
			panic(fmt.Sprintf("vedettetest: a round is a text, a Call or a []Call, not a %T", round))
		}
		out = append(out, rule{"when": w, "reply": reply})
	}
	return out
}
