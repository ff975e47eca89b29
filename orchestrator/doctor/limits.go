package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/redisstore"
)

// limits asks the server that counts.
func (e *exam) limits(ctx context.Context) {
	s := e.cfg.Limits.Store
	switch {
	case s.Driver != config.LimitsOnRedis:
		e.ok("limits", "counted in memory: each process has budgets of its own, and a restart begins them at zero")
		return
	case e.offline:
		e.ok("limits", "the server of limits.store was not asked")
		return
	}
	store, err := redisstore.Open(redisstore.Options{URL: s.URL.Reveal(), Timeout: max(s.Timeout, time.Second), Prefix: s.Prefix})
	if err != nil {
		e.problem("limits", "limits.store.url "+err.Error(), "correct it")
		return
	}
	info, err := store.Inspect(ctx)
	_ = store.Close() // nothing was written
	switch {
	case errors.Is(err, limits.ErrAway):
		e.problem("limits", "the server of limits.store can't be reached: limits.store.when_away decides",
			"start it, and check limits.store.url and the firewall")
		return
	case err != nil:
		e.problem("limits", "the server of limits.store refuses: "+err.Error(),
			"every call is denied until it answers: check user, password and rights in limits.store.url")
		return
	}
	e.ok("limits", "Redis %s answers", info.Version)
	e.skew("limits clock", "the server", info.Skew, true)
	e.keeps(info)
}

// keeps says whether counts can get lost.
func (e *exam) keeps(i redisstore.Info) {
	switch i.Policy {
	case "":
		e.warn("limits eviction", "the server does not tell its maxmemory-policy", "let its user run INFO, or make sure that it is noeviction")
	case "noeviction", "volatile-ttl":
		e.ok("limits eviction", "maxmemory-policy is %s", i.Policy)
	default:
		e.problem("limits eviction", fmt.Sprintf("maxmemory-policy is %s: a count that is evicted is a limit that is lifted", i.Policy),
			"set maxmemory-policy to noeviction")
	}
	switch {
	case !i.Told:
		e.warn("limits persistence", "the server does not tell whether it keeps an append-only file", "let its user run INFO")
	case !i.AOF:
		e.warn("limits persistence", "no append-only file is kept: a restart of the server begins every budget at zero", "set appendonly to yes")
	default:
		e.ok("limits persistence", "an append-only file is kept")
	}
}
