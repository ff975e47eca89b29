package assembly

import (
	"context"
	"runtime/debug"
	"time"
)

const (
	// maintainEvery is how often values whose retention is over are erased.
	maintainEvery = 10 * time.Minute
	// spentKept is how long spent warrants are remembered after they expired:
	// longer than a clock is ever set back. A warrant lives for a minute.
	spentKept = 24 * time.Hour
	// tellEvery is how often the ledger is told of proposals that were counted
	// and not recorded: what a killed process takes with it.
	tellEvery = 5 * time.Second
	// lastWord bounds the same when the process ends.
	lastWord = 5 * time.Second
)

// maintenance is the goroutine that forgets what is to be forgotten.
type maintenance struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// maintain starts the goroutine, until Close.
func (p *Parts) maintain(ctx context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.upkeep = &maintenance{cancel, make(chan struct{})}
	go func() {
		defer close(p.upkeep.done)
		_ = p.Maintain(ctx) // it contains what goes wrong, and ends with ctx
	}()
}

// watchCanaries asks the review's models until Close. What goes wrong is logged
// and not tried again: that is for a supervisor.
func (p *Parts) watchCanaries(ctx context.Context) {
	if !p.asksCanaries() {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.birds = &maintenance{cancel, make(chan struct{})}
	go func() {
		defer close(p.birds.done)
		p.contained(ctx, "ask canaries", func() error { return p.canaries(ctx) })
	}()
}

// Maintain forgets what is to be forgotten, at once and at every tick, until
// ctx ends; it returns nil then. The Parts do so themselves unless they are
// Supervised.
func (p *Parts) Maintain(ctx context.Context) error {
	ticks := p.ticks
	if ticks == nil {
		t := time.NewTicker(maintainEvery)
		defer t.Stop()
		ticks = t.C
	}
	tell := time.NewTicker(tellEvery)
	defer tell.Stop()
	for p.forget(ctx); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
			p.forget(ctx)
		case <-tell.C:
			p.tellSuppressed(ctx)
		case <-p.untold:
			p.tellSuppressed(ctx)
		}
	}
}

// tellSuppressed tells the ledger how many proposals became no calls and were
// not recorded one by one.
func (p *Parts) tellSuppressed(ctx context.Context) {
	p.contained(ctx, "record how many proposals were refused", func() error { return p.Checkpoint.TellSuppressed(ctx) })
}

// hurrySuppressed has the ledger told soon, where a turn or a conversation ends
// with proposals that it doesn't know of. It waits for nothing.
func (p *Parts) hurrySuppressed(user, conversation string) {
	if p.Checkpoint.Suppressed(user, conversation) == 0 {
		return
	}
	select {
	case p.untold <- struct{}{}:
	default: // it is under way
	}
}

// tellLast tells the ledger what it doesn't know when the process ends.
func (p *Parts) tellLast() {
	if p.Checkpoint == nil || p.Store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWord)
	defer cancel()
	p.tellSuppressed(ctx)
}

// stop ends the goroutine and waits for it.
func (m *maintenance) stop() {
	if m != nil {
		m.cancel()
		<-m.done
	}
}

// forget erases values whose time is over and drops spent warrants that expired
// long ago. One that fails keeps nothing from the other, and is tried again.
func (p *Parts) forget(ctx context.Context) {
	p.contained(ctx, "erase expired values", func() error {
		n, err := p.Journal.Purge(ctx, p.now())
		if n > 0 {
			p.log.Info("values whose retention is over were erased", "values", n)
		}
		return err
	})
	p.contained(ctx, "throw away what waited for expired questions", func() error { return p.expireLayers(ctx) })
	p.contained(ctx, "forget spent warrants", func() error {
		_, err := p.Store.PruneSpent(ctx, p.now().Add(-spentKept))
		return err
	})
}

// contained runs one piece of maintenance; what goes wrong is logged. The
// errors of store and journal hold no values, a panic might.
func (p *Parts) contained(ctx context.Context, doing string, fn func() error) {
	defer func() {
		if recover() != nil {
			p.log.Error("maintenance panicked", "doing", doing, "stack", string(debug.Stack()))
		}
	}()
	if err := fn(); err != nil && ctx.Err() == nil { // Close is no failure
		p.log.Warn("maintenance failed and is tried again later", "doing", doing, "error", err)
	}
}
