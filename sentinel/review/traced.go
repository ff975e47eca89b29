package review

import (
	"context"

	"github.com/vedette-dev/vedette/sentinel"
)

// tracedGate is a review whose beginning and end are told. It has all other methods of
// the gate.
type tracedGate struct {
	*Gate
	begin func(context.Context) (context.Context, func(sentinel.Verdict, error))
}

// NewTraced returns g with a begin that is called when a review begins. The context that
// begin returns is the review's, and the function that it returns is told of the end. It
// returns g itself where begin is nil or the review is off.
func NewTraced(g *Gate, begin func(context.Context) (context.Context, func(sentinel.Verdict, error))) sentinel.Gate {
	if begin == nil || g.State().Mode == Off {
		return g
	}
	return tracedGate{g, begin}
}

// Check implements sentinel.Gate.
func (t tracedGate) Check(ctx context.Context, c sentinel.Call) (v sentinel.Verdict, err error) {
	ctx, end := t.begin(ctx)
	defer func() { end(v, err) }()
	return t.Gate.Check(ctx, c)
}
