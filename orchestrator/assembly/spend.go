package assembly

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/config"
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

// Spent is what questions to models came to. It is safe for concurrent use.
type Spent struct {
	tokens, cost atomic.Int64
	estimated    atomic.Bool
}

// Add counts more. Estimated says that a server did not tell.
func (s *Spent) Add(tokens, cost int64, estimated bool) {
	if s == nil {
		return
	}
	s.tokens.Add(tokens)
	s.cost.Add(cost)
	if estimated {
		s.estimated.Store(true)
	}
}

// Read returns the sums: tokens, money in millionths, and whether any of it is
// an estimate.
func (s *Spent) Read() (tokens, cost int64, estimated bool) {
	if s == nil {
		return 0, 0, false
	}
	return s.tokens.Load(), s.cost.Load(), s.estimated.Load()
}

// purse pays for the questions to one model.
type purse struct {
	counters  *counters
	price     config.Price
	maxTokens int // of an answer, 0 for the server's own bound
	// timeout is the longest that a question can be under way, so the longest to
	// wait for what it may leave.
	timeout time.Duration
	bounded bool
	log     *slog.Logger
}

func newPurse(cfg *config.Config, m config.Model, c *counters, log *slog.Logger) purse {
	return purse{c, m.Price, m.MaxTokens, m.Timeout, limitNumbers(cfg).Budgets.Any(), log}
}

// errNoRoom is a budget that has room but for what others hold and may leave.
var errNoRoom = errors.New("others hold what the budget has left")

// hold takes room for the most that the question can come to, and bounds its
// answer to that. A question without tools is an agent's last. Since begun it
// has been waiting for others: errNoRoom says that it may go on to.
func (p purse) hold(ctx context.Context, who Caller, model string, r *llm.Request, begun time.Time) (limits.Spending, error) {
	s := limits.Spending{
		ID: who.ID + "/" + model, User: who.User, Conversation: who.Conversation, Turn: who.Turn, Agent: who.Agent,
		Last: who.Agent != "" && len(r.Tools) == 0,
	}
	if r.MaxTokens == 0 {
		r.MaxTokens = p.maxTokens
	}
	if !p.bounded || who.Turn == "" { // a question outside of any turn has no budget
		return s, nil
	}
	if r.MaxTokens == 0 {
		r.MaxTokens = answerTokens
	}
	if s.Last {
		r.MaxTokens = min(r.MaxTokens, lastTokens)
	}
	in := promptTokens(r, 3)
	s.Tokens, s.Cost = in+int64(r.MaxTokens), p.cost(in, int64(r.MaxTokens))
	v, err := p.counters.hold(ctx, s)
	switch {
	case err != nil && ctx.Err() != nil:
		return s, &llm.Error{Kind: llm.KindCanceled, Model: model}
	case err != nil:
		p.log.Error("a budget can't be counted, so the model isn't asked", "model", model, "error", err)
		return s, &llm.Error{Kind: llm.KindBudget, Model: model, Code: llm.CodeUncounted}
	case v.OK:
		return s, nil
	case !v.InFlight || time.Since(begun) > p.timeout:
		return s, &llm.Error{Kind: llm.KindBudget, Model: model, Code: budgetCode(v.Code), RetryAfter: v.RetryAfter}
	}
	return s, errNoRoom
}

// budgetCode tells an agent whether the budget is its own.
func budgetCode(code string) string {
	switch code {
	case limits.CodeAgentTokens, limits.CodeAgentCost:
		return llm.CodeOwnBudget
	}
	return llm.CodeSharedBudget
}

// settle counts what the question came to, and returns it. The caller waits for
// settle no longer than for any other count.
func (p purse) settle(ctx context.Context, who Caller, s limits.Spending, r llm.Request, resp llm.Response,
	err error) (in, out, cost int64) {
	in, out, estimated := usage(r, resp, err)
	s.Tokens, s.Cost = in+out, p.cost(in, out)
	who.Spent.Add(s.Tokens, s.Cost, estimated)
	if !p.bounded || who.Turn == "" {
		return in, out, s.Cost
	}
	if err := p.counters.spend(context.WithoutCancel(ctx), s); err != nil {
		p.log.Error("what a question came to can't be counted; what was held for it stays", "error", err)
	}
	return in, out, s.Cost
}

// cost is in millionths, rounded up: a question is never free where a token isn't.
func (p purse) cost(in, out int64) int64 {
	n := in*int64(p.price.Input) + out*int64(p.price.Output)
	return (n + million - 1) / million
}

// usage is what the server told. Where it did not, it is estimated: of a
// question that was refused or never arrived nothing, of one that got no
// answer in time its text.
func usage(r llm.Request, resp llm.Response, err error) (in, out int64, estimated bool) {
	if u := resp.Usage; u.Prompt > 0 || u.Completion > 0 || u.Total > 0 {
		in, out = int64(max(u.Prompt, 0)), int64(max(u.Completion, 0))
		return in, max(out, int64(u.Total)-in), false // some count reasoning in the total alone
	}
	var e *llm.Error
	if errors.As(err, &e) {
		switch e.Kind {
		case llm.KindTimeout, llm.KindCanceled, llm.KindNotJSON, llm.KindBadResponse, llm.KindTooLarge:
			return promptTokens(&r, 4), 0, true
		}
		return 0, 0, false
	}
	said := len(resp.Content) + len(resp.Refusal)
	for _, k := range resp.ToolCalls {
		said += len(k.Name) + len(k.Arguments)
	}
	return promptTokens(&r, 4), int64(said/4) + 1, true
}

// promptTokens estimates a question's tokens from its bytes: about four each in
// English, so three is on the safe side.
func promptTokens(r *llm.Request, perToken int) int64 {
	n := 0
	for i := range r.Messages {
		m := &r.Messages[i]
		n += len(m.Content) + len(m.Name) + 4*perToken
		for _, k := range m.ToolCalls {
			n += len(k.Name) + len(k.Arguments) + 4*perToken
		}
	}
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Parameters) + 4*perToken
	}
	return int64((n + perToken - 1) / perToken)
}

// Spend counts what a turn or an agent had spent before the program started,
// under an id of its own. Where a server counts it knows.
func (p *Parts) Spend(ctx context.Context, who Caller, tokens, cost int64) {
	if p.limits.redis != nil || !limitNumbers(p.Config).Budgets.Any() {
		return
	}
	err := p.limits.all.Respend(ctx, limits.Spending{
		ID: who.ID, User: who.User, Conversation: who.Conversation, Turn: who.Turn, Agent: who.Agent, Tokens: tokens, Cost: cost,
	})
	if err != nil {
		p.log.Error("what was spent before the restart can't be counted", "error", err)
	}
}
