package config

import "time"

// Alert is a rule over the decision log, of which channels under approvals.notify are told.
type Alert struct {
	// Name names the rule in messages and in the database.
	Name string `yaml:"name" cfg:"required,pattern=id"`
	// Watch is what the rule watches for.
	Watch string `yaml:"watch" cfg:"required,enum=denials|degraded|first_irreversible|canaries|verify"`
	// Count is how many denied or degraded decisions there must be within Window.
	Count int `yaml:"count" cfg:"min=1,max=1000000"`
	// Share is the least share of them among all decisions that the rule looks at.
	Share Hundredths `yaml:"share"`
	// Window is the time that a rate is counted over.
	Window time.Duration `yaml:"window" cfg:"min=10s,max=24h"`
	// Query chooses the records that the rule looks at; empty takes all.
	Query string `yaml:"query"`
	// Every is how often the ledger is verified.
	Every time.Duration `yaml:"every" cfg:"min=1m,max=720h"`
	// Throttle is the least time between two alerts of the rule.
	Throttle time.Duration `yaml:"throttle" cfg:"min=1m,max=720h"`
	// Channels are those that are told; none is every channel.
	Channels []string `yaml:"channels" cfg:"nonempty"`
}

func (a *Alert) setDefaults() {
	*a = Alert{Count: 10, Window: 10 * time.Minute, Every: 24 * time.Hour, Throttle: time.Hour}
}

// alertKeys are the keys that only some alerts have, and what these watch for.
var alertKeys = map[string][]string{
	"count": {"denials", "degraded"}, "share": {"denials", "degraded"}, "window": {"denials", "degraded"},
	"query": {"denials", "degraded", "first_irreversible"}, "every": {"verify"},
	"throttle": {"denials", "degraded", "canaries", "verify"},
}
