package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
)

// logbook is what a program's log would hold.
type logbook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(l, nil)) }

var call = []limits.Bucket{{Key: "c/agent", Max: 10_000}, {Key: "c/calls", Max: 10_000, Window: time.Hour}}

func try(t *testing.T, s *redisstore.Store, id string) error {
	t.Helper()
	got, err := s.Take(t.Context(), id, call)
	if err != nil {
		require.Equal(t, limits.Taken{Full: -1}, got, "an error is no room")
	}
	return err
}

// untilAnswered asks until the store answers again.
func untilAnswered(t *testing.T, s *redisstore.Store, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try(t, s, id)
		if err == nil {
			return
		}
		require.ErrorIs(t, err, limits.ErrAway)
		select {
		case <-ctx.Done():
			t.Fatal("the store did not come back by itself")
		case <-tick.C:
		}
	}
}

// answering returns a store with a connection: the server has just answered within
// its time-out. On a busy machine the first calls of a server that has just
// started take longer than these short time-outs. Such a store is right to say
// that its server is away, and answering opens another.
func answering(t *testing.T, o redisstore.Options, id string) *redisstore.Store {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		s, err := redisstore.Open(o)
		require.NoError(t, err)
		if err = try(t, s, id); err == nil {
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			require.Equal(t, redisstore.Stats{}, s.Stats())
			return s
		}
		require.NoError(t, s.Close())
		require.ErrorIs(t, err, limits.ErrAway)
		require.True(t, time.Now().Before(deadline), "the server never answered in time")
	}
}

// A server that is killed under load loses no acknowledged slot. Every other call
// learns that the store is away. After a restart the counts go on where they were,
// by themselves.
func TestKilledUnderLoad(t *testing.T) {
	srv := redistest.Start(t)
	s := open(t, redisstore.Options{URL: srv.URL(), Prefix: "k", Timeout: 2 * time.Second, Retry: 2 * time.Second})
	require.NoError(t, try(t, s, "first"))
	var taken, away, other atomic.Int64
	var wg sync.WaitGroup
	enough := make(chan struct{})
	for g := range 16 {
		wg.Go(func() {
			for i := range 600 {
				got, err := s.Take(t.Context(), fmt.Sprintf("%d-%d", g, i), call)
				switch {
				case got.OK:
					if taken.Add(1) == 500 {
						close(enough)
					}
				case errors.Is(err, limits.ErrAway):
					away.Add(1)
				default:
					other.Add(1)
				}
			}
		})
	}
	<-enough
	srv.Kill()
	wg.Wait()
	require.Zero(t, other.Load())
	require.Positive(t, away.Load())
	require.ErrorIs(t, try(t, s, "dead"), limits.ErrAway)

	srv.Restart()
	untilAnswered(t, s, "first")
	got, err := s.Take(t.Context(), "first", call)
	require.NoError(t, err)
	acknowledged := int(taken.Load()) + 1
	require.GreaterOrEqual(t, got.Used, acknowledged, "what was acknowledged is counted")
	require.LessOrEqual(t, got.Used, acknowledged+16+1, "besides, at most what was in flight")
	require.False(t, s.Stats().Away)
}

// A server that holds connections and says nothing costs a call its time-out.
// After a few such calls the others lose no time at all.
func TestSilentServer(t *testing.T) {
	srv := redistest.Start(t)
	const timeout = 100 * time.Millisecond
	s := answering(t, redisstore.Options{URL: srv.URL(), Timeout: timeout, Retry: time.Minute}, "1")
	srv.Freeze()
	for range 3 {
		start := time.Now()
		err := try(t, s, "2")
		require.ErrorIs(t, err, limits.ErrAway)
		require.Contains(t, err.Error(), "timeout")
		require.GreaterOrEqual(t, time.Since(start), timeout/2)
		require.Less(t, time.Since(start), time.Minute, "bounded, however busy the machine")
	}
	for i := range 1000 {
		require.ErrorIs(t, try(t, s, fmt.Sprint(i)), limits.ErrAway)
	}
	st := s.Stats()
	require.True(t, st.Away)
	require.EqualValues(t, 3, st.Failures)
	require.EqualValues(t, 1000, st.Skipped, "a thousand callers didn't ask it, and so waited for nothing")
	srv.Thaw()
}

// A frozen server that goes on is found by the calls themselves. The proposal
// that timed out, and may have been counted, is counted once.
func TestThawedServerIsFound(t *testing.T) {
	srv := redistest.Start(t)
	s := answering(t, redisstore.Options{URL: srv.URL(), Timeout: 50 * time.Millisecond, Retry: 50 * time.Millisecond}, "1")
	srv.Freeze()
	for range 5 {
		require.ErrorIs(t, try(t, s, "2"), limits.ErrAway)
	}
	srv.Thaw()
	untilAnswered(t, s, "2")
	// Silent time-outs may still be in the machine's queues: ask with patience.
	calm := open(t, redisstore.Options{URL: srv.URL(), Prefix: redisstore.DefaultPrefix})
	got, err := calm.Take(t.Context(), "2", call)
	require.NoError(t, err)
	require.Equal(t, 2, got.Used)
}

