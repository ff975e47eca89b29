package orchestrator

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// heldBytes is the heap in use and the stacks, after a collection.
func heldBytes() float64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools had kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkHeldTurn is what a turn costs that waits for a person: of each of 2,000 its conversation, turn
// and agent with their processes, the held call in the inbox, and the goroutine of the caller that waits.
// There are eight places for turns and for agents, so the benchmark ends only if none is held.
func BenchmarkHeldTurn(b *testing.B) {
	const held = 2000
	o := with(echo(b))
	o.quiet, o.tune.wait = true, time.Hour
	o.config = "permissions: [{skill: note.echo, then: ask}]\n" +
		"approvals: {inbox: true, timeout: 1h, pending: {process: 5000}}\n" +
		"limits: {process: {turns: 8, waiting: 4000, agents: 8, wait: 10m, conversations: 5000}}\n"
	r := start(b, o, orch("unused", "unused"))
	m := scriptless("note.echo")
	r.models.agents = m
	r.models.orchestrator = chatFunc(func(ctx context.Context, q llm.Request) (llm.Response, error) {
		out, err := m(ctx, q)
		for n := range out.ToolCalls { // it waits for its agent however long a person takes
			out.ToolCalls[n].Arguments = strings.Replace(out.ToolCalls[n].Arguments, `,"timeout_seconds":30`, "", 1)
		}
		return out, err
	})
	inbox, run := r.Parts().Inbox, 0
	for b.Loop() {
		run++
		before, goroutines := heldBytes(), runtime.NumGoroutine()
		var callers sync.WaitGroup
		for n := range held {
			c := r.open(fmt.Sprintf("c%d-%d", run, n), fmt.Sprint("u", n))
			callers.Go(func() {
				reply, err := c.Send(context.Background(), "go")
				if err != nil || len(reply.Agents) != 1 || reply.Agents[0].State != agents.Completed {
					b.Error(reply, err)
				}
			})
		}
		var list []approval.Item
		require.Eventually(b, func() bool {
			var err error
			list, err = inbox.List(context.Background(), approval.Filter{})
			return b.Failed() || err == nil && len(list) == held
		}, 10*time.Minute, 100*time.Millisecond)
		require.False(b, b.Failed(), "turns ended before they were answered")
		nothingHeld(b, r)
		r.mu.Lock()
		r.events = nil // the test's own
		r.mu.Unlock()
		b.ReportMetric((heldBytes()-before)/held, "B/turn")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/held, "goroutines/turn")
		list = list[:held:held]
		for i := range list {
			_, err := inbox.Answer(context.Background(), approval.Answer{Approval: list[i].ID, Word: approval.No, By: "bob", Via: "test"})
			require.NoError(b, err)
		}
		callers.Wait()
	}
}
