package fallback

import (
	"context"
	"errors"

	"github.com/vedette-dev/vedette/limits"
)

// Account is an account of all processes with one of this process beside it.
type Account struct {
	Shared *limits.Account
	Own    *limits.Account // nil where this process is all there is
}

// Hold takes room in the shared account. While the limits store is unreachable this
// process counts for itself. A question that is paid twice does no harm. A question that
// is left out would let calls through or hold calls up.
func (a Account) Hold(ctx context.Context, u limits.Use) (limits.Verdict, error) {
	v, err := a.Shared.Hold(ctx, u)
	if a.Own != nil && errors.Is(err, limits.ErrAway) {
		return a.Own.Hold(ctx, u)
	}
	return v, err
}

// Spend tells both accounts what a question came to. An account that holds nothing for the
// question counts nothing.
func (a Account) Spend(ctx context.Context, u limits.Use) error {
	err := a.Shared.Spend(ctx, u)
	if a.Own == nil {
		return err
	}
	if errors.Is(err, limits.ErrAway) { // its store has said so, and what it holds ends by itself
		err = nil
	}
	return errors.Join(err, a.Own.Spend(ctx, u))
}
