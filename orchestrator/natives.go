package orchestrator

import (
	"context"
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

// listNativeSkills are the orchestrator's own skills with what runs them: a message to
// the conversation that the call belongs to.
func listNativeSkills(run func(context.Context, skills.Order) (skills.Result, error)) []assembly.Native {
	var out []assembly.Native
	for _, spec := range assembly.NativeSpecs() {
		out = append(out, assembly.Native{Spec: spec, Run: run})
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
