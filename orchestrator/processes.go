package orchestrator

import (
	"context"
	"errors"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/sentinel"
)

// readmitCall is sentinel.Options.Readmit: it returns when the approved call's turn
// and agent have their places. A call of no conversation has none to wait for.
func (o *Orchestrator) readmitCall(ctx context.Context, c sentinel.Call) error {
	m := markOf(ctx)
	if m == nil {
		return nil
	}
	if err := o.askForPlaces(ctx, c.Grant(), false); err != nil {
		return err
	}
	m.returned.Store(true)
	return nil
}

// askForPlaces waits in the call's own goroutine until its conversation says that
// the places are there. It ends with ctx, or when the turn is gone.
func (o *Orchestrator) askForPlaces(ctx context.Context, g sentinel.Grant, over bool) error {
	for {
		pid, ok := o.sys.Whereis(serverName(g.Conversation()))
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

func serverName(conversation string) string { return "conversation/" + conversation }

func supervisorName(conversation string) string { return "supervisor/" + conversation }

func agentsName(conversation string) string { return "agents/" + conversation }

func (o *Orchestrator) tellConversation(conversation string, msg any) {
	if o.sys == nil {
		return
	}
	if pid, ok := o.sys.Whereis(serverName(conversation)); ok {
		pid.Send(msg)
	}
}
