package agents

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// BenchmarkAlive is what one agent holds, transcript included, while it waits:
// for its orchestrator, without a goroutine, and for its model, with one. It is
// heap and stacks after a collection, as the number of agents grows; all are
// alive at once, and end when they are told to. The twin is a goroutine that
// asked the same model, or is asking it, with the same transcript.
func BenchmarkAlive(b *testing.B) {
	list := []*skills.Skill{skill(b, "sheep.count")}
	for _, at := range []struct {
		name  string
		state State
		model modelFunc
	}{
		{"idle", AwaitingOrchestrator, calls(help("?"))},
		{"model", Running, hang},
	} {
		for _, n := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", at.name, n), func(b *testing.B) {
				var ours, twin float64
				for b.Loop() {
					ours, twin = idle(b, n, at.model, at.state, list), waiting(n, at.model, at.state == AwaitingOrchestrator)
				}
				b.ReportMetric(ours, "B/agent")
				b.ReportMetric(twin, "B/goroutine")
				b.ReportMetric(ours/twin, "ratio")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// counting is a model that counts the questions.
func counting(m modelFunc) (modelFunc, *atomic.Int64) {
	var n atomic.Int64
	return func(ctx context.Context, q llm.Request) (llm.Response, error) {
		n.Add(1)
		return m(ctx, q)
	}, &n
}

// idle returns what each of n agents holds that have asked m and are in state.
func idle(b *testing.B, n int, m modelFunc, state State, list []*skills.Skill) float64 {
	r := newRig(b)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for cancelled := 0; cancelled < n; {
			if f, ok := (<-r.got).(Finished); ok && f.Result.State == Cancelled {
				cancelled++
			}
		}
	}()
	model, asked := counting(m)
	before := memory()
	keep, pids := make([]*Agent, n), make([]otp.PID, n)
	for i := range keep {
		a, err := New(Options{ID: strconv.Itoa(i), Mission: "m", Model: model, Invoker: quick, Skills: list, Parent: r.parent})
		require.NoError(b, err)
		pids[i], err = otp.StartChild(r.ctx, r.sup, a.Spec())
		require.NoError(b, err)
		keep[i] = a
	}
	for i := 0; i < n; {
		if s := keep[i].Snapshot().State; s == state && asked.Load() == int64(n) {
			i++
			continue
		}
		runtime.Gosched()
	}
	used := memory() - before
	for _, pid := range pids {
		pid.Send(Cancel{Reason: "measured"})
	}
	<-ended
	runtime.KeepAlive(keep)
	return used / float64(n)
}

// waiting returns what each of n goroutines holds that have asked m, and were
// answered or wait for that.
func waiting(n int, m modelFunc, answered bool) float64 {
	ctx, cancel := context.WithCancel(context.Background())
	model, waits := counting(m)
	var heard atomic.Int64
	if answered {
		waits = &heard
	}
	var done sync.WaitGroup
	before := memory()
	for range n {
		done.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			msgs := []llm.Message{{Role: llm.RoleSystem, Content: instructions}, {Role: llm.RoleUser, Content: "m"}}
			resp, err := model(ctx, llm.Request{Messages: msgs})
			if err != nil {
				return // its model hung until the end
			}
			msgs = append(msgs, llm.Message{Role: llm.RoleAssistant, ToolCalls: resp.ToolCalls})
			heard.Add(1)
			<-ctx.Done()
			runtime.KeepAlive(msgs)
		})
	}
	for waits.Load() < int64(n) {
		runtime.Gosched()
	}
	used := memory() - before
	cancel()
	done.Wait()
	return used / float64(n)
}

func memory() float64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc + s.StackInuse)
}
