package assembly

import (
	"context"
	"errors"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// reviewPurse pays for the review out of sentinel.budget. What agents and
// orchestrator ask models is counted elsewhere, see purse.
type reviewPurse struct {
	all   *limits.Account
	alone *limits.Account // nil where this process is all there is
}

// reviewAccount is nil where there is no bound.
func reviewAccount(cfg *config.Config, store limits.MeterStore) (*limits.Account, error) {
	share := func(s config.ReviewShare) limits.Allowance {
		return limits.Allowance{Calls: int64(s.Calls), Tokens: int64(s.Tokens), Cost: int64(s.Cost)}
	}
	b := cfg.Sentinel.Budget
	a := limits.Allowances{Conversation: share(b.Conversation), User: share(b.User), Day: share(b.Day)}
	if !a.Any() {
		return nil, nil //nolint:nilnil // no bound, nothing to count
	}
	return limits.NewAccount("review", a, store)
}

// purse is nil, and no interface that holds nil, where there is no bound.
func (c *counters) purse() review.Purse {
	if c == nil || c.review.all == nil {
		return nil
	}
	return c.review
}

// Hold implements review.Purse. While the limits store is unreachable this process
// counts for itself. A review that is paid twice does no harm. A review that is left
// out would let calls through or hold calls up.
func (p reviewPurse) Hold(ctx context.Context, s review.Spending) (review.Room, error) {
	v, err := p.all.Hold(ctx, use(s))
	if p.alone != nil && errors.Is(err, limits.ErrAway) {
		v, err = p.alone.Hold(ctx, use(s))
	}
	return review.Room{OK: v.OK, Budget: v.Code, InFlight: v.InFlight, RetryAfter: v.RetryAfter}, err
}

// Spend implements review.Purse. Who holds nothing for a request counts nothing.
func (p reviewPurse) Spend(ctx context.Context, s review.Spending) error {
	err := p.all.Spend(ctx, use(s))
	if p.alone == nil {
		return err
	}
	if errors.Is(err, limits.ErrAway) { // its store has said so, and what it holds ends by itself
		err = nil
	}
	return errors.Join(err, p.alone.Spend(ctx, use(s)))
}

func use(s review.Spending) limits.Use {
	return limits.Use{ID: s.ID, User: s.User, Conversation: s.Conversation, Calls: s.Calls, Tokens: s.Tokens, Cost: s.Cost}
}
