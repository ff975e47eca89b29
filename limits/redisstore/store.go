package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/vedette-dev/vedette/limits"
)

// Defaults for fields of Options that are zero.
const (
	DefaultTimeout = 200 * time.Millisecond
	DefaultRetry   = 500 * time.Millisecond
	DefaultPrefix  = "vedette"
	DefaultIdleTTL = 24 * time.Hour
)

const (
	// poolSize is how many connections there are at most. The server answers
	// one at a time, so more would only wait there.
	poolSize = 32
	// slack is how much longer than its window a key lives. Scores say what
	// counts, and a clock set back a little must not find the key gone.
	slack = time.Minute
)

// Options say which server, and how long to wait for it.
type Options struct {
	// URL is redis://user:password@host:port/db, rediss:// for TLS, or
	// unix://path. Port, db, user and password may be left out; there are no
	// parameters. It is never logged nor part of an error.
	URL string
	// Timeout bounds a call, connecting included. If zero, 200 ms.
	Timeout time.Duration
	// Retry is how often a call tries a server that is away, while the others
	// fail at once. If zero, 500 ms; never less than Timeout.
	Retry time.Duration
	// Prefix begins all keys. If empty, "vedette".
	Prefix string
	// IdleTTL is how long a lifetime bucket stays that no call uses and no end of a
	// turn removes. The count starts again after IdleTTL, so it must be longer than a
	// call may wait for a person's answer. If zero, 24 hours.
	IdleTTL time.Duration
	// TLS is used with rediss://, for a private authority or a client's
	// certificate. If nil, the system's authorities and TLS 1.2 or newer.
	TLS *tls.Config
	// Log is told when the server goes away and comes back; nil discards.
	Log *slog.Logger
	// Observe is told the same, for metrics. It must not block.
	Observe func(Event)
}

// Store is a limits.Store on a Redis server. It is safe for concurrent use and
// starts no goroutine that outlives Close.
type Store struct {
	client  *redis.Client
	timeout time.Duration
	prefix  string
	idle    time.Duration
	health  *health
	clock   func() time.Time // nil: the server's. Tests of the contract alone set it.
}

var _ limits.Store = (*Store)(nil)

// ErrURL means that Options.URL is no address of a Redis server. Its text
// doesn't hold the address, which may hold a password.
var ErrURL = errors.New("is no address of a Redis server; " +
	"write redis://host:port/db, rediss://… for TLS, or unix:///path, without parameters")

// Open returns a Store for the server at o.URL. Open doesn't connect: where a server is away,
// each call returns an error. ErrURL is the only error of Open.
//
// The Redis client library has one logger for all its clients in a process. Open
// silences that logger, which would write addresses to standard error.
func Open(o Options) (*Store, error) {
	opt, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	opt.Protocol, opt.DisableIdentity = 2, true
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	opt.DialTimeout, opt.ReadTimeout, opt.WriteTimeout, opt.PoolTimeout = o.Timeout, o.Timeout, o.Timeout, o.Timeout
	opt.ContextTimeoutEnabled, opt.DialerRetries = true, 1
	// One repetition finds a new connection where the server closed the old one.
	opt.MaxRetries, opt.MinRetryBackoff, opt.MaxRetryBackoff = 1, -1, -1
	opt.PoolSize, opt.PipelinePoolSize = poolSize, -1
	if opt.TLSConfig != nil && o.TLS != nil {
		name := opt.TLSConfig.ServerName
		if opt.TLSConfig = o.TLS.Clone(); opt.TLSConfig.ServerName == "" {
			opt.TLSConfig.ServerName = name
		}
	}
	silenceLibrary()
	return &Store{
		client: redis.NewClient(opt), timeout: o.Timeout, prefix: o.Prefix, idle: o.IdleTTL,
		health: &health{retry: max(o.Retry, o.Timeout), address: opt.Addr, log: o.Log, observe: o.Observe},
	}, nil
}

