package agents

import (
	"context"
	"encoding/json"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// Foreteller judges the calls of an answer before the agent invokes the first of
// them. An Invoker may be one. Prejudge returns when the calls are judged, or when ctx
// ends. Its findings bind no later decision.
type Foreteller interface {
	Prejudge(ctx context.Context, calls []skills.Proposed)
}

// prejudgeCalls tells the desk of the calls of a new answer, as many as the budget
// has room for and up to a call for help, which may change what the agent
// holds.
func (w *worker) prejudgeCalls(c *otp.Context) {
	f, ok := w.a.o.Invoker.(Foreteller)
	if !ok || w.last || w.interrupted != "" {
		return
	}
	var list []skills.Proposed
	for _, k := range w.queue[:min(len(w.queue), max(0, w.a.o.Calls-w.calls))] {
		if k.Name == ToolRequestHelp {
			break
		}
		if k.Name != ToolUseSkill {
			continue // of a tool that doesn't exist
		}
		if skill, args, err := proposal(k.Arguments); err == nil {
			list = append(list, skills.Proposed{Skill: skill, Args: json.RawMessage(args)})
		}
	}
	if len(list) < 2 {
		return
	}
	w.ahead = c.Async(0, func(ctx context.Context) (any, error) {
		f.Prejudge(ctx, list)
		return nil, nil
	})
}

// stopPrejudging ends what is judged ahead, with the answer whose calls it was for.
func (w *worker) stopPrejudging(c *otp.Context) {
	if w.ahead != 0 {
		c.CancelTask(w.ahead)
		w.ahead = 0
	}
}
