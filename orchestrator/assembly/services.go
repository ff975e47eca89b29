package assembly

import (
	"context"

	"github.com/vedette-dev/vedette/sentinel/review"
)

// Service is work that goes on beside the calls, for a supervisor to run: Run
// returns nil once ctx has ended; any other end is a failure, and it is to be
// run again.
type Service struct {
	// Group says what it belongs to: store, limits or review.
	Group, ID string
	Run       func(ctx context.Context) error
}

// Services returns what the caller runs while the Parts are in use, in the order of
// starts within a group. Without Options.Supervised the Parts run all services
// themselves.
func (p *Parts) Services() []Service {
	list := []Service{
		{"store", "writer", p.Store.Run},
		{"store", "maintenance", p.Maintain},
	}
	if p.limits.redis != nil {
		list = append(list, Service{"limits", "pauses", p.Pauses.Follow})
	}
	if p.asksCanaries() {
		list = append(list, Service{"review", "canaries", p.canaries})
	}
	return list
}

// asksCanaries reports whether the review's models are asked about calls whose
// verdict is known.
func (p *Parts) asksCanaries() bool {
	return p.Review != nil && p.Config.Sentinel.Canaries.Every > 0
}

// CanaryFailed returns the review's models that are wrong about calls whose
// verdict is known.
func (p *Parts) CanaryFailed() (names []string) {
	if p.Review == nil {
		return nil
	}
	for _, m := range p.Review.State().Models {
		if m.Canary == review.CanaryFailed {
			names = append(names, m.Model)
		}
	}
	return names
}

// canaries asks them until ctx ends.
func (p *Parts) canaries(ctx context.Context) error {
	return p.Review.RunCanaries(ctx, p.Config.Sentinel.Canaries.Every)
}
