package agents

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/skills"
)

// BenchmarkAlive is what one agent holds while it waits for its orchestrator,
// as their number grows; all are alive at once. The twin is a goroutine that
// asked the same model and waits on a channel with the same transcript.
func BenchmarkAlive(b *testing.B) {
	list := []*skills.Skill{skill(b, "sheep.count")}
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var ours, twin float64
			for b.Loop() {
				ours, twin = idle(b, n, calls(help("?")), list), waiting(b, n, calls(help("?")))
			}
			b.ReportMetric(ours, "B/agent")
			b.ReportMetric(twin, "B/goroutine")
			b.ReportMetric(ours/twin, "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// waiting returns what each of n goroutines holds that have asked m and wait.
func waiting(b *testing.B, n int, m modelFunc) float64 {
	answer := make(chan string)
	var up, done sync.WaitGroup
	before := memory()
	for range n {
		up.Add(1)
		done.Go(func() {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			msgs := []llm.Message{{Role: llm.RoleSystem, Content: instructions}, {Role: llm.RoleUser, Content: "m"}}
			resp, err := m(ctx, llm.Request{Messages: msgs})
			if err != nil {
				b.Error(err)
			}
			msgs = append(msgs, llm.Message{Role: llm.RoleAssistant, ToolCalls: resp.ToolCalls})
			up.Done()
			<-answer
			runtime.KeepAlive(msgs)
		})
	}
	up.Wait()
	used := memory() - before
	close(answer)
	done.Wait()
	return used / float64(n)
}
