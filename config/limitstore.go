package config

import "time"

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

func limitStoreDefaults() LimitStore {
	return LimitStore{
		Driver: LimitsInMemory, Prefix: "vedette", Timeout: 200 * time.Millisecond,
		WhenAway: Fallback{Read: Allow, Create: Allow, Modify: Deny, Irreversible: Deny, CostsMoney: Deny, Outward: Deny},
	}
}

// checkLimitStore refuses what would count in memory though somebody meant a
// server, and a server without an address.
func (l *loader) checkLimitStore() {
	n := l.section("limits", "store")
	if n == nil || n.kind != mappingNode {
		return
	}
	driver := n.get("driver")
	if l.cfg.Limits.Store.Driver == LimitsOnRedis && n.get("url") == nil {
		l.out.add(driver.pos, `limits.store.url is missing; write url: "${REDIS_URL}", such as redis://host:6379`)
	}
	if driver != nil {
		return
	}
	for i := range n.entries {
		if e := &n.entries[i]; indexOf([]string{"url", "prefix", "timeout", "when_away"}, e.key) >= 0 {
			l.out.add(e.pos, "limits.store.%s is for driver redis, and there is no driver; write driver: redis", e.key)
		}
	}
}
