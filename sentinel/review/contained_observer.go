package review

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
)

// containedObserver wraps an Observer so that it can't harm a review. The gate logs the
// observer's panic once, without its words, and the verdict is as without an
// observer.
type containedObserver struct {
	to   Observer
	log  *slog.Logger
	once *sync.Once
}

func newContainedObserver(to Observer, log *slog.Logger) containedObserver {
	return containedObserver{to, log, new(sync.Once)}
}

func (c containedObserver) Request(ctx context.Context, e RequestEvent) {
	defer func() { c.logPanic("Request", recover()) }()
	c.to.Request(ctx, e)
}

func (c containedObserver) Review(ctx context.Context, e ReviewEvent) {
	defer func() { c.logPanic("Review", recover()) }()
	c.to.Review(ctx, e)
}

func (c containedObserver) Breaker(e BreakerEvent) {
	defer func() { c.logPanic("Breaker", recover()) }()
	c.to.Breaker(e)
}

func (c containedObserver) logPanic(method string, panicked any) {
	if panicked == nil {
		return
	}
	c.once.Do(func() {
		c.log.Error("the review's observer panicked; metrics and traces miss events from now on, and no more is said of it",
			slog.String("method", method), slog.String("stack", string(debug.Stack())))
	})
}
