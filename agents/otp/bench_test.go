package otp

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
)

// nop is the cheapest server.
type nop struct{}

func (nop) Init(*Context) error        { return nil }
func (nop) Handle(c *Context, msg any) { c.Reply(msg, nil) }
func (nop) Terminate(*Context, Reason) {}
func nopSpec(id string, r Restart) ChildSpec {
	return ChildSpec{ID: id, Restart: r, Start: func() Server { return nop{} }}
}

func benchSystem(b *testing.B, root ChildSpec) (context.Context, *System, PID) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	s := NewSystem(SystemOptions{})
	pid, err := s.Start(ctx, root)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Stop(ctx); err != nil {
			b.Error(err)
		}
		cancel()
	})
	return ctx, s, pid
}

// bare is the twin: a goroutine with a channel that answers until told to stop.
type bare struct {
	in   chan chan any
	stop chan struct{}
	done chan struct{}
}

func startBare() *bare {
	w := &bare{make(chan chan any, 16), make(chan struct{}), make(chan struct{})}
	up := make(chan struct{})
	go func() {
		defer close(w.done)
		defer func() { _ = recover() }()
		close(up)
		for {
			select {
			case reply := <-w.in:
				if reply == nil {
					panic("boom")
				}
				reply <- 1
			case <-w.stop:
				return
			}
		}
	}()
	<-up
	return w
}

func BenchmarkSpawn(b *testing.B) {
	b.Run("otp", func(b *testing.B) {
		ctx, _, sup := benchSystem(b, DynamicSupervisorSpec("d", DynamicSupervisorOptions{}))
		spec := nopSpec("w", Temporary)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := StartChild(ctx, sup, spec); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("goroutine", func(b *testing.B) {
		var all []*bare
		b.ReportAllocs()
		for b.Loop() {
			all = append(all, startBare())
		}
		b.StopTimer()
		for _, w := range all {
			close(w.stop)
			<-w.done
		}
	})
}

func BenchmarkRestart(b *testing.B) {
	b.Run("otp", func(b *testing.B) {
		up := make(chan PID, 1)
		spec := ChildSpec{ID: "w", Start: func() Server {
			return &fake{init: func(c *Context) error { up <- c.Self(); return nil }}
		}}
		benchSystem(b, SupervisorSpec("s", SupervisorOptions{MaxRestarts: 1 << 60, Period: 1, Children: []ChildSpec{spec}}))
		pid := <-up
		b.ReportAllocs()
		for b.Loop() {
			pid.Send(boom)
			pid = <-up
		}
	})
	b.Run("goroutine", func(b *testing.B) {
		w := startBare()
		b.ReportAllocs()
		for b.Loop() {
			w.in <- nil
			<-w.done
			w = startBare()
		}
		close(w.stop)
	})
}

func BenchmarkStop10k(b *testing.B) {
	const n = 10_000
	b.Run("otp", func(b *testing.B) {
		ctx, s, _ := benchSystem(b, nopSpec("root", Temporary))
		spec := nopSpec("w", Temporary)
		for b.Loop() {
			b.StopTimer()
			sup, err := s.Start(ctx, DynamicSupervisorSpec("d", DynamicSupervisorOptions{}))
			if err != nil {
				b.Fatal(err)
			}
			for range n {
				if _, err := StartChild(ctx, sup, spec); err != nil {
					b.Fatal(err)
				}
			}
			b.StartTimer()
			if err := TerminateChild(ctx, PID{s.root}, sup); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("goroutine", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			var all []*bare
			for range n {
				all = append(all, startBare())
			}
			b.StartTimer()
			for _, w := range all {
				close(w.stop)
			}
			for _, w := range all {
				<-w.done
			}
		}
	})
}

func BenchmarkCall(b *testing.B) {
	b.Run("otp", func(b *testing.B) {
		ctx, _, pid := benchSystem(b, nopSpec("w", Temporary))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Call(ctx, pid, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("goroutine", func(b *testing.B) {
		w := startBare()
		b.ReportAllocs()
		for b.Loop() {
			reply := make(chan any, 1)
			w.in <- reply
			<-reply
		}
		close(w.stop)
	})
}

func BenchmarkAsync(b *testing.B) {
	b.Run("otp", func(b *testing.B) {
		done := make(chan any, 1)
		_, _, pid := benchSystem(b, results(done))
		run := func(c *Context) { c.Async(0, func(context.Context) (any, error) { return nil, nil }) }
		b.ReportAllocs()
		for b.Loop() {
			pid.Send(run)
			<-done
		}
	})
	b.Run("goroutine", func(b *testing.B) {
		var wg sync.WaitGroup
		b.ReportAllocs()
		for b.Loop() {
			wg.Go(func() {})
			wg.Wait()
		}
	})
}

// BenchmarkIdle reports the heap and stack one idle server costs.
func BenchmarkIdle(b *testing.B) {
	const n = 100_000
	ctx, _, sup := benchSystem(b, DynamicSupervisorSpec("d", DynamicSupervisorOptions{}))
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range n {
			if _, err := StartChild(ctx, sup, nopSpec("w", Temporary)); err != nil {
				b.Fatal(err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/n, "B/server")
	}
}
