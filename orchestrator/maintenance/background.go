package maintenance

import (
	"context"
	"log/slog"
)

// Background is a goroutine that does one piece of work until Stop.
type Background struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// Start runs work in a goroutine of its own, which outlives ctx and ends with Stop. What
// goes wrong is logged and not tried again: that is for a supervisor.
func Start(ctx context.Context, log *slog.Logger, doing string, work func(context.Context) error) *Background {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b := &Background{cancel, make(chan struct{})}
	go func() {
		defer close(b.done)
		runContained(ctx, log, doing, work)
	}()
	return b
}

// Stop ends the goroutine and waits for it. A nil Background has none.
func (b *Background) Stop() {
	if b != nil {
		b.cancel()
		<-b.done
	}
}