// withDefaults returns o with every zero field replaced by its default.
func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Retry <= 0 {
		o.Retry = DefaultRetry
	}
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.IdleTTL <= 0 {
		o.IdleTTL = DefaultIdleTTL
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// parseURL reads an address. The library's errors hold the address with its
// password, and its parameters can switch the checks of TLS off.
func parseURL(raw string) (*redis.Options, error) {
	u, err := url.Parse(raw)
	if err != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "" {
		return nil, ErrURL
	}
	if port := u.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return nil, ErrURL
		}
	}
	if u.Scheme != "unix" && (u.Hostname() == "" || strings.HasPrefix(strings.TrimPrefix(u.Path, "/"), "-")) {
		return nil, ErrURL
	}
	opt, err := redis.ParseURL(raw)
	if err != nil {
		return nil, ErrURL
	}
	return opt, nil
}

// CheckURL returns ErrURL for what is no address of a Redis server, else nil.
func CheckURL(raw string) error {
	_, err := parseURL(raw)
	return err
}

type discardLog struct{}

func (discardLog) Printf(context.Context, string, ...any) {}

var silenceLibrary = sync.OnceFunc(func() { redis.SetLogger(discardLog{}) })

// Ping asks the server whether it is there. Its errors are those of all calls.
func (s *Store) Ping(ctx context.Context) error {
	return s.askServer(ctx, func(ctx context.Context) error { return s.client.Ping(ctx).Err() })
}

// Close closes the connections. Calls in flight fail.
func (s *Store) Close() error {
	err := s.client.Close()
	if errors.Is(err, redis.ErrClosed) {
		return nil
	}
	return err
}

// Stats returns how the server has been reached so far.
func (s *Store) Stats() Stats { return s.health.currentStats() }

// Hash returns the table of that name. Its calls fail as the Store's do.
func (s *Store) Hash(name string) *Hash { return &Hash{s, s.prefix + ":" + name} }

// Inspect asks a server about itself. Its errors are those of all calls; what
// the server's rights refuse to tell is no error.
func (s *Store) Inspect(ctx context.Context) (info Info, err error) {
	err = s.askServer(ctx, func(ctx context.Context) error {
		sent := time.Now()
		at, err := s.client.Time(ctx).Result()
		if err != nil {
			return err
		}
		info.Skew = clockSkew(at, sent, time.Now())
		return nil
	})
	if err != nil {
		return Info{}, err
	}
	var text string
	_ = s.askServer(ctx, func(ctx context.Context) error {
		var e error
		text, e = s.client.Info(ctx).Result()
		return e
	})
	info.readReport(text)
	return info, nil
}

// clockSkew returns how far at lies outside of the time between from and to.
func clockSkew(at, from, to time.Time) time.Duration {
	switch {
	case at.Before(from):
		return at.Sub(from)
	case at.After(to):
		return at.Sub(to)
	}
	return 0
}

// askServer asks the server within the time-out, or says at once that it is away.
func (s *Store) askServer(ctx context.Context, ask func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.health.allowAttempt(time.Now()); err != nil {
		return err
	}
	bound, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	err := translateError(ctx, bound, ask(bound))
	s.health.learnFromResult(time.Now(), err)
	return err
}

// runScript asks by a script and returns its answer, n numbers.
func (s *Store) runScript(ctx context.Context, script *redis.Script, n int, keys []string, args ...any) (answer []int64, err error) {
	err = s.askServer(ctx, func(ctx context.Context) error {
		answer, err = script.Run(ctx, s.client, keys, append([]any{s.clockArgument()}, args...)...).Int64Slice()
		return err
	})
	if err == nil && len(answer) != n {
		err = errAnswerForm
	}
	return answer, err
}

var errAnswerForm = errors.New("limits: the Redis server gave an answer of another form; is it a Redis server?")

// clockArgument returns the time of a test's clock, or nothing for the server's.
func (s *Store) clockArgument() string {
	if s.clock == nil {
		return ""
	}
	return strconv.FormatInt(s.clock().UnixMicro(), 10)
}

// toMicroseconds rounds up: no window is shorter than was asked for.
func toMicroseconds(d time.Duration) int64 {
	n := d / time.Microsecond
	if d%time.Microsecond > 0 {
		n++
	}
	return int64(n)
}

// fromMicroseconds returns the duration of a server's answer.
func fromMicroseconds(micros int64) time.Duration { return time.Duration(micros) * time.Microsecond }
