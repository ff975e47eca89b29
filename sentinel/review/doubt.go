package review

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

// proofWait bounds how long a call waits for the canary that shows whether a
// model is back: then it is away for this call.
const proofWait = 2 * time.Second

// watched reports whether somebody looks at models in doubt.
func (g *Gate) watched() bool { return g.watching.Load() > 0 }

// doubt is a timeout that may be the doing of what was asked about: the model is
// looked at, once in a breaker's window.
func (g *Gate) doubt(m *model) {
	now := g.o.Now()
	m.mu.Lock()
	soon := !m.doubted.IsZero() && now.Sub(m.doubted) < m.window
	if !soon && g.watched() {
		m.doubted = now
	}
	m.mu.Unlock()
	if !soon {
		g.look(m)
	}
}

// look has a model asked something that nobody outside has written, unless that
// is under way.
func (g *Gate) look(m *model) {
	if g.watched() && m.looked.CompareAndSwap(false, true) {
		g.doubts <- m // there is room for each model once
	}
}

// lookout looks at the models in doubt until ctx ends.
func (g *Gate) lookout(ctx context.Context) {
	var each sync.WaitGroup
	defer each.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-g.doubts:
			each.Go(func() {
				defer m.looked.Store(false)
				defer func() { g.caught(ctx, recover()) }()
				if err := g.examine(ctx, m); err != nil && ctx.Err() == nil {
					g.o.Log.LogAttrs(ctx, slog.LevelError, "a model of the review could not be asked a canary",
						slog.String("model", m.name), slog.String("error", err.Error()))
				}
			})
		}
	}
}

// examine asks a model one canary: for a half-open breaker it is the probe. A
// model that hangs over that too hangs whoever asks: it is asked the others at
// once, so that its breaker has something to count even where each user's
// timeouts are the user's own.
func (g *Gate) examine(ctx context.Context, m *model) error {
	list, err := canaryQuestions(drawn(), g.o.Now(), g.o.view())
	if err != nil {
		return err
	}
	r, err := g.canaries(ctx, m, list[:1])
	switch {
	case err != nil:
		return err
	case len(r.Wrong()) > 0:
		_, err := g.AskCanaries(ctx, CanaryOptions{Models: []string{m.name}})
		return err
	case r.Failure() != Timeout || m.breaker.Load().State() != gobreaker.StateClosed:
		return nil // it answered, or its breaker has counted this
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

// proved waits until a canary has shown whether a model with a half-open breaker
// is back. What a call asks about may make it hang, and would keep all others
// out; a canary's words are this package's own. The error is a *fault or
// errCanceled.
func (m *model) proved(ctx context.Context, by time.Time) error {
	if end := time.Now().Add(proofWait); end.Before(by) {
		by = end
	}
	for pause := holdPause; ; pause = min(2*pause, holdPauseMax) {
		switch m.breaker.Load().State() {
		case gobreaker.StateClosed:
			return nil
		case gobreaker.StateOpen:
			return &fault{kind: BreakerOpen}
		}
		if time.Until(by) < pause {
			return &fault{kind: BreakerOpen}
		}
		m.prove()
		if !sleep(ctx, pause) {
			return errCanceled
		}
	}
}
