package orchestrator

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/telemetry"
	"github.com/vedette-dev/vedette/sentinel"
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

// readSpent is what was spent so far.
func readSpent(s *llm.Spent) (out Spent) {
	out.Tokens, out.Cost, out.Estimated = s.Read()
	return out
}

// plus is the sum of both.
func (s Spent) plus(o Spent) Spent {
	return Spent{s.Tokens + o.Tokens, s.Cost + o.Cost, s.Estimated || o.Estimated}
}

// modelCaller is a model that is asked on behalf of one agent, a question at a time.
type modelCaller struct {
	model agents.Model
	who   llm.Caller
	span  telemetry.Span
	asked atomic.Int64
}

// Chat asks the model. The questions are numbered: after a restart the same
// one has the same number, and is counted once by a server that knew it.
func (a *modelCaller) Chat(ctx context.Context, r llm.Request) (llm.Response, error) {
	who := a.who
	who.ID = fmt.Sprintf("%s:%d", who.Agent, a.asked.Add(1))
	return a.model.Chat(llm.WithCaller(a.span.In(ctx), who), r)
}

// callerOf is on whose behalf a model is asked: the turn's own, or an agent's.
func callerOf(g sentinel.Grant, agent string, spent *llm.Spent) llm.Caller {
	return llm.Caller{User: g.User(), Conversation: g.Conversation(), Turn: g.Turn(), Agent: agent, Spent: spent}
}

// turnSpending counts what turns spend against the budgets.
type turnSpending struct {
	parts   *assembly.Parts
	counted sync.Map // turns under way whose spending this process has counted, by id
}

// markCounted notes that this process counts the turn's spending. It reports whether
// the process did so before.
func (s *turnSpending) markCounted(turn string) bool {
	_, before := s.counted.LoadOrStore(turn, struct{}{})
	return before
}

// dropMark forgets that the turn's spending was counted.
func (s *turnSpending) dropMark(turn string) { s.counted.Delete(turn) }

// forgetTurn drops what was counted for a turn that is not gone on with.
func (s *turnSpending) forgetTurn(ctx context.Context, id string, g sentinel.Grant) {
	s.parts.EndTurn(context.WithoutCancel(ctx), g)
	s.dropMark(id)
}
