package leak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rest is where a leaked goroutine of a test stands.
func rest(free <-chan struct{}) { <-free }

// call runs a skill that leaves n goroutines behind, one of them started by another. call
// returns when the skill itself has ended.
func call(id string, n int, free <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		Mark(context.Background(), id, "note.leaks")
		for range n {
			go func() { go rest(free) }()
		}
	}()
	<-done
}

// Ten seconds after its end a call that left goroutines behind is reported, once, with their
// number and their place. One that did not is not.
func TestReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		got := make(chan Leak, 8)
		w := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Report: func(l Leak) { got <- l }})
		free := make(chan struct{})
		call("leaky \"1\"", 3, free)
		call("clean", 0, free)
		call("not ended", 1, free)
		w.Ended("leaky \"1\"")
		w.Ended("clean")
		time.Sleep(DefaultAfter - 1)
		synctest.Wait()
		require.Empty(t, got)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, Leak{"leaky \"1\"", "note.leaks", 3, "github.com/vedette-dev/vedette/skills/leak.rest"}, <-got)
		require.Contains(t, log.String(), "a skill left goroutines running")
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, got)
		require.EqualValues(t, 1, w.Found())
		close(free)
		w.Close()
	})
}

// Goroutines that ended in time are no leak, also where they ended after the call.
func TestLateIsNoLeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, free := New(Options{}), make(chan struct{})
		call("a", 5, free)
		w.Ended("a")
		time.Sleep(DefaultAfter / 2)
		close(free)
		time.Sleep(DefaultAfter)
		synctest.Wait()
		require.Zero(t, w.Found())
		w.Close()
	})
}

// However many calls end, looks are few and far between: one for all that are
// due, none while nothing has ended, and a hundred times as long apart as one
// takes.
func TestLooksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		w := New(Options{Profile: func(io.Writer) error {
			looks.Add(1)
			time.Sleep(50 * time.Millisecond) // a large process
			return nil
		}})
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Zero(t, looks.Load())
		for i := range 60_000 { // a thousand a second
			w.Ended(fmt.Sprint(i))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.LessOrEqual(t, looks.Load(), int64(1+60/5))
		require.Positive(t, w.Missed())
		seen := looks.Load()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, seen, looks.Load())
		w.Close()
	})
}

// Closing stops a planned look and waits for one under way; afterwards and on
// a nil Watch nothing happens.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looked atomic.Int64
		slow := Options{Profile: func(io.Writer) error { time.Sleep(time.Minute); looked.Add(1); return errors.New("no profile") }}
		w := New(slow)
		w.Ended("a")
		w.Close()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Zero(t, looked.Load())
		w = New(slow)
		w.Ended("a")
		w.Ended("")
		time.Sleep(DefaultAfter + 1)
		w.Close()
		require.EqualValues(t, 1, looked.Load())
		w.Ended("b")
		w.Close()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.EqualValues(t, 1, looked.Load())
		(*Watch)(nil).Ended("a")
		(*Watch)(nil).Close()
	})
}

// A hook that panics costs its own report.
func TestHookPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		free := make(chan struct{})
		w := New(Options{Report: func(Leak) { n.Add(1); panic("hook") }})
		call("a", 1, free)
		call("b", 1, free)
		w.Ended("a")
		w.Ended("b")
		time.Sleep(DefaultAfter + 1)
		synctest.Wait()
		require.EqualValues(t, 2, n.Load())
		close(free)
		w.Close()
	})
}

// Connections that an HTTP client keeps for the next call are no leak.
func TestPooledConnections(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	wg.Go(func() {
		Mark(context.Background(), "a", "web.get")
		res, err := client.Get(srv.URL)
		if err == nil {
			_ = res.Body.Close()
		}
	})
	wg.Wait()
	var profile bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&profile, 1))
	require.Contains(t, profile.String(), `"vedette.call":"a"`)
	require.Empty(t, findLeaks(func(w io.Writer) error { _, err := w.Write(profile.Bytes()); return err }, map[string]bool{"a": true}))
}

// The reader takes any pieces of any text and never fails.
func FuzzProfile(f *testing.F) {
	f.Add("goroutine profile: total 2\n1 @ 0x1 0x2\n# labels: {\"vedette.call\":\"a\", "+
		"\"vedette.skill\":\"s\"}\n#\t0x1\tex.com/x.f+0x1\tx.go:1\n\n", 3)
	f.Add("-1 @ \n# labels: {\"vedette.call\":\"a\n#\t\n", 1)
	f.Add("9999999999999999999 @ 0x1\n# labels: \"vedette.call\":\"\\u00\"", 7)
	f.Fuzz(func(t *testing.T, text string, size int) {
		whole := func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
		pieces := func(w io.Writer) error {
			for s := text; s != ""; {
				n := min(len(s), 1+max(size, 0)%17)
				if _, err := io.WriteString(w, s[:n]); err != nil {
					return err
				}
				s = s[n:]
			}
			return nil
		}
		due := map[string]bool{"a": true}
		got := findLeaks(whole, due)
		require.Equal(t, got, findLeaks(pieces, due))
		for _, l := range got {
			require.Equal(t, "a", l.Call)
			require.Positive(t, l.Goroutines)
			require.Contains(t, text, l.Where)
		}
	})
}

// BenchmarkLook is one look in a process of many goroutines, none of them left
// behind.
func BenchmarkLook(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			free := make(chan struct{})
			var up sync.WaitGroup
			up.Add(n)
			for range n {
				go func() { up.Done(); rest(free) }()
			}
			up.Wait()
			w := New(Options{})
			for b.Loop() {
				require.Empty(b, findLeaks(w.o.Profile, map[string]bool{"a": true}))
			}
			close(free)
		})
	}
}
