package agents

import (
	"context"
	"encoding/json"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// counted is a model that calls twice and then answers, by what it is sent.
func counted(_ context.Context, r llm.Request) (llm.Response, error) {
	if n := len(r.Messages); n < 6 {
		return llm.Response{ToolCalls: []llm.ToolCall{{ID: strconv.Itoa(n), Name: ToolUseSkill, Arguments: `{"skill":"sheep.count","arguments":{"n":1}}`}}}, nil
	}
	return llm.Response{Content: "two"}, nil
}

var quick = &fixed{}

type fixed struct{}

func (*fixed) Invoke(context.Context, string, json.RawMessage) (skills.Result, error) {
	return skills.Result{Content: "1", Trust: skills.Trusted}, nil
}

// BenchmarkLife is an agent's whole life: start, three model calls, two skill
// calls, end. The twin makes the same calls in one goroutine.
func BenchmarkLife(b *testing.B) {
	list := []*skills.Skill{skill(b, "sheep.count")}
	b.Run("agent", func(b *testing.B) {
		r := newRig(b)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			a, err := New(Options{ID: strconv.Itoa(i), Mission: "m", Model: modelFunc(counted), Invoker: quick, Skills: list, Parent: r.parent})
			require.NoError(b, err)
			_, err = otp.StartChild(r.ctx, r.sup, a.Spec())
			require.NoError(b, err)
			if f := (<-r.got).(Finished); f.Result.State != Completed || f.Result.Calls != 2 {
				b.Fatal(f.Result)
			}
		}
	})
	b.Run("goroutine", func(b *testing.B) {
		b.ReportAllocs()
		done := make(chan string)
		for b.Loop() {
			go func() { done <- bareLife(b.Context()) }()
			if text := <-done; text != "two" {
				b.Fatal(text)
			}
		}
	})
}

// bareLife is the loop of an agent with nothing around it.
func bareLife(ctx context.Context) string {
	msgs := []llm.Message{{Role: llm.RoleSystem, Content: instructions}, {Role: llm.RoleUser, Content: "m"}}
	for {
		resp, err := counted(ctx, llm.Request{Messages: msgs})
		if err != nil || len(resp.ToolCalls) == 0 {
			return resp.Content
		}
		msgs = append(msgs, llm.Message{Role: llm.RoleAssistant, ToolCalls: resp.ToolCalls})
		for _, k := range resp.ToolCalls {
			name, args, _ := proposal(k.Arguments)
			res, err := quick.Invoke(ctx, name, args)
			text, _ := answer(res, err)
			msgs = append(msgs, llm.Message{Role: llm.RoleTool, ToolCallID: k.ID, Content: text})
		}
	}
}

// BenchmarkIdle is what one agent holds while it waits: for its orchestrator,
// without a goroutine, and for its model, with one. Its transcript is a line.
func BenchmarkIdle(b *testing.B) {
	const n = 10_000
	list := []*skills.Skill{skill(b, "sheep.count")}
	for name, m := range map[string]modelFunc{"orchestrator": calls(help("?")), "model": hang} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(idle(b, n, m, list), "B/agent")
			}
		})
	}
}

func idle(b *testing.B, n int, m modelFunc, list []*skills.Skill) float64 {
	r := newRig(b)
	go func() {
		for range r.got { // ends with the benchmark's rig
		}
	}()
	defer close(r.got)
	var waiting atomic.Int64
	model := modelFunc(func(ctx context.Context, q llm.Request) (llm.Response, error) {
		waiting.Add(1)
		return m(ctx, q)
	})
	before := memory()
	keep := make([]*Agent, n)
	for i := range keep {
		a, err := New(Options{ID: strconv.Itoa(i), Mission: "m", Model: model, Invoker: quick, Skills: list, Parent: r.parent})
		require.NoError(b, err)
		_, err = otp.StartChild(r.ctx, r.sup, a.Spec())
		require.NoError(b, err)
		keep[i] = a
	}
	for waiting.Load() < int64(n) || r.sys.Tasks() != 0 && keep[n-1].Snapshot().State == AwaitingOrchestrator {
		runtime.Gosched()
	}
	used := memory() - before
	require.NoError(b, r.sys.Stop(r.ctx))
	runtime.KeepAlive(keep)
	return used / float64(n)
}

func memory() float64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc + s.StackInuse)
}
