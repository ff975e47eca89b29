package review

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

// isWatched reports whether somebody looks at suspected models.
func (g *Gate) isWatched() bool { return g.watching.Load() > 0 }

// suspectModel is a failure that may be the doing of what was asked about: the model is
// looked at, twice in a breaker's window at most.
func (g *Gate) suspectModel(m *model) {
	now := g.o.Now()
	m.mu.Lock()
	soon := !m.suspectedAt.IsZero() && now.Sub(m.suspectedAt) < m.window/2
	if !soon && g.isWatched() {
		m.suspectedAt = now
	}
	m.mu.Unlock()
	if !soon {
		g.requestProbe(m)
	}
}

// requestProbe has a model asked a canary, which no stranger has written, unless one is
// under way.
func (g *Gate) requestProbe(m *model) {
	if g.isWatched() && m.looked.CompareAndSwap(false, true) {
		g.suspects <- m // there is room for each model once
	}
}

// probeSuspects looks at the suspected models until ctx ends.
func (g *Gate) probeSuspects(ctx context.Context) {
	var each sync.WaitGroup
	defer each.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-g.suspects:
			each.Go(func() {
				defer m.looked.Store(false)
				defer func() { g.logPanic(ctx, recover()) }()
				if err := g.examineModel(ctx, m); err != nil && ctx.Err() == nil {
					g.o.Log.LogAttrs(ctx, slog.LevelError, "a model of the review could not be asked a canary",
						slog.String("model", m.name), slog.String("error", err.Error()))
				}
			})
		}
	}
}

// examineModel asks a model one canary, which is the probe of a half-open breaker. A
// model that hangs over the canary too hangs on every question. examine then asks
// the other canaries at once. So the model's breaker has something to count, even
// where each user's timeouts are the user's own. These canaries wait behind no call.
func (g *Gate) examineModel(ctx context.Context, m *model) error {
	f := &fault{kind: BreakerOpen} // for those who wait, if nothing comes of it
	defer func() { m.concludeProof(f) }()
	list, err := canaryQuestions(plainCanaries, drawCanarySeed(), g.o.Now(), g.o.documentView())
	if err != nil {
		return err
	}
	var r CanaryReport
	for i := range list { // one that a server's filter stops says nothing of the model
		if r, err = g.askCanariesOf(ctx, m, setPlain, list[i:i+1], true); err != nil {
			return err
		}
		if f = nil; r.Failure() == "" {
			break
		}
		if f = (&fault{kind: r.Failure()}); !f.kind.isAnswer() {
			break
		}
	}
	m.concludeProof(f) // no call waits for the rest
	switch {
	case len(r.Wrong()) > 0:
		_, err := g.AskCanaries(ctx, CanaryOptions{Models: []string{m.name}})
		return err
	case r.Failure() != Timeout || m.breaker.Load().State() != gobreaker.StateClosed:
		return nil // it answered, or its breaker has counted this
	}
	g.o.Log.LogAttrs(ctx, slog.LevelWarn, "a model of the review hangs over a canary too: its timeouts count as its own",
		slog.String("model", m.name))
	var each sync.WaitGroup
	for _, c := range list[:len(list)-1] {
		each.Go(func() {
			defer func() { g.logPanic(ctx, recover()) }()
			_, _ = g.askCanariesOf(ctx, m, setPlain, []canaryQuestion{c}, true) // the breaker counts what comes of it
		})
	}
	each.Wait()
	return nil
}

// logPanic keeps a panic within the goroutine that asked.
func (g *Gate) logPanic(ctx context.Context, panicked any) {
	if panicked != nil {
		g.o.Log.LogAttrs(ctx, slog.LevelError, "asking a canary panicked", slog.String("stack", string(debug.Stack())))
	}
}

// briefly is how long calls wait for a proof where the last canary hung.
const briefly = 2 * time.Second

// proof is a canary that shows whether a model with a half-open breaker is back.
type proof struct {
	done  chan struct{}
	fault *fault    // nil: it is
	until time.Time // another isn't asked for before; zero while it is pending
}

// awaitProof waits for the canary that shows whether a model with a half-open breaker
// is back, not beyond by. What a call asks about may make it hang, and would keep
// all others out; a canary's words are this package's own. Where the canary has
// no judgement for a reason that isn't an outage, that is the call's reason too,
// for as long as a breaker stays open. The error is a *fault or errCanceled.
func (m *model) awaitProof(ctx context.Context, by time.Time) error {
	p, brief := m.newestProof()
	if end := time.Now().Add(briefly); brief && end.Before(by) {
		by = end
	}
	t := time.NewTimer(time.Until(by))
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		return &fault{kind: BreakerOpen}
	case <-ctx.Done():
		return errCanceled
	}
	switch {
	case p.fault == nil:
		return nil
	case p.fault.kind.Unavailable():
		return &fault{kind: BreakerOpen}
	}
	return &fault{kind: p.fault.kind}
}

// newestProof returns the newest proof, or has one made if that is too old. brief says
// that the last canary got no answer in time.
func (m *model) newestProof() (p *proof, brief bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.proof; p != nil && time.Now().Before(p.until) {
		return p, m.hung
	}
	if p := m.proof; p == nil || !p.until.IsZero() {
		m.proof = &proof{done: make(chan struct{})}
	}
	m.prove() // of a pending one too: the goroutine that was to make it may have ended
	return m.proof, m.hung
}

// concludeProof tells those who wait, and the next for a while.
func (m *model) concludeProof(f *fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.proof
	if p == nil || !p.until.IsZero() {
		return // it was asked about a suspicion
	}
	p.fault, p.until = f, time.Now()
	if f != nil && !f.kind.Unavailable() { // the breaker knows nothing of that
		p.until = p.until.Add(m.longest)
	}
	close(p.done)
}

// noteCanaryResult notes what came of a canary: nil for a judgement.
func (m *model) noteCanaryResult(f *fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case f == nil || f.kind.isAnswer():
		m.well, m.hung = time.Now(), false
		clear(m.met)
	case f.kind.loneKind() != "":
		m.well, m.hung = time.Time{}, f.kind == Timeout
	}
}

// isAcquitted reports whether a canary was answered lately, and none has failed
// since: then it is calls that make the model fail. That holds for the breaker's
// window and as long as a call may hang, so that it doesn't end while one does.
func (m *model) isAcquitted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.well.IsZero() && time.Since(m.well) < m.window+m.timeout
}
