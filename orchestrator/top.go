package orchestrator

import (
	"os"
	"time"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/pause"
)

// Top is what a process is doing at one moment: for `vedette top`.
type Top struct {
	PID     int           `json:"pid"`
	Now     time.Time     `json:"now"`
	Started time.Time     `json:"started"`
	Pauses  []pause.Pause `json:"pauses"`
	// InFlight are the calls that wait for a person or run.
	InFlight []sentinel.InFlight `json:"in_flight"`
	// Tasks are goroutines under way for processes; Leaked are those of
	// processes that were abandoned because they did not stop.
	Tasks  int           `json:"tasks"`
	Leaked int           `json:"leaked"`
	Tree   []ProcessInfo `json:"tree"`
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
	Mailbox  int           `json:"mailbox"`
	Tasks    int           `json:"tasks"`
	Since    time.Time     `json:"since"`
	Children []ProcessInfo `json:"children,omitempty"`
}

// Top returns what the process is doing. It waits for no actor.
func (o *Orchestrator) Top() Top {
	return Top{
		PID: os.Getpid(), Now: time.Now(), Started: o.started, Pauses: o.parts.Pauses.List(),
		InFlight: o.parts.Checkpoint.InFlight(), Tasks: o.sys.Tasks(), Leaked: o.sys.Leaked(), Tree: shown(o.sys.Snapshot()),
	}
}

func shown(list []otp.ProcessInfo) []ProcessInfo {
	out := make([]ProcessInfo, len(list))
	for i, p := range list {
		out[i] = ProcessInfo{
			ID: p.ID, Type: p.Type.String(), State: p.State, Restart: p.Restart.String(), Restarts: p.Restarts,
			Mailbox: p.Mailbox, Tasks: p.Tasks, Since: p.Since, Children: shown(p.Children),
		}
	}
	return out
}
