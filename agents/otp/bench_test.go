package otp

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// Every benchmark runs its twin, the same with bare goroutines and channels, in
// turns with ours in one loop: compare within a line. Samples are per operation;
// the ns/op of the whole loop means nothing.

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

// beside takes samples of ours and twin in turns, each of n operations, and
// reports them; between, if any, runs after each pair and counts for neither.
func beside(b *testing.B, n int, ours, twin func(), between ...func()) {
	var a, t []time.Duration
	sample := func(fn func()) time.Duration {
		began := time.Now()
		fn()
		return time.Since(began) / time.Duration(n)
	}
	for b.Loop() {
		a, t = append(a, sample(ours)), append(t, sample(twin))
		for _, fn := range between {
			fn()
		}
	}
	spread(b, time.Microsecond, a, t)
}

// spread reports median, 99th percentile and worst of both, in units of unit,
// and the ratio of the medians.
func spread(b *testing.B, unit time.Duration, ours, twin []time.Duration) {
	name := map[time.Duration]string{time.Microsecond: "µs", time.Millisecond: "ms"}[unit]
	for who, list := range map[string][]time.Duration{"": ours, "twin-": twin} {
		slices.Sort(list)
		for what, i := range map[string]int{"p50-": len(list) / 2, "p99-": len(list) * 99 / 100, "max-": len(list) - 1} {
			b.ReportMetric(float64(list[i])/float64(unit), who+what+name)
		}
	}
	b.ReportMetric(float64(ours[len(ours)/2])/float64(max(1, twin[len(twin)/2])), "ratio")
	b.ReportMetric(0, "ns/op")
}

func must[T any](b *testing.B) func(v T, err error) T {
	return func(v T, err error) T {
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
}

// crowd is how many others are alive, in benchmarks that show growth.
var crowd = []int{1_000, 10_000, 100_000}

// idlers starts n idle servers under sup.
func idlers(ctx context.Context, b *testing.B, sup PID, n int) {
	for range n {
		must[PID](b)(StartChild(ctx, sup, nopSpec("idle", Temporary)))
	}
}

// BenchmarkSpawn is a child from the request to its PID, among others under
// the same supervisor. The twin is a goroutine that says that it runs.
func BenchmarkSpawn(b *testing.B) {
	for _, n := range crowd {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ctx, _, sup := benchSystem(b, DynamicSupervisorSpec("d", DynamicSupervisorOptions{}))
			idlers(ctx, b, sup, n)
			spec := nopSpec("w", Temporary)
			var kid PID
			var w *bare
			beside(b, 1, func() { kid = must[PID](b)(StartChild(ctx, sup, spec)) }, func() { w = startBare() }, func() {
				if err := TerminateChild(ctx, sup, kid); err != nil {
					b.Fatal(err)
				}
				close(w.stop)
				<-w.done
			})
			if c := must[Counts](b)(CountChildren(ctx, sup)); c.Active != n {
				b.Fatalf("%d of %d children run", c.Active, n)
			}
		})
	}
}

// BenchmarkRestart is a child from the message that makes it panic to the
// start of its next incarnation, among others under the same supervisor. The
// twin is a goroutine that recovers, ends and is started again.
func BenchmarkRestart(b *testing.B) {
	up := make(chan PID, 1)
	spec := ChildSpec{ID: "w", Start: func() Server {
		return &fake{init: func(c *Context) error { up <- c.Self(); return nil }}
	}}
	restart := func(b *testing.B) {
		pid, w, before := <-up, startBare(), PID{}
		beside(b, 1, func() { before = pid; pid.Send(boom); pid = <-up }, func() { w.in <- nil; <-w.done; w = startBare() })
		if before == pid || before.Alive() {
			b.Fatal("it did not end")
		}
		close(w.stop)
	}
	b.Run("static", func(b *testing.B) {
		benchSystem(b, SupervisorSpec("s", SupervisorOptions{MaxRestarts: 1 << 60, Period: 1, Children: []ChildSpec{spec}}))
		restart(b)
	})
	for _, n := range crowd {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ctx, _, sup := benchSystem(b, DynamicSupervisorSpec("d", DynamicSupervisorOptions{MaxRestarts: 1 << 60, Period: 1}))
			idlers(ctx, b, sup, n)
			must[PID](b)(StartChild(ctx, sup, spec))
			restart(b)
		})
	}
}

// ending counts the Terminates that have returned.
type ending struct {
	nop
	ended *atomic.Int64
}

func (e ending) Terminate(*Context, Reason) { e.ended.Add(1) }

