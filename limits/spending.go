package limits

import (
	"context"
	"fmt"
	"time"
)

// Codes of a Verdict of Hold that is not OK.
const (
	CodeAgentTokens        = "limits.agent_tokens"
	CodeAgentCost          = "limits.agent_cost"
	CodeTurnTokens         = "limits.turn_tokens"
	CodeTurnCost           = "limits.turn_cost"
	CodeConversationTokens = "limits.conversation_tokens"
	CodeConversationCost   = "limits.conversation_cost"
	CodeUserTokens         = "limits.user_tokens"
	CodeUserCost           = "limits.user_cost"
)

// userWindow is how long what a user spent counts.
const userWindow = 24 * time.Hour

// Budget bounds what models may take. Zero means no bound. Cost is in millionths
// of the currency that prices are in.
type Budget struct{ Tokens, Cost int64 }

// Budgets are those of all levels. Agent bounds an agent over its life, Turn a
// turn with its agents. Conversation counts within ConversationConfig.Window, User
// within 24 hours.
type Budgets struct{ Agent, Turn, Conversation, User Budget }

// Any reports whether there is any bound.
func (b Budgets) Any() bool { return b != Budgets{} }

// Spending is one question to a model and what it takes: for Hold at most, for
// Spend in the end.
type Spending struct {
	// ID is the question's own; the same question has the same again. Required.
	ID string
	// User, Conversation, Turn and Agent are as in Proposal. An empty Agent is a
	// question of the turn's own.
	User, Conversation, Turn, Agent string
	Tokens, Cost                    int64
	// Last is an agent's last question: its own budget does not bound it, those
	// that it shares do.
	Last bool
}

// Hold takes room for a question in every budget, or in none. Verdict.InFlight
// says that only questions under way fill the budget: ask again in a moment.
// Errors are as in Reserve.
func (l *Limiter) Hold(ctx context.Context, s Spending) (Verdict, error) {
	own, ownCodes, user, userCodes, err := l.budgetMeters(s)
	if err != nil {
		return Verdict{}, err
	}
	v, err := l.holdMeters(ctx, s, own, ownCodes)
	if err != nil || !v.OK {
		return v, err
	}
	// A user's meters are a step of their own: a cluster of servers may keep the
	// keys of another owner elsewhere.
	v, err = l.holdMeters(ctx, s, user, userCodes)
	if (err != nil || !v.OK) && len(own) > 0 {
		for i := range own {
			own[i].Amount = 0
		}
		if back := l.store.Spend(ctx, keySegment(s.ID), own); back != nil && err == nil {
			err = fmt.Errorf("give back what was held: %w", back)
		}
	}
	return v, err
}

// holdMeters holds a question's amounts in one owner's meters; codes name the
// meters.
func (l *Limiter) holdMeters(ctx context.Context, s Spending, list []Meter, codes []string) (Verdict, error) {
	if len(list) == 0 {
		return Verdict{OK: true}, nil
	}
	m, err := l.store.Hold(ctx, keySegment(s.ID), list)
	switch {
	case err != nil:
		return Verdict{}, fmt.Errorf("hold a budget: %w", err)
	case m.OK:
		return Verdict{OK: true}, nil
	case m.Full < 0 || m.Full >= len(list):
		return Verdict{}, fmt.Errorf("hold a budget: the store named meter %d of %d", m.Full, len(list))
	}
	full := list[m.Full]
	return Verdict{
		Code: codes[m.Full], Limit: int(full.Max), Used: int(m.Used), RetryAfter: m.RetryAfter,
		InFlight: m.Held > 0 && m.Used-m.Held+full.Amount <= full.Max,
	}, nil
}

// Spend counts what a question came to, in place of what Hold took for it.
func (l *Limiter) Spend(ctx context.Context, s Spending) error {
	own, _, user, _, err := l.budgetMeters(s)
	if err != nil {
		return err
	}
	for _, list := range [][]Meter{own, user} {
		if len(list) == 0 {
			continue
		}
		if err := l.store.Spend(ctx, keySegment(s.ID), list); err != nil {
			return fmt.Errorf("count what was spent: %w", err)
		}
	}
	return nil
}

// Respend counts spending that the store missed: it was unreachable, or its counts are
// gone.
func (l *Limiter) Respend(ctx context.Context, s Spending) error {
	own, _, user, _, err := l.budgetMeters(s)
	if err != nil {
		return err
	}
	for _, list := range [][]Meter{own, user} {
		for i := range list {
			list[i].Max = 0
		}
		if len(list) == 0 {
			continue
		}
		if _, err := l.store.Hold(ctx, keySegment(s.ID), list); err != nil {
			return fmt.Errorf("count what was spent: %w", err)
		}
	}
	return l.Spend(ctx, s)
}

// CheckSpending returns an error that wraps ErrProposal for a spending that no store can
// count. It asks no store.
func (l *Limiter) CheckSpending(s Spending) error {
	_, _, _, _, err := l.budgetMeters(s)
	return err
}

// budgetMeters returns the meters of the budgets that bound a question, with their
// codes.
func (l *Limiter) budgetMeters(s Spending) (own []Meter, ownCodes []string, user []Meter, userCodes []string, err error) {
	switch {
	case l == nil || l.store == nil:
		return nil, nil, nil, nil, errNoStore
	case s.ID == "" || s.Conversation == "" || s.Turn == "" || s.Tokens < 0 || s.Cost < 0:
		return nil, nil, nil, nil, fmt.Errorf("%w: a question without an id, a conversation or a turn, or with less than nothing", ErrProposal)
	}
	p := Proposal{User: s.User, Conversation: s.Conversation, Turn: s.Turn, Agent: s.Agent}
	cfg := l.cfg.Load()
	owner, b := ownerKey(p), cfg.Budgets
	turn := turnKey(owner, p)
	add := func(list []Meter, codes []string, key string, b Budget, window time.Duration, tokens, cost string) ([]Meter, []string) {
		if b.Tokens > 0 {
			list, codes = append(list, Meter{Key: key + "/tokens", Amount: s.Tokens, Max: b.Tokens, Window: window}), append(codes, tokens)
		}
		if b.Cost > 0 {
			list, codes = append(list, Meter{Key: key + "/cost", Amount: s.Cost, Max: b.Cost, Window: window}), append(codes, cost)
		}
		return list, codes
	}
	if s.Agent != "" {
		own, ownCodes = add(own, ownCodes, agentKey(turn, p), b.Agent, 0, CodeAgentTokens, CodeAgentCost)
		for i := range own {
			if s.Last {
				own[i].Max = 0
			}
		}
	}
	own, ownCodes = add(own, ownCodes, turn, b.Turn, 0, CodeTurnTokens, CodeTurnCost)
	own, ownCodes = add(own, ownCodes, owner, b.Conversation, cfg.Conversation.Window, CodeConversationTokens, CodeConversationCost)
	user, userCodes = add(nil, nil, keySegment(s.User)+"/spent", b.User, userWindow, CodeUserTokens, CodeUserCost)
	return own, ownCodes, user, userCodes, nil
}
