package orchestrator

import (
	"log/slog"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/telemetry"
)

// The layers of this package, from below: agentRun, turn, conversation, recovery,
// Orchestrator. Each calls only those below it. A conversation sees what its turn has
// come to when the turn's method returns, and reaches the recovery through recaller.

// turnNeeds is what turns and their agents need from outside. None of it knows a turn.
type turnNeeds struct {
	processes
	parts    *assembly.Parts
	journal  turnJournal
	models   roleModels
	pools    pools
	outages  databaseOutages
	spending turnSpending
	tel      *telemetry.Telemetry // nil without telemetry
	tune     tuning
	log      *slog.Logger
	watcher  agentWatcher
	ending   lifecycle
}

// conversationNeeds is what conversations need besides.
type conversationNeeds struct {
	turnNeeds
	statuses  statusTable
	abandoned abandonedRequests
	eventLogs eventTable
	recovery  recaller
}

// roleModels are the models that turns and agents ask. agents is for agents whose dispatch
// names no model; parts has those that a dispatch may name.
type roleModels struct {
	orchestrator, agents agents.Model
	parts                *assembly.Parts
}

// findAgentModel returns the model of that name, the role's own where the name is
// empty, nil where there is none.
func (m *roleModels) findAgentModel(name string) agents.Model {
	if name == "" {
		return m.agents
	}
	found, ok := m.parts.NamedModel(name)
	if !ok {
		return nil
	}
	return found
}

// agentWatcher is the program's own function that is told of agents.
type agentWatcher struct {
	onAgent func(conversation string, r agents.Result) // nil where the program wants none
	log     *slog.Logger
}

// tellAgentResult tells the program what an agent has come to.
func (w *agentWatcher) tellAgentResult(conversation string, r agents.Result) {
	if w.onAgent == nil {
		return
	}
	defer func() {
		if recover() != nil {
			w.log.Error("the watcher of agents panicked")
		}
	}()
	w.onAgent(conversation, r)
}