// BenchmarkStop is a supervisor's stop with its children, from the request to
// the moment when each of them has ended, its Terminate included. The twin
// stops as many goroutines and waits for each.
func BenchmarkStop(b *testing.B) {
	for _, n := range crowd {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ctx, s, _ := benchSystem(b, nopSpec("root", Temporary))
			var ended atomic.Int64
			spec := ChildSpec{ID: "w", Restart: Temporary, Start: func() Server { return ending{ended: &ended} }}
			var a, t []time.Duration
			for b.Loop() {
				sup := must[PID](b)(s.Start(ctx, DynamicSupervisorSpec("d", DynamicSupervisorOptions{})))
				for range n {
					must[PID](b)(StartChild(ctx, sup, spec))
				}
				began := time.Now()
				err := TerminateChild(ctx, PID{s.root}, sup)
				a = append(a, time.Since(began))
				if got := ended.Swap(0); err != nil || got != int64(n) || sup.Alive() {
					b.Fatalf("%d of %d had ended: %v", got, n, err)
				}
				t = append(t, stopBare(n))
			}
			spread(b, time.Millisecond, a, t)
		})
	}
}

func stopBare(n int) time.Duration {
	var all []*bare
	for range n {
		all = append(all, startBare())
	}
	began := time.Now()
	for _, w := range all {
		close(w.stop)
	}
	for _, w := range all {
		<-w.done
	}
	return time.Since(began)
}

// BenchmarkSend is a message from one goroutine to the end of its handling, in
// bursts of 1,000.
func BenchmarkSend(b *testing.B) {
	const n = 1000
	done := make(chan struct{})
	_, _, pid := benchSystem(b, ChildSpec{ID: "w", Restart: Temporary, Start: func() Server {
		return &fake{handle: func(_ *Context, msg any) {
			if msg == n {
				done <- struct{}{}
			}
		}}
	}})
	in, end := make(chan any, 16), make(chan struct{})
	go func() {
		for msg := range in {
			if msg == n {
				end <- struct{}{}
			}
		}
	}()
	beside(b, n, func() {
		for i := range n {
			pid.Send(i + 1)
		}
		<-done
	}, func() {
		for i := range n {
			in <- i + 1
		}
		<-end
	})
	close(in)
}

// BenchmarkCall is a question and its answer.
func BenchmarkCall(b *testing.B) {
	ctx, _, pid := benchSystem(b, nopSpec("w", Temporary))
	w, call := startBare(), must[any](b)
	beside(b, 1, func() { call(Call(ctx, pid, 1)) }, func() {
		reply := make(chan any, 1)
		w.in <- reply
		<-reply
	})
	close(w.stop)
}

// BenchmarkAsync is a task from its begin to its result.
func BenchmarkAsync(b *testing.B) {
	done := make(chan any, 1)
	_, _, pid := benchSystem(b, results(done))
	run := func(c *Context) { c.Async(0, func(context.Context) (any, error) { return nil, nil }) }
	twin := make(chan any, 1)
	beside(b, 1, func() { pid.Send(run); <-done }, func() {
		go func() { twin <- nil }()
		<-twin
	})
}

// BenchmarkIdle is the heap and stack that an idle server costs, beside a
// goroutine with a channel of 16. All are alive at once, and after the measure
// each of them answers.
func BenchmarkIdle(b *testing.B) {
	for _, n := range crowd {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var ours, twin float64
			for b.Loop() {
				ours, twin = idleServers(b, n), idleGoroutines(n)
			}
			b.ReportMetric(ours, "B/server")
			b.ReportMetric(twin, "B/goroutine")
			b.ReportMetric(ours/twin, "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func idleServers(b *testing.B, n int) float64 {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	s := NewSystem(SystemOptions{})
	sup := must[PID](b)(s.Start(ctx, DynamicSupervisorSpec("d", DynamicSupervisorOptions{})))
	kids := make([]PID, n)
	before := inUse()
	for i := range kids {
		kids[i] = must[PID](b)(StartChild(ctx, sup, nopSpec("w", Temporary)))
	}
	used := inUse() - before
	for i, kid := range kids {
		must[any](b)(Call(ctx, kid, i))
	}
	if c := must[Counts](b)(CountChildren(ctx, sup)); c.Active != n {
		b.Fatalf("%d of %d are alive", c.Active, n)
	}
	if err := s.Stop(ctx); err != nil {
		b.Fatal(err)
	}
	return used / float64(n)
}

func idleGoroutines(n int) float64 {
	all := make([]*bare, n)
	before := inUse()
	for i := range all {
		all[i] = startBare()
	}
	used := inUse() - before
	for _, w := range all {
		close(w.stop)
		<-w.done
	}
	return used / float64(n)
}

func inUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}
