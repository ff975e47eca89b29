package redisstore

import (
	"strings"
	"time"
)

// Info is what a server reports about itself, for its operator. A field is empty where
// the user's rights on the server don't allow the question.
type Info struct {
	Version string
	// Policy is maxmemory-policy; MaxMemory is set where there is a bound for
	// it to act on.
	Policy    string
	MaxMemory bool
	// AOF and Told say whether an append-only file is kept, and whether that
	// is known.
	AOF, Told bool
	// Skew is how far the server's clock is ahead of this one. The question's own
	// time bounds how exactly Skew is known; it is 0 within that.
	Skew time.Duration
}

// readReport takes the few lines that matter out of the server's report.
func (i *Info) readReport(report string) {
	for line := range strings.Lines(report) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch key {
		case "redis_version":
			i.Version = value
		case "maxmemory_policy":
			i.Policy = value
		case "maxmemory":
			i.MaxMemory = value != "0"
		case "aof_enabled":
			i.AOF, i.Told = value == "1", true
		}
	}
}
