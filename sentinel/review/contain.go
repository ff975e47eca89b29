package review

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
)

// contained wraps an Observer so that it can't harm a review. The gate logs the
// observer's panic once, without its words, and the verdict is as without an
// observer.
type contained struct {
	to   Observer
	log  *slog.Logger
	once *sync.Once
}

func contain(to Observer, log *slog.Logger) contained { return contained{to, log, new(sync.Once)} }

func (c contained) Request(ctx context.Context, e RequestEvent) {
	defer func() { c.caught("Request", recover()) }()
	c.to.Request(ctx, e)
}

func (c contained) Review(ctx context.Context, e ReviewEvent) {
	defer func() { c.caught("Review", recover()) }()
	c.to.Review(ctx, e)
}

func (c contained) Breaker(e BreakerEvent) {
	defer func() { c.caught("Breaker", recover()) }()
	c.to.Breaker(e)
}

func (c contained) caught(method string, panicked any) {
	if panicked == nil {
		return
	}
	c.once.Do(func() {
		c.log.Error("the review's observer panicked; metrics and traces miss events from now on, and no more is said of it",
			slog.String("method", method), slog.String("stack", string(debug.Stack())))
	})
}
