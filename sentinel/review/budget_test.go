package review_test

import (
	"context"

	"github.com/vedette-dev/vedette/sentinel/review"
)

// broke is a purse without money.
type broke struct{}

func (broke) Hold(context.Context, review.Spending) (review.Room, error) {
	return review.Room{Budget: "day.calls"}, nil
}

func (broke) Spend(context.Context, review.Spending) error { return nil }
