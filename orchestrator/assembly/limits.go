package assembly

import (
	"errors"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/fallback"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/review/purse"
	"github.com/vedette-dev/vedette/skills"
)

// counts are what counts: calls, and the spending of agents and of the review.
type counts struct {
	limiter *fallback.Limiter
	server  *redisstore.Store // nil where limits are counted in memory
	purse   review.Purse      // nil where the review has no bound
}

// newCounts makes what limits.store names. It doesn't reach for the server.
func newCounts(cfg *config.Config, o Options) (counts, error) {
	numbers := limitNumbers(cfg)
	memory := limits.NewMemory(limits.MemoryOptions{Now: o.Now, IdleTTL: idleTTL(cfg)})
	if cfg.Limits.Store.Driver != config.LimitsOnRedis {
		l, err1 := limits.New(numbers, memory)
		a, err2 := newReviewAccount(cfg, memory)
		return counts{limiter: fallback.New(fallback.Options{Shared: l, Log: o.Log}), purse: newPurse(a, nil)}, errors.Join(err1, err2)
	}
	if err := checkLimitStore(cfg); err != nil {
		return counts{}, err
	}
	s := cfg.Limits.Store
	server, err := redisstore.Open(redisstore.Options{
		URL: s.URL.Reveal(), Timeout: s.Timeout, Prefix: s.Prefix, IdleTTL: idleTTL(cfg), Log: o.Log, Observe: o.ObserveLimits,
	})
	if err != nil {
		return counts{}, err
	}
	shared, err1 := limits.New(numbers, server)
	own, err2 := limits.New(numbers, memory)
	reviewShared, err3 := newReviewAccount(cfg, server)
	reviewOwn, err4 := newReviewAccount(cfg, memory)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return counts{}, errors.Join(err, server.Close())
	}
	l := fallback.New(fallback.Options{
		Shared: shared, Own: own, Server: server, AskModels: s.WhenAway.Read == config.Allow, Log: o.Log,
	})
	return counts{l, server, newPurse(reviewShared, reviewOwn)}, nil
}

// checkLimitStore finds what is wrong with limits.store, without reaching for it.
func checkLimitStore(cfg *config.Config) error {
	s := cfg.Limits.Store
	_, err := newAwayTable(cfg)
	if s.Driver == config.LimitsOnRedis {
		if urlErr := redisstore.CheckURL(s.URL.Reveal()); urlErr != nil {
			err = errors.Join(err, &skills.PathError{Path: "limits.store.url", Msg: urlErr.Error()})
		}
	}
	return err
}

// limitNumbers returns the configured numbers.
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

// newAwayTable returns limits.store.when_away in the checkpoint's words.
func newAwayTable(cfg *config.Config) (sentinel.OutageTable, error) {
	return parseFallback("limits.store.when_away", cfg.Limits.Store.WhenAway)
}

// newReviewAccount returns what counts the review's spending; nil where there is no bound.
func newReviewAccount(cfg *config.Config, store limits.MeterStore) (*limits.Account, error) {
	share := func(s config.ReviewShare) limits.Allowance {
		return limits.Allowance{Calls: int64(s.Calls), Tokens: int64(s.Tokens), Cost: int64(s.Cost)}
	}
	b := cfg.Sentinel.Budget
	a := limits.Allowances{Conversation: share(b.Conversation), User: share(b.User), Day: share(b.Day)}
	if !a.Any() {
		return nil, nil //nolint:nilnil // no bound, nothing to count
	}
	return limits.NewAccount("review", a, store)
}

// newPurse returns nil, and no interface that holds nil, where there is no bound.
func newPurse(shared, own *limits.Account) review.Purse {
	if shared == nil {
		return nil
	}
	return purse.New(fallback.Account{Shared: shared, Own: own})
}
