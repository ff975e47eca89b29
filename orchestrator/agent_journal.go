package orchestrator

import (
	"context"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/orchestrator/history"
)

// agentJournal is the journal of one agent. It is used by the agent's process.
type agentJournal struct {
	journal *turnJournal
	filter  linkFilter
	k       *agentRun
}

// turnKey names the agent's turn for the journal.
func (j agentJournal) turnKey() history.Turn {
	g := j.k.desk.Grant()
	return history.Turn{Conversation: g.Conversation(), User: g.User(), Turn: g.Turn()}
}

// Round makes a round of the agent durable.
func (j agentJournal) Round(ctx context.Context, r agents.Round) error {
	g := j.k.desk.Grant()
	return j.writeUntilUp(ctx, history.NewItem(recordAgentRound,
		agentRecord{recordVersion, g.ID(), g.Tainted(), isTaintedBefore(g), r, readSpent(&j.k.spent)}))
}

// End makes the agent's result durable, for a restart and for people.
func (j agentJournal) End(ctx context.Context, r agents.Result) error {
	g := j.k.desk.Grant()
	end := history.NewItem(recordAgentEnd,
		agentEndRecord{recordVersion, g.ID(), g.Tainted(), isTaintedBefore(g), r, readSpent(&j.k.spent)})
	err := j.writeUntilUp(ctx, end, j.k.describeForPeople(j.filter, r))
	if err == nil {
		j.k.described.Store(true)
	}
	return err
}

// writeUntilUp writes what an agent did. While the store is down it tries again, for as
// long as ctx lets it: the agent's own time. An agent that waits loses nothing
// by it, and one that is ended for it would lose all it did. What was kept
// although it was not known may be written twice; savedTurn.takeItem knows.
func (j agentJournal) writeUntilUp(ctx context.Context, items ...history.Item) error {
	return j.journal.AddOnceUp(ctx, j.turnKey(), func() {
		j.journal.log.Error("an agent waits for the database to come back", "conversation", j.turnKey().Conversation, "agent", j.k.args.AgentID)
	}, items...)
}
