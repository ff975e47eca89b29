package assembly

import "context"

// Service is work that goes on beside the calls, for a supervisor to run: Run
// returns nil once ctx has ended; any other end is a failure, and it is to be
// run again.
type Service struct {
	// Group says what it belongs to: store or limits.
	Group, ID string
	Run       func(ctx context.Context) error
}

// Services returns what has to be run while the Parts are in use, in the order
// of starts within a group. Without Options.Supervised nobody needs to: the
// Parts run all of it themselves.
func (p *Parts) Services() []Service {
	list := []Service{
		{"store", "writer", p.Store.Run},
		{"store", "maintenance", p.Maintain},
	}
	if p.limits.redis != nil {
		list = append(list, Service{"limits", "pauses", p.Pauses.Follow})
	}
	return list
}
