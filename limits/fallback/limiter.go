package fallback

import (
	"context"
	"errors"
	"log/slog"

	"github.com/vedette-dev/vedette/limits"
)

// Server is the limits store's server as far as its connection goes.
type Server interface {
	Ping(ctx context.Context) error
	Close() error
}

// Options say who counts.
type Options struct {
	// Shared counts for all processes, or for this one where there is no server.
	Shared *limits.Limiter
	// Own and Server are set together, or both are nil where limits are counted in memory.
	Own    *limits.Limiter
	Server Server
	// AskModels says that models are asked while the server is unreachable.
	AskModels bool
	Log       *slog.Logger
}

// Limiter are the limits of all processes. Where those are on a server, it holds besides
// the limits that this process counts for itself. It is safe for concurrent use.
type Limiter struct {
	shared    *limits.Limiter
	own       *limits.Limiter   // nil where this process is all there is
	server    Server            // nil likewise
	unsynced  *unsyncedSpending // nil likewise
	askModels bool
	log       *slog.Logger
}

// New returns a Limiter. It doesn't reach for the server. Without a logger it logs
// nothing.
func New(o Options) *Limiter {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Limiter{shared: o.Shared, own: o.Own, server: o.Server, askModels: o.AskModels, log: o.Log}
	if l.own != nil {
		l.unsynced = newUnsyncedSpending(o.Log)
	}
	return l
}

// GreetStore asks the server whether it is there. A server that is away keeps nothing from
// starting: the configuration says what happens to calls, and the store logs that it is
// away. A server that refuses denies every call until an operator mends it.
func (l *Limiter) GreetStore(ctx context.Context) {
	if l.server == nil {
		return
	}
	if err := l.server.Ping(ctx); err != nil && !errors.Is(err, limits.ErrAway) {
		l.log.Error("LIMITS REFUSED: every call is denied until the server of limits.store can be asked", "error", err)
	}
}

// SetCounts takes other counts: see limits.Limiter.SetCounts.
func (l *Limiter) SetCounts(cfg limits.Config) error {
	err := l.shared.SetCounts(cfg)
	if l.own != nil {
		err = errors.Join(err, l.own.SetCounts(cfg))
	}
	return err
}

// Close tells the server what it has not heard yet, for a second at most, and closes its
// connections. A nil Limiter has nothing to close.
func (l *Limiter) Close() error {
	if l == nil || l.server == nil {
		return nil
	}
	l.unsynced.syncAll(l.shared)
	return l.server.Close()
}

// Reserve uses a slot of the proposal's agent, turn and conversation. The error wraps
// limits.ErrAway where the shared store is unreachable and this process has room.
func (l *Limiter) Reserve(ctx context.Context, p limits.Proposal) (limits.Verdict, error) {
	return l.reserveWith(func(counting *limits.Limiter) (limits.Verdict, error) { return counting.Reserve(ctx, p) })
}

// ReserveAgent uses one of the turn's agents. Its errors are those of Reserve.
func (l *Limiter) ReserveAgent(ctx context.Context, p limits.Proposal) (limits.Verdict, error) {
	return l.reserveWith(func(counting *limits.Limiter) (limits.Verdict, error) { return counting.ReserveAgent(ctx, p) })
}

// reserveWith asks the limits store, which counts for all processes. While the store is
// unreachable this process counts for itself, so that limits still bound what goes
// on.
func (l *Limiter) reserveWith(reserve func(*limits.Limiter) (limits.Verdict, error)) (limits.Verdict, error) {
	v, err := reserve(l.shared)
	if l.own == nil || !errors.Is(err, limits.ErrAway) {
		return v, err
	}
	if own, ownErr := reserve(l.own); ownErr != nil || !own.OK {
		return own, ownErr
	}
	return limits.Verdict{}, err
}

// Report tells the skill's breaker how a run ended.
func (l *Limiter) Report(ctx context.Context, skill, callID string, ok bool) error {
	return l.tellCounting(func(counting *limits.Limiter) error { return counting.Report(ctx, skill, callID, ok) })
}

// Abandon frees the breaker's probe of a call that did not run.
func (l *Limiter) Abandon(ctx context.Context, skill, callID string) error {
	return l.tellCounting(func(counting *limits.Limiter) error { return counting.Abandon(ctx, skill, callID) })
}

// tellCounting tells the shared limiter how a call ended, or else the own one.
func (l *Limiter) tellCounting(tell func(*limits.Limiter) error) error {
	err := tell(l.shared)
	if l.own != nil && errors.Is(err, limits.ErrAway) {
		return tell(l.own)
	}
	return err
}

