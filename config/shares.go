package config

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

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

// ProcessLimits are how much there may be in this process at a time. What finds
// no room waits its turn among all users, or is refused with a hint when to
// come again.
type ProcessLimits struct {
	// Conversations are those with a process of their own: in use, or idle for
	// less than a quarter of an hour.
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

func limitDefaults() Limits {
	return Limits{
		Agent:        AgentLimits{Calls: 5},
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

// checkPrices refuses a budget in money beside a model without a price: the budget would
// count the model's calls as free.
func (l *loader) checkPrices() {
	models := l.get("models")
	where := "limits has a cost"
	if !l.cfg.Limits.Priced() {
		where = "sentinel.budget has a cost"
	}
	if !l.cfg.Limits.Priced() && !l.cfg.Sentinel.Budget.Priced() || models == nil || models.kind != mappingNode {
		return
	}
	for i := range models.entries {
		e := &models.entries[i]
		if _, known := l.cfg.Models[e.key]; known && e.val.kind == mappingNode && e.val.get("price") == nil {
			l.out.add(e.pos, "models.%s has no price and %s; write price: {input: 0.25, output: 2.00}, for a million tokens", e.key, where)
		}
	}
}

var costRE = regexp.MustCompile(`^[0-9]{1,7}(?:\.[0-9]{1,6})?$`)

// cost decodes an amount without ever making it a float.
func (d *decoder) cost(p place, v reflect.Value, f field) {
	if !p.n.bare() || !costRE.MatchString(p.n.text) {
		d.fail(p, p.n.pos, "must be an amount such as 2.50, with at most six decimals%s", notA(p.n))
		return
	}
	whole, frac, _ := strings.Cut(p.n.text, ".")
	n, _ := strconv.ParseInt(whole+(frac + "000000")[:6], 10, 64) // digits: the pattern saw to it
	if n > maxCost*1_000_000 {
		d.fail(p, p.n.pos, "must be an amount up to %d%s", maxCost, notA(p.n))
		return
	}
	if f.bound && n == 0 { // a bound of nothing would be read as no bound
		d.fail(p, p.n.pos, "must be more than 0%s; leave it out for no bound", notA(p.n))
		return
	}
	v.SetInt(n)
}
