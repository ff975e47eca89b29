package assembly

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// ModelEvent is one question of an agent or the orchestrator to one model. It
// holds names from the configuration, closed words and numbers alone.
type ModelEvent struct {
	// Model is the configured name.
	Model string
	// Agent says that an agent asked; the orchestrator otherwise.
	Agent bool
	// Failure is empty for a question that was answered, Status the failure's
	// HTTP status, 0 where none came.
	Failure llm.Kind
	Status  int
	// Asked is when the question was put, Sent when it left, zero where it did
	// not because there was no room for it, and Duration how long the model took.
	Asked, Sent time.Time
	Duration    time.Duration
	// TokensIn and TokensOut are the server's numbers, estimated where it told
	// none; Cost is what they come to in millionths of the prices' currency.
	TokensIn, TokensOut, Cost int64
}

// over tells what came of a question.
func (a askable) over(ctx context.Context, e ModelEvent, err error) {
	if a.tell == nil {
		return
	}
	var le *llm.Error
	switch {
	case errors.As(err, &le):
		e.Failure, e.Status = le.Kind, le.Status
	case err != nil:
		e.Failure = llm.KindBadResponse
	}
	a.tell(ctx, e)
}

// tracedReview is the review with a beginning and an end that are told. It has
// all other methods of the gate.
type tracedReview struct {
	*review.Gate
	begin func(context.Context) (context.Context, func(sentinel.Verdict, error))
}

func traced(g *review.Gate, begin func(context.Context) (context.Context, func(sentinel.Verdict, error))) sentinel.Gate {
	if begin == nil || g.State().Mode == review.Off {
		return g
	}
	return tracedReview{g, begin}
}

// Check implements sentinel.Gate.
func (t tracedReview) Check(ctx context.Context, c sentinel.Call) (v sentinel.Verdict, err error) {
	ctx, end := t.begin(ctx)
	defer func() { end(v, err) }()
	return t.Gate.Check(ctx, c)
}

// timedRecorder tells how long it takes to make a record durable.
type timedRecorder struct {
	sentinel.Recorder
	tell func(kind string, took time.Duration, err error)
}

func timed(r sentinel.Recorder, o Options) sentinel.Recorder {
	if o.ObserveRecord == nil {
		return r
	}
	return timedRecorder{r, o.ObserveRecord}
}

// Record implements sentinel.Recorder.
func (t timedRecorder) Record(ctx context.Context, r sentinel.Record) error {
	began := time.Now()
	err := t.Recorder.Record(ctx, r)
	t.tell(r.Kind, time.Since(began), err)
	return err
}
