// Package purse pays for the review's questions out of sentinel.budget.
//
// Purse puts an account of package limits into the review's words: it implements
// review.Purse. What agents and the orchestrator ask models is counted by
// orchestrator/models instead.
//
//	gate, err := review.New(review.Options{Purse: purse.New(account), …})
//
// What not to do: don't hand the review a Purse where no budget is configured. A nil
// review.Purse counts nothing, and an account without bounds doesn't exist.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through orchestrator/assembly.
package purse

import (
	"context"

	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// Account holds room and counts what is spent.
type Account interface {
	Hold(ctx context.Context, u limits.Use) (limits.Verdict, error)
	Spend(ctx context.Context, u limits.Use) error
}

// Purse implements review.Purse. It is safe for concurrent use if its account is.
type Purse struct{ account Account }

// New returns a Purse that pays out of an account.
func New(a Account) Purse { return Purse{a} }

// Hold implements review.Purse.
func (p Purse) Hold(ctx context.Context, s review.Spending) (review.Room, error) {
	v, err := p.account.Hold(ctx, newUse(s))
	return review.Room{OK: v.OK, Budget: v.Code, InFlight: v.InFlight, RetryAfter: v.RetryAfter}, err
}

// Spend implements review.Purse.
func (p Purse) Spend(ctx context.Context, s review.Spending) error {
	return p.account.Spend(ctx, newUse(s))
}

func newUse(s review.Spending) limits.Use {
	return limits.Use{ID: s.ID, User: s.User, Conversation: s.Conversation, Calls: s.Calls, Tokens: s.Tokens, Cost: s.Cost}
}