// Going away and coming back are logged once each, counted and told; neither
// line holds the password.
func TestAwayIsLoud(t *testing.T) {
	srv := redistest.Start(t, "--requirepass", "hunter2-CANARY")
	book := &logbook{}
	var mu sync.Mutex
	var events []redisstore.Event
	s := open(t, redisstore.Options{
		URL: "redis://:hunter2-CANARY@" + srv.Address(), Timeout: 5 * time.Second, Retry: 5 * time.Second, Log: book.logger(),
		Observe: func(e redisstore.Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, e)
			panic("an observer that breaks")
		},
	})
	require.NoError(t, try(t, s, "1"))
	srv.Kill()
	for range 10 {
		err := try(t, s, "2")
		require.ErrorIs(t, err, limits.ErrAway)
		require.NotContains(t, err.Error(), "CANARY")
	}
	require.Equal(t, 1, strings.Count(book.String(), "LIMITS AWAY"))
	srv.Restart()
	s2 := s.Stats()
	require.True(t, s2.Away)
	require.False(t, s2.Since.IsZero())
	untilAnswered(t, s, "2")
	require.Equal(t, 1, strings.Count(book.String(), "LIMITS AWAY"))
	require.Equal(t, 1, strings.Count(book.String(), "is back"))
	require.NotContains(t, book.String(), "CANARY")
	require.NotContains(t, fmt.Sprintf("%v %+v", s.Stats(), s.Stats()), "CANARY")
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, events, 2)
	require.Equal(t, redisstore.Event{Away: true, Cause: "connection"}, events[0])
	require.False(t, events[1].Away)
	require.Positive(t, events[1].For)
}

// A caller that gives up gets its own error, and the server isn't blamed.
func TestCallersEnd(t *testing.T) {
	srv := redistest.Start(t)
	s := answering(t, redisstore.Options{URL: srv.URL(), Timeout: redisstore.DefaultTimeout}, "1")
	srv.Freeze()
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := s.Take(ctx, "2", call)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, limits.ErrAway)
		cancel()
	}
	require.Equal(t, redisstore.Stats{}, s.Stats())
	srv.Thaw()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a, err := s.Admit(ctx, "skill/a", "1", limits.Rule{Failures: 1, Window: time.Second, OpenFor: time.Second})
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, a.OK)
	require.ErrorIs(t, s.Forget(ctx, "c"), context.Canceled)
}

// A server that answers and refuses is not away: it counted nothing, and the fault
// doesn't mend itself.
func TestRefusalsAreNotAway(t *testing.T) {
	srv := redistest.Start(t, "--requirepass", "right-CANARY", "--maxmemory", "1", "--maxmemory-policy", "noeviction")
	refused := func(url string) error {
		s := open(t, redisstore.Options{URL: url})
		err := try(t, s, "1")
		require.Error(t, err)
		require.NotErrorIs(t, err, limits.ErrAway)
		require.NotContains(t, err.Error(), "CANARY")
		require.False(t, s.Stats().Away)
		return err
	}
	require.ErrorContains(t, refused("redis://:wrong-CANARY@"+srv.Address()), "limits.store.url")
	require.ErrorContains(t, refused("redis://"+srv.Address()), "NOAUTH")

	require.ErrorIs(t, refused("redis://:right-CANARY@"+srv.Address()), limits.ErrFull, "the server itself needs more than a byte")
}

// A server that can't be written for the moment is away, though it answers.
func TestReplicaIsAway(t *testing.T) {
	srv := redistest.Start(t, "--replicaof", "127.0.0.1 1")
	s := open(t, redisstore.Options{URL: srv.URL()})
	err := try(t, s, "1")
	require.ErrorIs(t, err, limits.ErrAway)
	c := client(t, srv.URL())
	require.NoError(t, c.ReplicaOf(t.Context(), "NO", "ONE").Err())
	require.NoError(t, try(t, s, "1"))
}

// Who listens and speaks another language, or answers with another form, gives
// no room.
func TestNotARedisServer(t *testing.T) {
	for _, answer := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", "+OK\r\n", ":1\r\n", "*1\r\n:-1\r\n",
		"*3\r\n$1\r\nx\r\n:1\r\n:1\r\n", "$-1\r\n", ""} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				wg.Go(func() {
					defer func() { _ = c.Close() }()
					buf := make([]byte, 4096)
					for {
						if _, err := c.Read(buf); err != nil {
							return
						}
						if _, err := c.Write([]byte(answer)); err != nil || answer == "" {
							return
						}
					}
				})
			}
		})
		s, err := redisstore.Open(redisstore.Options{URL: "redis://" + l.Addr().String(), Timeout: time.Second})
		require.NoError(t, err)
		require.Error(t, try(t, s, "1"), answer)
		a, err := s.Admit(t.Context(), "skill/a", "1", limits.Rule{Failures: 1, Window: time.Second, OpenFor: time.Second})
		require.Error(t, err, answer)
		require.False(t, a.OK)
		require.NoError(t, s.Close())
		require.NoError(t, l.Close())
		wg.Wait()
	}
}

// A closed store answers nothing, and closing twice is fine.
func TestClosed(t *testing.T) {
	s := open(t, redisstore.Options{})
	require.NoError(t, try(t, s, "1"))
	require.NoError(t, s.Close())
	require.Error(t, try(t, s, "2"))
	require.Error(t, s.Ping(t.Context()))
}
