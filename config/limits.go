package config

import (
	"cmp"
	"time"
)

// Limits are the budgets of all levels, and the breaker that every skill has.
type Limits struct {
	Agent        AgentLimits        `yaml:"agent"`
	Turn         TurnLimits         `yaml:"turn"`
	Conversation ConversationLimits `yaml:"conversation"`
	// User is each user's share, and Process what there is to share.
	User    UserLimits    `yaml:"user"`
	Process ProcessLimits `yaml:"process"`
	Skill   SkillLimits   `yaml:"skill"`
	// Store is where all of these are counted.
	Store LimitStore `yaml:"store"`
}

// AgentLimits bound one agent over its life.
type AgentLimits struct {
	// Calls is the most that an agent may propose, whatever its dispatch names; zero is not written: see Default and
	// Ceiling.
	Calls int `yaml:"calls" cfg:"min=1,max=10000"`
	// Tokens and Cost are what its questions to models may take; zero is no bound.
	Tokens int  `yaml:"tokens" cfg:"min=1,max=1000000000000"`
	Cost   Cost `yaml:"cost" cfg:"bound"`
}

// Default is how many calls an agent may propose whose dispatch names no number.
func (l AgentLimits) Default() int { return cmp.Or(l.Calls, 5) }

// Ceiling is how many calls an agent may propose at most, whatever its dispatch names.
func (l AgentLimits) Ceiling() int { return cmp.Or(l.Calls, 20) }

// TurnLimits bound one turn of the conversation.
type TurnLimits struct {
	Agents int `yaml:"agents" cfg:"min=1,max=10000"`
	Calls  int `yaml:"calls" cfg:"min=1,max=10000"`
	// Tokens and Cost are for the orchestrator's model and all agents.
	Tokens int  `yaml:"tokens" cfg:"min=1,max=1000000000000"`
	Cost   Cost `yaml:"cost" cfg:"bound"`
}

// ConversationLimits bound a conversation over a sliding window.
type ConversationLimits struct {
	Calls  int           `yaml:"calls" cfg:"min=1,max=10000"`
	Window time.Duration `yaml:"window" cfg:"min=100ms,max=24h"`
	Tokens int           `yaml:"tokens" cfg:"min=1,max=1000000000000"`
	Cost   Cost          `yaml:"cost" cfg:"bound"`
}

// The drivers of LimitStore.
const (
	LimitsInMemory = "memory"
	LimitsOnRedis  = "redis"
)

// LimitStore is where limits are counted: in this process, or on a Redis server
// that several processes share.
type LimitStore struct {
	// Driver is memory or redis.
	Driver string `yaml:"driver" cfg:"enum=memory|redis"`
	// URL is the server's address; with driver redis alone, and needed there.
	// It may hold a password, so it prints as one.
	URL Secret `yaml:"url"`
	// Prefix begins all keys on the server.
	Prefix string `yaml:"prefix" cfg:"pattern=prefix"`
	// Timeout bounds one question to the server, connecting included.
	Timeout time.Duration `yaml:"timeout" cfg:"min=10ms,max=10s"`
	// WhenAway is what happens to calls while the server can't be asked.
	WhenAway Fallback `yaml:"when_away"`
}

// limitStoreDefaults returns the default of limits.store.
func limitStoreDefaults() LimitStore {
	return LimitStore{
		Driver: LimitsInMemory, Prefix: "vedette", Timeout: 200 * time.Millisecond,
		WhenAway: Fallback{Read: Allow, Create: Allow, Modify: Deny, Irreversible: Deny, CostsMoney: Deny, Outward: Deny},
	}
}

// ProcessLimits are how much there may be in this process at a time. What finds no
// room waits its turn among all users, or is refused with a hint when to come
// again.
type ProcessLimits struct {
	// Conversations are those with a process of their own. They are in use, or
	// idle for less than a quarter of an hour.
	Conversations int `yaml:"conversations" cfg:"min=1,max=1000000"`
	Turns         int `yaml:"turns" cfg:"min=1,max=100000"`
	Agents        int `yaml:"agents" cfg:"min=1,max=100000"`
	// Waiting is how many requests may wait for a turn.
	Waiting int `yaml:"waiting" cfg:"min=1,max=100000"`
	// Wait is the longest that a request waits for its turn.
	Wait time.Duration `yaml:"wait" cfg:"min=10ms,max=10m"`
}

// UserLimits are one user's share of ProcessLimits, and what a user's
// conversations may spend on models in a day. Zero tokens or cost is no bound.
// In memory the day begins again when the program restarts; on Redis it goes on.
type UserLimits struct {
	Conversations int  `yaml:"conversations" cfg:"min=1,max=1000000"`
	Turns         int  `yaml:"turns" cfg:"min=1,max=100000"`
	Agents        int  `yaml:"agents" cfg:"min=1,max=100000"`
	Waiting       int  `yaml:"waiting" cfg:"min=1,max=100000"`
	Tokens        int  `yaml:"tokens" cfg:"min=1,max=1000000000000"`
	Cost          Cost `yaml:"cost" cfg:"bound"`
}

// SkillLimits bound each skill: its breaker, and how often it runs at a time.
type SkillLimits struct {
	Failures    int           `yaml:"failures" cfg:"min=1,max=1000"`
	Window      time.Duration `yaml:"window" cfg:"min=100ms,max=24h"`
	OpenFor     time.Duration `yaml:"open_for" cfg:"min=100ms,max=24h"`
	Concurrency int           `yaml:"concurrency" cfg:"min=1,max=10000"`
}

// Cost is an amount of money in millionths of whatever currency prices are
// written in; 0.25 is 250,000.
type Cost int64

// maxCost is the greatest Cost that can be written, in whole units.
const maxCost = 1_000_000

// Price is what a model costs, for a million tokens. What is not written is
// nothing.
type Price struct {
	Input  Cost `yaml:"input"`
	Output Cost `yaml:"output"`
}

// limitDefaults returns the default of limits.
func limitDefaults() Limits {
	return Limits{
		Turn:         TurnLimits{Agents: 8, Calls: 30},
		Conversation: ConversationLimits{Calls: 50, Window: 5 * time.Minute},
		User:         UserLimits{Conversations: 1000, Turns: 32, Agents: 128, Waiting: 128},
		Process:      ProcessLimits{Conversations: 10_000, Turns: 256, Agents: 1024, Waiting: 1024, Wait: 30 * time.Second},
		Skill:        SkillLimits{Failures: 3, Window: time.Minute, OpenFor: 30 * time.Second, Concurrency: 64},
		Store:        limitStoreDefaults(),
	}
}

// Priced reports whether any budget is in money.
func (l Limits) Priced() bool {
	return l.Agent.Cost > 0 || l.Turn.Cost > 0 || l.Conversation.Cost > 0 || l.User.Cost > 0
}
