package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/vedette-dev/vedette/agents/otp"
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
func (o *Orchestrator) listNativeSkills() []assembly.Native {
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
			Run: o.runNative,
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

// errWithdrawn is a turn, or an agent, whose end is written down: its calls are
// wanted no more, and nothing will ask about them again.
var errWithdrawn = fmt.Errorf("the call has no turn to go on in: %w", skills.ErrWithdrawn)

func (o *Orchestrator) runNative(ctx context.Context, order skills.Order) (skills.Result, error) {
	var args dispatchArgs
	if err := jsonv2.Unmarshal([]byte(order.Args), &args); err != nil { // the schema has seen them
		return skills.Result{}, newBadInput("%v", err)
	}
	pid, ok := o.sys.Whereis(serverName(order.Conversation))
	if !ok {
		return skills.Result{}, errGone
	}
	ctx, cancel := withDeadline(ctx, 10*time.Second)
	defer cancel()
	v, err := otp.Call(ctx, pid, nativeCall{order.GrantID, order.CallID, order.Skill, args})
	if errors.Is(err, otp.ErrNoProcess) {
		return skills.Result{}, errGone
	}
	if err != nil {
		return skills.Result{}, err
	}
	return skills.Result{Content: v.(string), Isolation: "in process"}, nil
}

// dispatchArgs are the arguments of all three; each schema admits its own.
type dispatchArgs struct {
	AgentID      string   `json:"agent_id"`
	Mission      string   `json:"mission"`
	Skills       []string `json:"skills"`
	Context      string   `json:"context"`
	DependsOn    []string `json:"depends_on"`
	MaxToolCalls int      `json:"max_tool_calls"`
	Model        string   `json:"model"`
	Message      string   `json:"message"`
}
