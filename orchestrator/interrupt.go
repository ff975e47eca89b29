package orchestrator

import (
	"encoding/json"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/otp"
)

const cancelSchema = `{"type":"object","required":["agent_id"],"additionalProperties":false,"properties":{"agent_id":{"type":"string"},
	"after_current_call":{"type":"boolean",` +
	`"description":"Let the call that is under way finish and the agent report what it has; read it with get_agent_results."}}}`

// stop ends an agent because the orchestrator's model wants it ended: at once,
// or with what it has after the call under way. One that has not begun has
// nothing to report.
func (t *turn) stop(c *otp.Context, k *member) {
	var a struct {
		After bool `json:"after_current_call"`
	}
	_ = json.Unmarshal([]byte(t.call.Arguments), &a) // what isn't understood is the plain word: at once
	if !a.After || k.agent == nil {
		t.cancel(c, k, "cancelled by the orchestrator")
		return
	}
	if !k.current().Done() {
		k.send(agents.Interrupt{Reason: "interrupted by the orchestrator"})
	}
}
