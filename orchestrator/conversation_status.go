package orchestrator

import (
	"cmp"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents"
)

// What a conversation is at.
const (
	phaseReading = "reading" // the journal
	phaseIdle    = "idle"
	phaseOpening = "writing_request"
	phaseAsking  = "asking_model"
	phaseSaving  = "writing_round"
	phaseCalling = "calling"
	phaseWaiting = "waiting_for_agents"
	phaseHeld    = "awaiting_approval"
	phaseClosing = "writing_end"
)

// conversationStatus is a conversation as its process shows it: others read it without
// asking the process, which may be stuck.
type conversationStatus struct {
	conversation, request, turn string
	phase                       string
	since                       time.Time // of the phase
	members                     []agentStatus
}

type agentStatus struct {
	id    string
	agent *agents.Agent // nil for one that does not run
	state agents.State
}

// listAgents reads the states of the agents now.
func (l *conversationStatus) listAgents() []AgentInfo {
	out := make([]AgentInfo, len(l.members))
	for i, m := range l.members {
		out[i] = AgentInfo{m.id, m.state}
		if m.agent != nil {
			out[i].State = m.agent.Snapshot().State
		}
	}
	return out
}

// listStatuses returns what the conversations that run are at, by their ids.
func (o *Orchestrator) listStatuses() (out []*conversationStatus) {
	o.statuses.Range(func(_, v any) bool {
		l := v.(*conversationStatus)
		_, server := o.sys.Whereis(serverName(l.conversation))
		_, whole := o.sys.Whereis(supervisorName(l.conversation))
		if server || whole { // one that is being restarted is there
			out = append(out, l)
		} else {
			o.statuses.CompareAndDelete(l.conversation, v)
		}
		return true
	})
	slices.SortFunc(out, func(a, b *conversationStatus) int { return cmp.Compare(a.conversation, b.conversation) })
	return out
}
