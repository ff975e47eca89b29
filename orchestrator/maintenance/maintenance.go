// Package maintenance forgets what is to be forgotten, as long as the process runs.
//
// At its start and at every tick it erases values whose retention is over, throws away
// what waited for a person whose time is over, and drops spent warrants that expired long
// ago. Every few seconds, and soon after a turn or a conversation ended, it has the ledger
// told how many proposals were refused and not recorded one by one, and reviewers' queue is filled.
//
//	m := maintenance.New(maintenance.Options{Values: jr, Warrants: db, Refusals: cp, Questions: calls, Log: log})
//	err := m.Run(ctx)       // until ctx ends, for a supervisor
//
// A piece of work that fails or panics is logged and keeps nothing from the others; it is
// tried again at the next tick. Background runs one such piece without a supervisor.
//
// What not to do: don't put a value, a name of a skill's argument or a panic's text into
// what is logged here.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through orchestrator/assembly.
package maintenance

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"
)

const (
	// forgetEvery is how often values whose retention is over are erased.
	forgetEvery = 10 * time.Minute
	// spentKept is how long spent warrants are remembered after they expired:
	// longer than a clock is ever set back. A warrant lives for a minute.
	spentKept = 24 * time.Hour
	// recordEvery is how often the ledger is told of proposals that were counted and not
	// recorded. A killed process takes them with it.
	recordEvery = 5 * time.Second
	// lastRecordTime bounds the same when the process ends.
	lastRecordTime = 5 * time.Second
)

// Values are erased when their retention is over.
type Values interface {
	Purge(ctx context.Context, now time.Time) (int, error)
}

// Warrants are remembered after they were spent.
type Warrants interface {
	PruneSpent(ctx context.Context, before time.Time) (int64, error)
}

// Refusals are proposals that became no calls and were counted, not recorded.
type Refusals interface {
	Suppressed(user, conversation string) int
	TellSuppressed(ctx context.Context) error
}

// Questions are those that a person is asked about commits.
type Questions interface {
	ExpireCommits(ctx context.Context) error
}

// Handed are calls that other programs run. Those whose time is over are ended.
type Handed interface {
	Sweep(ctx context.Context) error
}

// Approvals are forgotten a while after they ended.
type Approvals interface {
	Prune(ctx context.Context, before time.Time) (int, error)
}

// Queue is what reviewers look at. A call looks through a part of what was recorded.
type Queue interface {
	Fill(ctx context.Context) (more bool, err error)
}

// Archive closes the ledger's database file where it is too large or too old.
type Archive interface {
	ArchiveIfDue(ctx context.Context) error
}

// Options say what is maintained.
type Options struct {
	Values    Values
	Warrants  Warrants
	Refusals  Refusals
	Questions Questions
	// Handed is nil where no other program is handed calls.
	Handed Handed
	// Approvals is nil where the program asks people in its own way. They are forgotten
	// ApprovalsKept after their end.
	Approvals     Approvals
	ApprovalsKept time.Duration
	// Queue is nil where no reviewers look at decisions.
	Queue Queue
	// Archive is nil where the ledger is archived by hand alone.
	Archive Archive
	// Ticks say when things are forgotten, after the time at start; nil means every ten
	// minutes.
	Ticks <-chan time.Time
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	Log *slog.Logger
}

// Maintenance forgets what is to be forgotten. It is safe for concurrent use.
type Maintenance struct {
	o    Options
	wake chan struct{} // the ledger isn't told yet of some refused proposals
}

// New returns a Maintenance, which does nothing before Run. Without a logger it logs
// nothing.
func New(o Options) *Maintenance {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Maintenance{o: o, wake: make(chan struct{}, 1)}
}

// Run forgets what is to be forgotten, at once and at every tick, until ctx ends; it
// returns nil then.
func (m *Maintenance) Run(ctx context.Context) error {
	ticks := m.o.Ticks
	if ticks == nil {
		t := time.NewTicker(forgetEvery)
		defer t.Stop()
		ticks = t.C
	}
	record := time.NewTicker(recordEvery)
	defer record.Stop()
	for m.forgetExpired(ctx); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
			m.forgetExpired(ctx)
		case <-record.C:
			m.recordRefusals(ctx)
			m.fillQueue(ctx)
		case <-m.wake:
			m.recordRefusals(ctx)
		}
	}
}

// RecordSoon has the ledger told soon of refused proposals that it doesn't know of. It is
// for the end of a turn or a conversation, and waits for nothing.
func (m *Maintenance) RecordSoon(user, conversation string) {
	if m.o.Refusals.Suppressed(user, conversation) == 0 {
		return
	}
	select {
	case m.wake <- struct{}{}:
	default: // it is under way
	}
}

// RecordLast tells the ledger what it doesn't know when the process ends. It takes five
// seconds at most. A nil Maintenance has nothing to tell.
func (m *Maintenance) RecordLast() {
	if m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastRecordTime)
	defer cancel()
	m.recordRefusals(ctx)
}

// recordRefusals tells the ledger how many proposals became no calls and were
// not recorded one by one.
func (m *Maintenance) recordRefusals(ctx context.Context) {
	runContained(ctx, m.o.Log, "record how many proposals were refused", m.o.Refusals.TellSuppressed)
}

// fillQueue looks through a part of what was recorded for what reviewers look at.
func (m *Maintenance) fillQueue(ctx context.Context) {
	if m.o.Queue == nil {
		return
	}
	runContained(ctx, m.o.Log, "find decisions for reviewers", func(ctx context.Context) error {
		_, err := m.o.Queue.Fill(ctx)
		return err
	})
}

// forgetExpired erases values whose time is over and drops spent warrants that expired
// long ago. A piece of work that fails keeps nothing from the others, and is tried again.
func (m *Maintenance) forgetExpired(ctx context.Context) {
	runContained(ctx, m.o.Log, "erase expired values", func(ctx context.Context) error {
		n, err := m.o.Values.Purge(ctx, m.o.Now())
		if n > 0 {
			m.o.Log.Info("values whose retention is over were erased", "values", n)
		}
		return err
	})
	runContained(ctx, m.o.Log, "throw away what waited for expired questions", m.o.Questions.ExpireCommits)
	if m.o.Handed != nil {
		runContained(ctx, m.o.Log, "end calls that were handed over and not reported", m.o.Handed.Sweep)
	}
	if m.o.Approvals != nil {
		runContained(ctx, m.o.Log, "forget approvals that ended", func(ctx context.Context) error {
			_, err := m.o.Approvals.Prune(ctx, m.o.Now().Add(-m.o.ApprovalsKept))
			return err
		})
	}
	runContained(ctx, m.o.Log, "forget spent warrants", func(ctx context.Context) error {
		_, err := m.o.Warrants.PruneSpent(ctx, m.o.Now().Add(-spentKept))
		return err
	})
	if m.o.Archive != nil { // last: what is over doesn't move
		runContained(ctx, m.o.Log, "archive the ledger", m.o.Archive.ArchiveIfDue)
	}
}

// runContained runs one piece of maintenance and logs what goes wrong. The errors of store
// and journal hold no values, a panic might.
func runContained(ctx context.Context, log *slog.Logger, doing string, work func(context.Context) error) {
	defer func() {
		if recover() != nil {
			log.Error("maintenance panicked", "doing", doing, "stack", string(debug.Stack()))
		}
	}()
	if err := work(ctx); err != nil && ctx.Err() == nil { // Stop is no failure
		log.Warn("maintenance failed and is tried again later", "doing", doing, "error", err)
	}
}
