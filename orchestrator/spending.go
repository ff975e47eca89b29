package orchestrator

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/telemetry"
)

// Spent is what questions to models came to. Agents' own are part of their
// turn's.
type Spent struct {
	Tokens int64 `json:"tokens"`
	// Cost is in millionths of the currency that models.*.price is in.
	Cost int64 `json:"cost,omitempty"`
	// Estimated is set where a server did not tell its tokens.
	Estimated bool `json:"estimated,omitempty"`
}

func readSpent(s *assembly.Spent) (out Spent) {
	out.Tokens, out.Cost, out.Estimated = s.Read()
	return out
}

func (s Spent) plus(o Spent) Spent {
	return Spent{s.Tokens + o.Tokens, s.Cost + o.Cost, s.Estimated || o.Estimated}
}

// modelCaller is a model that is asked on behalf of one agent, a question at a time.
type modelCaller struct {
	model agents.Model
	who   assembly.Caller
	span  telemetry.Span
	asked atomic.Int64
}

// Chat asks the model. The questions are numbered: after a restart the same
// one has the same number, and is counted once by a server that knew it.
func (a *modelCaller) Chat(ctx context.Context, r llm.Request) (llm.Response, error) {
	who := a.who
	who.ID = fmt.Sprintf("%s:%d", who.Agent, a.asked.Add(1))
	return a.model.Chat(assembly.As(a.span.In(ctx), who), r)
}

// recountSpending takes what was spent before a restart: by the turn's own questions
// and by its agents. Where the whole program is new it is counted again: a crash
// of the conversation, or of the supervisor of all, has left the counts as they
// were. It runs in the
// task that reads the journal.
func (t *turn) recountSpending(ctx context.Context, own Spent, agents map[string]Spent, count bool) {
	again := func(agent string, spent *assembly.Spent, s Spent, id string) {
		if s.Tokens == 0 && s.Cost == 0 {
			return
		}
		spent.Add(s.Tokens, s.Cost, s.Estimated)
		if !count {
			return
		}
		who := t.callerFor(agent, nil)
		who.ID = id + ":before"
		t.o.parts.Spend(ctx, who, s.Tokens, s.Cost)
	}
	again("", &t.spent, own, t.desk.Grant().ID())
	for _, k := range t.members {
		id := k.desk.Grant().ID()
		again(id, &k.spent, agents[id], id)
	}
}

// callerFor is on whose behalf a model is asked: the turn's own, or an agent's.
func (t *turn) callerFor(agent string, spent *assembly.Spent) assembly.Caller {
	g := t.desk.Grant()
	return assembly.Caller{User: g.User(), Conversation: g.Conversation(), Turn: g.Turn(), Agent: agent, Spent: spent}
}
