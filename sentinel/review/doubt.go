package review

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// doubt is a timeout that may be the doing of what was asked about: it asks for
// the model to be asked something that nobody outside has written. A model is
// looked at once in a breaker's window.
func (g *Gate) doubt(m *model) {
	now := g.o.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.doubted.IsZero() && now.Sub(m.doubted) < m.window {
		return
	}
	select {
	case g.doubts <- m:
		m.doubted = now
	default: // nobody looks; then the next timeout asks again
	}
}

// watch waits, and looks at the models that are in doubt meanwhile. It reports
// whether ctx is still there.
func (g *Gate) watch(ctx context.Context, wait time.Duration) bool {
	t := time.NewTimer(wait)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-t.C:
			return true
		case m := <-g.doubts:
			if err := g.examine(ctx, m); err != nil && ctx.Err() == nil {
				g.o.Log.LogAttrs(ctx, slog.LevelError, "a model of the review could not be asked a canary", slog.String("model", m.name), slog.String("error", err.Error()))
			}
		}
	}
}

// examine asks a model in doubt one canary. A model that hangs over that too
// hangs whoever asks: it is asked the others at once, so that its breaker has
// something to count even where each user's timeouts are the user's own.
func (g *Gate) examine(ctx context.Context, m *model) error {
	list, err := canaryQuestions(drawn(), g.o.Now(), g.o.view())
	if err != nil {
		return err
	}
	r, err := g.canaries(ctx, m, list[:1])
	if err != nil || r.Failure() == "" && len(r.Wrong()) == 0 {
		return err
	}
	if r.Failure() != Timeout {
		_, err := g.AskCanaries(ctx, CanaryOptions{Models: []string{m.name}})
		return err
	}
	g.o.Log.LogAttrs(ctx, slog.LevelWarn, "a model of the review hangs over a canary too: its timeouts count as its own", slog.String("model", m.name))
	var each sync.WaitGroup
	for _, c := range list[1:] {
		each.Go(func() {
			defer func() { g.caught(ctx, recover()) }()
			_, _ = g.canaries(ctx, m, []canaryQuestion{c}) // the breaker counts what comes of it
		})
	}
	each.Wait()
	return nil
}

// caught keeps a panic within the goroutine that asked.
func (g *Gate) caught(ctx context.Context, panicked any) {
	if panicked != nil {
		g.o.Log.LogAttrs(ctx, slog.LevelError, "asking a canary panicked", slog.String("stack", string(debug.Stack())))
	}
}
