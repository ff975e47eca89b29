package models

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/limits"
)

const (
	// answerTokens is what an answer is bounded to where a budget must know and
	// models.*.max_tokens does not say.
	answerTokens = 4096
	// lastTokens is the same for an agent's last question, which its own budget
	// does not bound.
	lastTokens = 1024
	// holdPause is how long a question waits before it asks for room again, where other
	// questions may leave some. The pause keeps no other question from the model.
	holdPause = 50 * time.Millisecond
	// million is the tokens of a price.
	million = 1_000_000
)

// Price is what a million tokens cost, in millionths of the prices' currency.
type Price struct{ Input, Output int64 }

// Budgets hold room for questions and count what they came to.
type Budgets interface {
	Hold(ctx context.Context, s limits.Spending) (limits.Verdict, error)
	Spend(ctx context.Context, s limits.Spending) error
}

// budget pays for the questions to one model.
type budget struct {
	budgets   Budgets // nil bounds nothing
	price     Price
	maxTokens int // of an answer, 0 for the server's own bound
	// timeout is the longest that a question can be under way. So it is the longest to wait
	// for what a question may leave.
	timeout time.Duration
	log     *slog.Logger
}

// errNoRoom says that a budget has room but for what other questions hold and may leave.
var errNoRoom = errors.New("others hold what the budget has left")

// holdRoom takes room for the most that the question can come to, and bounds its
// answer to that. A question without tools is an agent's last. Since begun it
// has been waiting for others: errNoRoom says that it may go on to.
func (b budget) holdRoom(ctx context.Context, who llm.Caller, model string, r *llm.Request, begun time.Time) (limits.Spending, error) {
	s := limits.Spending{
		ID: who.ID + "/" + model, User: who.User, Conversation: who.Conversation, Turn: who.Turn, Agent: who.Agent,
		Last: who.Agent != "" && len(r.Tools) == 0,
	}
	if r.MaxTokens == 0 {
		r.MaxTokens = b.maxTokens
	}
	if b.budgets == nil || who.Turn == "" { // a question outside of any turn has no budget
		return s, nil
	}
	if r.MaxTokens == 0 {
		r.MaxTokens = answerTokens
	}
	if s.Last {
		r.MaxTokens = min(r.MaxTokens, lastTokens)
	}
	in := estimatePrompt(r, 3)
	s.Tokens, s.Cost = in+int64(r.MaxTokens), b.priceTokens(in, int64(r.MaxTokens))
	v, err := b.budgets.Hold(ctx, s)
	switch {
	case err != nil && ctx.Err() != nil:
		return s, &llm.Error{Kind: llm.KindCanceled, Model: model}
	case err != nil:
		b.log.Error("a budget can't be counted, so the model isn't asked", "model", model, "error", err)
		return s, &llm.Error{Kind: llm.KindBudget, Model: model, Code: llm.CodeUncounted}
	case v.OK:
		return s, nil
	case !v.InFlight || time.Since(begun) > b.timeout:
		return s, &llm.Error{Kind: llm.KindBudget, Model: model, Code: codeOfBudget(v.Code), RetryAfter: v.RetryAfter}
	}
	return s, errNoRoom
}

// codeOfBudget tells an agent whether the budget is its own.
func codeOfBudget(code string) string {
	switch code {
	case limits.CodeAgentTokens, limits.CodeAgentCost:
		return llm.CodeOwnBudget
	}
	return llm.CodeSharedBudget
}

// settleRoom counts what the question came to, and returns it. The caller waits for
// settleRoom no longer than for any other count.
func (b budget) settleRoom(ctx context.Context, who llm.Caller, s limits.Spending, r llm.Request, resp llm.Response,
	err error) (in, out, cost int64) {
	in, out, estimated := readUsage(r, resp, err)
	s.Tokens, s.Cost = in+out, b.priceTokens(in, out)
	who.Spent.Add(s.Tokens, s.Cost, estimated)
	if b.budgets == nil || who.Turn == "" {
		return in, out, s.Cost
	}
	if err := b.budgets.Spend(context.WithoutCancel(ctx), s); err != nil {
		b.log.Error("what a question came to can't be counted; what was held for it stays", "error", err)
	}
	return in, out, s.Cost
}

// priceTokens returns millionths, rounded up: a question is never free where a token
// isn't.
func (b budget) priceTokens(in, out int64) int64 {
	n := in*b.price.Input + out*b.price.Output
	return (n + million - 1) / million
}

// CountSpending returns what the caller spent, under the caller's own id, for a budget.
func CountSpending(who llm.Caller, tokens, cost int64) limits.Spending {
	return limits.Spending{
		ID: who.ID, User: who.User, Conversation: who.Conversation, Turn: who.Turn, Agent: who.Agent, Tokens: tokens, Cost: cost,
	}
}
