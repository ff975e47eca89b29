package orchestrator

import (
	"context"
	"encoding/json"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// maxForetold is how many dispatches of an answer are judged ahead: a turn that
// may have more agents has them judged in their turn.
const maxForetold = 8

// foretell tells the desk of the dispatches of a new answer, so that they are
// judged while the first is under way.
func (t *turn) foretell(c *otp.Context) {
	if !t.unread {
		return
	}
	t.unread = false
	var list []skills.Proposed
	for _, k := range t.calls {
		if k.Name == toolDispatch {
			list = append(list, skills.Proposed{Skill: skillDispatch, Args: json.RawMessage(k.Arguments)})
		}
	}
	if len(list) < 2 {
		return
	}
	list, desk := list[:min(len(list), maxForetold)], t.desk
	t.ahead = c.Async(0, func(ctx context.Context) (any, error) {
		desk.Ahead(ctx, list)
		return nil, nil
	})
}

// foretold ends what is judged ahead, with the answer whose calls it was for.
func (t *turn) foretold(c *otp.Context) {
	if t.ahead != 0 {
		c.CancelTask(t.ahead)
		t.ahead = 0
	}
}
