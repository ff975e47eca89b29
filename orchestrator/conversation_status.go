package orchestrator

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/otp"
)

// What a conversation is at.
const (
	statusReading = "reading" // the journal
	statusIdle    = "idle"
	statusOpening = "writing_request"
	statusAsking  = "asking_model"
	statusSaving  = "writing_round"
	statusCalling = "calling"
	statusWaiting = "waiting_for_agents"
	statusHeld    = "awaiting_approval"
	statusClosing = "writing_end"
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

// statusTable is what the conversations of the process are at.
type statusTable struct{ byID sync.Map }

// putStatus puts up what a conversation is at.
func (t *statusTable) putStatus(s *conversationStatus) { t.byID.Store(s.conversation, s) }

// removeStatus takes a status down, unless another has taken its place.
func (t *statusTable) removeStatus(id string, s *conversationStatus) { t.byID.CompareAndDelete(id, s) }

// listStatuses returns what the conversations that run are at, by their ids.
func (t *statusTable) listStatuses(sys *otp.System) (out []*conversationStatus) {
	t.byID.Range(func(_, v any) bool {
		l := v.(*conversationStatus)
		_, server := sys.Whereis(serverName(l.conversation))
		_, whole := sys.Whereis(supervisorName(l.conversation))
		if server || whole { // one that is being restarted is there
			out = append(out, l)
		} else {
			t.byID.CompareAndDelete(l.conversation, v)
		}
		return true
	})
	slices.SortFunc(out, func(a, b *conversationStatus) int { return cmp.Compare(a.conversation, b.conversation) })
	return out
}
