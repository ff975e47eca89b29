package assembly

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// counters are the limits of all processes and, where those are on a server,
// the ones that this process keeps for itself while the server is away.
type counters struct {
	all   *limits.Limiter
	alone *limits.Limiter   // nil where this process is all there is
	redis *redisstore.Store // nil likewise
	owed  *owed             // nil likewise
	open  bool              // while the server is away models are asked all the same
	// review is what the model review may spend.
	review reviewPurse
}

// newCounters makes what limits.store names. It doesn't reach for the server.
func newCounters(cfg *config.Config, o Options) (*counters, error) {
	numbers := limitNumbers(cfg)
	memory := limits.NewMemory(limits.MemoryOptions{Now: o.Now, IdleTTL: idleTTL(cfg)})
	if cfg.Limits.Store.Driver != config.LimitsOnRedis {
		l, err1 := limits.New(numbers, memory)
		a, err2 := reviewAccount(cfg, memory)
		return &counters{all: l, review: reviewPurse{all: a}}, errors.Join(err1, err2)
	}
	if err := checkLimitStore(cfg); err != nil {
		return nil, err
	}
	s := cfg.Limits.Store
	store, err := redisstore.Open(redisstore.Options{
		URL: s.URL.Reveal(), Timeout: s.Timeout, Prefix: s.Prefix, IdleTTL: idleTTL(cfg), Log: o.Log, Observe: o.ObserveLimits,
	})
	if err != nil {
		return nil, err
	}
	all, err1 := limits.New(numbers, store)
	alone, err2 := limits.New(numbers, memory)
	reviewAll, err3 := reviewAccount(cfg, store)
	reviewAlone, err4 := reviewAccount(cfg, memory)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &counters{
		all: all, alone: alone, redis: store, owed: newOwed(o.Log), open: s.WhenAway.Read == config.Allow,
		review: reviewPurse{reviewAll, reviewAlone},
	}, nil
}

// checkLimitStore finds what is wrong with limits.store, without reaching for it.
func checkLimitStore(cfg *config.Config) error {
	s := cfg.Limits.Store
	_, err := awayTable(cfg)
	if s.Driver == config.LimitsOnRedis {
		if urlErr := redisstore.CheckURL(s.URL.Reveal()); urlErr != nil {
			err = errors.Join(err, &skills.PathError{Path: "limits.store.url", Msg: urlErr.Error()})
		}
	}
	return err
}

func limitNumbers(cfg *config.Config) limits.Config {
	l := cfg.Limits
	budget := func(tokens int, cost config.Cost) limits.Budget {
		return limits.Budget{Tokens: int64(tokens), Cost: int64(cost)}
	}
	return limits.Config{
		Budgets: limits.Budgets{
			Agent: budget(l.Agent.Tokens, l.Agent.Cost), Turn: budget(l.Turn.Tokens, l.Turn.Cost),
			Conversation: budget(l.Conversation.Tokens, l.Conversation.Cost), User: budget(l.User.Tokens, l.User.Cost),
		},
		Agent:        limits.AgentConfig{Calls: l.Agent.Calls},
		Turn:         limits.TurnConfig{Agents: l.Turn.Agents, Calls: l.Turn.Calls},
		Conversation: limits.ConversationConfig{Calls: l.Conversation.Calls, Window: l.Conversation.Window},
		Skill:        limits.SkillConfig{Failures: l.Skill.Failures, Window: l.Skill.Window, OpenFor: l.Skill.OpenFor},
	}
}

// idleTTL is how long the limits store keeps counts that no call changes. A call
// that is held for a person still finds its agent's counts.
func idleTTL(cfg *config.Config) time.Duration { return 24*time.Hour + cfg.Approvals.Timeout }

// awayTable is limits.store.when_away in the checkpoint's words.
func awayTable(cfg *config.Config) (sentinel.AwayTable, error) {
	t, err := table("limits.store.when_away", cfg.Limits.Store.WhenAway)
	return sentinel.AwayTable(t), err
}

// greet asks the server whether it is there. One that isn't keeps nothing from
// starting: what happens to calls is configured, and the store logs that it is
// away. One that refuses denies every call until somebody mends it.
func (c *counters) greet(ctx context.Context, log *slog.Logger) {
	if c.redis == nil {
		return
	}
	if err := c.redis.Ping(ctx); err != nil && !errors.Is(err, limits.ErrAway) {
		log.Error("LIMITS REFUSED: every call is denied until the server of limits.store can be asked", "error", err)
	}
}

func (c *counters) close() error {
	if c == nil || c.redis == nil {
		return nil
	}
	c.owed.payAll(c.all)
	return c.redis.Close()
}

// endTurn forgets a turn's counts, the server's and those of this process.
func (c *counters) endTurn(ctx context.Context, p limits.Proposal) error {
	return c.both(func(l *limits.Limiter) error { return l.EndTurn(ctx, p) })
}

// endConversation forgets the counts of a conversation's turns likewise.
func (c *counters) endConversation(ctx context.Context, p limits.Proposal) error {
	return c.both(func(l *limits.Limiter) error { return l.EndConversation(ctx, p) })
}

func (c *counters) both(forget func(*limits.Limiter) error) error {
	err := forget(c.all)
	if c.alone == nil {
		return err
	}
	if errors.Is(err, limits.ErrAway) { // its store has said so, and the counts end by themselves
		err = nil
	}
	return errors.Join(err, forget(c.alone))
}

// reserve asks the limits store, which counts for all processes. While the store is
// unreachable this process counts for itself, so that limits still bound what goes
// on.
func (c *counters) reserve(ask func(*limits.Limiter) (limits.Verdict, error)) (limits.Verdict, error) {
	v, err := ask(c.all)
	if c.alone == nil || !errors.Is(err, limits.ErrAway) {
		return v, err
	}
	if own, ownErr := ask(c.alone); ownErr != nil || !own.OK {
		return own, ownErr
	}
	return limits.Verdict{}, fmt.Errorf("%w: %w", sentinel.ErrLimitsAway, err)
}

// tell tells how a call ended to who counts for all, or else to this process.
func (c *counters) tell(say func(*limits.Limiter) error) error {
	err := say(c.all)
	if c.alone != nil && errors.Is(err, limits.ErrAway) {
		return say(c.alone)
	}
	return err
}
