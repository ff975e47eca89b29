package orchestrator

import (
	"context"
	"errors"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// processes finds the processes of conversations by name and talks to them.
type processes struct{ sys *otp.System }

// readmitCall is sentinel.Options.Readmit: it returns when the approved call's turn
// and agent have their places. A call of no conversation has none to wait for.
func (p *processes) readmitCall(ctx context.Context, c sentinel.Call) error {
	m := findHeldMark(ctx)
	if m == nil {
		return nil
	}
	if err := p.askForPlaces(ctx, c.Grant(), false); err != nil {
		return err
	}
	m.returned.Store(true)
	return nil
}

// askForPlaces waits in the call's own goroutine until its conversation says that
// the places are there. It ends with ctx, or when the turn is gone.
func (p *processes) askForPlaces(ctx context.Context, g sentinel.Grant, over bool) error {
	for {
		pid, ok := p.sys.Whereis(serverName(g.Conversation()))
		if !ok {
			return errGone
		}
		asking, cancel := context.WithTimeout(ctx, placesTime)
		_, err := otp.Call(asking, pid, placesWanted{g.ID(), over})
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, otp.ErrTimeout):
			return err
		}
	}
}

// serverName is the name of the conversation's process.
func serverName(conversation string) string { return "conversation/" + conversation }

// supervisorName is the name of the conversation's supervisor.
func supervisorName(conversation string) string { return "supervisor/" + conversation }

// agentsName is the name of the supervisor of the conversation's agents.
func agentsName(conversation string) string { return "agents/" + conversation }

// tellConversation sends a message to the conversation's process. It reports whether
// there is one.
func (p *processes) tellConversation(conversation string, msg any) bool {
	if p.sys == nil {
		return false
	}
	pid, ok := p.sys.Whereis(serverName(conversation))
	if ok {
		pid.Send(msg)
	}
	return ok
}

// runNative passes an allowed agent.* call on to the conversation that it belongs to.
func (p *processes) runNative(ctx context.Context, order skills.Order) (skills.Result, error) {
	var args dispatchArgs
	if err := jsonv2.Unmarshal([]byte(order.Args), &args); err != nil { // the schema has seen them
		return skills.Result{}, newBadInput("%v", err)
	}
	pid, ok := p.sys.Whereis(serverName(order.Conversation))
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
