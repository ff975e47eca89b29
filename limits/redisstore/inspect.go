package redisstore

import (
	"context"
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
	// Skew is how far the server's clock is ahead of this one; it can't be told
	// more exactly than what the question took, and is 0 within that.
	Skew time.Duration
}

// Inspect asks a server about itself. Its errors are those of all calls; what
// the server's rights refuse to tell is no error.
func (s *Store) Inspect(ctx context.Context) (info Info, err error) {
	err = s.do(ctx, func(ctx context.Context) error {
		sent := time.Now()
		at, err := s.client.Time(ctx).Result()
		if err != nil {
			return err
		}
		info.Skew = apart(at, sent, time.Now())
		return nil
	})
	if err != nil {
		return Info{}, err
	}
	var text string
	_ = s.do(ctx, func(ctx context.Context) error {
		var e error
		text, e = s.client.Info(ctx).Result()
		return e
	})
	info.read(text)
	return info, nil
}

// apart is how far at lies outside of the time between from and to.
func apart(at, from, to time.Time) time.Duration {
	switch {
	case at.Before(from):
		return at.Sub(from)
	case at.After(to):
		return at.Sub(to)
	}
	return 0
}

// read takes the few lines that matter out of the server's report.
func (i *Info) read(report string) {
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