// EndTurn forgets a turn's counts, the server's and those of this process.
func (l *Limiter) EndTurn(ctx context.Context, p limits.Proposal) error {
	return l.forgetCounts(func(counting *limits.Limiter) error { return counting.EndTurn(ctx, p) })
}

// EndConversation forgets the counts of a conversation's turns likewise.
func (l *Limiter) EndConversation(ctx context.Context, p limits.Proposal) error {
	return l.forgetCounts(func(counting *limits.Limiter) error { return counting.EndConversation(ctx, p) })
}

// forgetCounts has both limiters forget. An unreachable server is no error.
func (l *Limiter) forgetCounts(forget func(*limits.Limiter) error) error {
	err := forget(l.shared)
	if l.own == nil {
		return err
	}
	if errors.Is(err, limits.ErrAway) { // its store has said so, and the counts end by themselves
		err = nil
	}
	return errors.Join(err, forget(l.own))
}

// Hold asks the limits store for room. During an outage this process counts for
// itself if Options.AskModels lets questions go on. Otherwise Hold returns an error, and
// the model must not be asked.
func (l *Limiter) Hold(ctx context.Context, s limits.Spending) (limits.Verdict, error) {
	if l.own == nil {
		return l.shared.Hold(ctx, s)
	}
	if err := l.shared.CheckSpending(s); err != nil {
		return limits.Verdict{}, err
	}
	before, had := l.unsynced.withdraw(s.ID) // an amount of this question's last attempt
	if !had {
		before = newNothing(s)
	}
	keep := had // also where a store panics
	defer func() { l.unsynced.release(before, had, keep) }()
	v, err := l.holdShared(ctx, s)
	if err == nil {
		keep = had && !v.OK
		return v, nil
	}
	if !l.askModels || !errors.Is(err, limits.ErrAway) {
		keep = had || canBeTold(err) // the store may hold room for what isn't asked
		return limits.Verdict{}, err
	}
	l.unsynced.markUnsure(s.ID)
	v, err = l.own.Hold(ctx, s)
	if keep = err != nil || !v.OK; keep {
		l.unsynced.clearUnsure(s.ID)
		keep = had || canBeTold(err)
	}
	return v, err
}

// holdShared asks the server for room, after telling it some of what it missed.
func (l *Limiter) holdShared(ctx context.Context, s limits.Spending) (limits.Verdict, error) {
	if err := l.unsynced.syncSome(ctx, l.shared); err != nil {
		return limits.Verdict{}, err
	}
	return l.shared.Hold(ctx, s)
}

// Spend tells what was spent to the shared store, now or once it is back. It tells this
// process as well, whose own counts then hold also what it spent before an outage.
func (l *Limiter) Spend(ctx context.Context, s limits.Spending) error {
	if l.own == nil {
		return l.shared.Spend(ctx, s)
	}
	if err := l.shared.CheckSpending(s); err != nil {
		return err
	}
	_, had := l.unsynced.withdraw(s.ID)
	keep := true // also where a store panics
	defer func() { l.unsynced.release(s, had, keep) }()
	tell := l.shared.Spend
	if l.unsynced.clearUnsure(s.ID) { // a server that held nothing for it would count nothing
		tell = l.shared.Respend
	}
	err := tell(ctx, s)
	keep = err != nil && canBeTold(err)
	if errors.Is(err, limits.ErrAway) { // its store has said so
		err = nil
	}
	return errors.Join(err, l.own.Respend(ctx, s))
}

// Unsynced returns how many questions' spending the shared store has not heard yet. It is
// zero where there is no server.
func (l *Limiter) Unsynced() int {
	if l == nil || l.unsynced == nil {
		return 0
	}
	return l.unsynced.count()
}

// Recount counts what was spent before the program started. A server knows that
// already, so only counts in memory change.
func (l *Limiter) Recount(ctx context.Context, s limits.Spending) error {
	if l.server != nil {
		return nil
	}
	return l.shared.Respend(ctx, s)
}

// canBeTold reports whether what the store answered with err can be told later. A request
// that no store can take could never be told.
func canBeTold(err error) bool { return !errors.Is(err, limits.ErrRequest) }

// newNothing is what a question came to that was not asked.
func newNothing(s limits.Spending) limits.Spending {
	s.Tokens, s.Cost = 0, 0
	return s
}
