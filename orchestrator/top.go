package orchestrator

import (
	"strings"
	"time"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/sentinel"
)

// Top is what a process is doing at one moment: for `vedette top`.
type Top struct {
	PID     int             `json:"pid"`
	Now     time.Time       `json:"now"`
	Started time.Time       `json:"started"`
	Pauses  []control.Pause `json:"pauses"`
	// InFlight are the calls that wait for a person, for their places or for their skill,
	// or run.
	InFlight []sentinel.InFlight `json:"in_flight"`
	// Tasks are goroutines under way for processes; Leaked are those of
	// processes that were abandoned because they did not stop.
	Tasks  int `json:"tasks"`
	Leaked int `json:"leaked"`
	// CanaryFailed are the review's models that are wrong about calls whose
	// verdict is known.
	CanaryFailed []string `json:"canary_failed,omitempty"`
	// Draining is set where work is being finished and none is begun.
	Draining bool          `json:"draining,omitempty"`
	Tree     []ProcessInfo `json:"tree"`
}

// ProcessInfo is one process of the tree.
type ProcessInfo struct {
	ID string `json:"id"`
	// Type is supervisor or worker; State starting, idle, busy or stopping.
	Type     string `json:"type"`
	State    string `json:"state"`
	Restart  string `json:"restart"`
	Restarts int    `json:"restarts"`
	// Mailbox is how many messages wait; Tasks what is under way for it.
	Mailbox int       `json:"mailbox"`
	Tasks   int       `json:"tasks"`
	Since   time.Time `json:"since"`
	// LastExit is why the incarnation before this one ended, where that was not
	// with a sibling: a kind, and an error or a type, never a value.
	LastExit string `json:"last_exit,omitempty"`
	// Phase is what a conversation's server is at: reading, idle,
	// writing_request, asking_model, writing_round, calling, waiting_for_agents,
	// awaiting_approval or writing_end; PhaseSince since when; Turn the request.
	// An agent's Phase is its state, as in its result.
	Phase      string        `json:"phase,omitempty"`
	PhaseSince time.Time     `json:"phase_since,omitzero"`
	Turn       string        `json:"turn,omitempty"`
	Children   []ProcessInfo `json:"children,omitempty"`
}

// listProcesses adds to the processes what conversations show of themselves; at is the
// one that they are below of.
func listProcesses(list []otp.ProcessInfo, looks map[string]*conversationStatus, at *conversationStatus) []ProcessInfo {
	out := make([]ProcessInfo, len(list))
	for i, p := range list {
		below := at
		if id, ok := strings.CutPrefix(p.Name, supervisorName("")); ok {
			below = looks[id]
		}
		out[i] = ProcessInfo{
			ID: p.ID, Type: p.Type.String(), State: p.State, Restart: p.Restart.String(), Restarts: p.Restarts,
			Mailbox: p.Mailbox, Tasks: p.Tasks, Since: p.Since, LastExit: p.Before, Children: listProcesses(p.Children, looks, below),
		}
		if below != nil {
			out[i].addStatus(p, below)
		}
	}
	return out
}

// addStatus adds what a conversation shows of itself.
func (i *ProcessInfo) addStatus(p otp.ProcessInfo, l *conversationStatus) {
	if p.Name == serverName(l.conversation) {
		i.Phase, i.PhaseSince, i.Turn = l.phase, l.since, l.turn
		return
	}
	name, ok := strings.CutPrefix(p.ID, "agent-")
	for _, a := range l.listAgents() {
		if ok && a.Agent == name {
			i.Phase = string(a.State)
		}
	}
}
